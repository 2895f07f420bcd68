#include "scan/json_scan.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "base/written_number.hpp"
#include "scan/metric_name.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLargestJson = std::size_t{64} << 20;
constexpr std::size_t kMostJsonNumbers = 4096;
constexpr std::size_t kDeepest = 16;
constexpr std::size_t kLongestChoice = 100;

bool is_number_text(std::string_view text) {
  return !text.empty() && text.size() <= 20 && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// Members that say nothing about what their number is.
bool is_filler(std::string_view token) {
  constexpr std::array<std::string_view, 4> kFillers = {"value", "values", "data", "metrics"};
  return std::find(kFillers.begin(), kFillers.end(), token) != kFillers.end();
}

std::string text_of_member(const JsonMembers& object, std::string_view name) {
  return json_string(find_member(object, name)).value_or("");
}

}  // namespace

void JsonScan::feed(std::string_view piece) {
  while (!piece.empty() && !is_too_large_) {
    const std::size_t end = std::min(piece.find('\n'), piece.size() - 1) + 1;
    const std::string_view line = piece.substr(0, end);
    piece.remove_prefix(end);
    ++lines_;
    const std::string_view bare = trim(line);
    const bool begins = line.starts_with('{') && (bare == "{" || trim(bare.substr(1)).starts_with('"'));
    if (is_log_ && first_line_ == 0 && !begins) continue;
    if (first_line_ == 0) first_line_ = lines_;
    is_too_large_ = text_.size() + line.size() > kLargestJson;
    if (!is_too_large_) text_ += line;
  }
}

/// As the reader of pointers does: the first line shows whether the text is JSON lines or a document.
void JsonScan::walk_lines() {
  std::string_view rest = text_;
  const std::string_view first = rest.substr(0, rest.find('\n'));
  if (trim(first).empty() || !is_json(first)) {
    const std::optional<std::size_t> end = json_error_offset(rest);
    if (end && (!is_log_ || !is_json(rest.substr(0, *end)))) {
      first_line_ = 0;
      return;
    }
    const std::string_view document = rest.substr(0, end.value_or(rest.size()));
    last_line_ = first_line_ + std::count(document.begin(), document.end(), '\n');
    walk(trim(document));
    return;
  }
  for (long long line = first_line_; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view value = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!(value.starts_with('{') || value.starts_with('[')) || !is_json(value)) continue;
    last_line_ = line;
    walk(value);
  }
}

void JsonScan::walk(std::string_view value) {
  if (path_.size() > kDeepest) return;
  if (value.starts_with('{')) {
    JsonMembers members;
    scan_object(value, members);
    const bool are_numbered = !members.empty() && std::all_of(members.begin(), members.end(), [](const JsonMember& member) {
      return is_number_text(member.key);
    }) && std::all_of(members.begin(), members.end(), [](const JsonMember& member) {
      return member.key.find('.') == std::string_view::npos;
    });
    for (const JsonMember& member : members) {
      path_.push_back({are_numbered ? "*" : json_member_name(member), &members, are_numbered});
      walk(trim(member.value));
      path_.pop_back();
    }
  } else if (value.starts_with('[')) {
    for (const std::string_view item : scan_array(value).value_or(std::vector<std::string_view>())) {
      path_.push_back({"*", nullptr, false});
      walk(trim(item));
      path_.pop_back();
    }
  } else {
    take(value);
  }
}

void JsonScan::take(std::string_view value) {
  const std::optional<std::string> text = json_string(value);
  const WrittenNumber number = text ? read_written_number(*text, DecimalMark::unknown) : WrittenNumber();
  const std::optional<double> plain = json_number(value);
  const bool is_text_number = text && number.kind == WrittenNumber::Kind::number;
  if (path_.empty() || (!plain && !is_text_number)) return;
  Number described;
  describe(described);
  const std::string key = described.pointer + '\n' + described.choice_value + '\n' + described.unit;
  const auto known = numbers_.find(key);
  if (known == numbers_.end() && numbers_.size() >= kMostJsonNumbers) return;
  Number& kept = known == numbers_.end() ? numbers_.emplace(key, std::move(described)).first->second : known->second;
  kept.is_duration = kept.is_duration || number.is_duration;
  const std::string_view spelled = text ? std::string_view(*text) : value;
  kept.seen.add(plain ? *plain : number.value, lines_, spelled.find_first_of(".:eE") != std::string_view::npos);
}

/// Sets what stands around a number: its pointer, its name, what numbers it, and what tells it from others of the pointer.
void JsonScan::describe(Number& number) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < path_.size(); ++i) {
    const Step& step = path_[i];
    number.pointer += '/' + json_pointer_token(step.token);
    if (step.is_numbered) {
      number.index = "*";
      number.series = "step";
    }
    const bool is_container = i + 2 < path_.size() && path_[i + 1].token == "*";
    if (step.token != "*" && !is_container && !is_filler(step.token)) names.push_back(step.token);
    if (step.object == nullptr) continue;
    for (const char* const member : {"tag", "key", "name", "metric"}) {
      const std::string value = text_of_member(*step.object, member);
      if (value.empty() || value.size() > kLongestChoice || is_filler(value)) continue;
      number.choice = member;
      number.choice_value = value;
      break;
    }
    for (const char* const member : {"time_unit", "units", "unit"}) {
      const std::string unit = text_of_member(*step.object, member);
      if (is_unit_text(unit)) {
        number.unit_member = member;
        number.unit = unit;
      }
    }
    for (const JsonMember& member : *step.object) {
      const std::string meaning = index_name(parse_label(member.key).name);
      const bool fits = (meaning == "step" || meaning == "epoch") && json_number(member.value) && number.series != "step";
      if (!fits || step.is_numbered || member.key == step.token) continue;
      number.index = member.key;
      number.series = meaning;
    }
  }
  const bool is_generic = path_.back().token == "value" || (path_.size() > 1 && is_filler(path_[path_.size() - 2].token));
  if (!is_generic) {
    number.choice.clear();
    number.choice_value.clear();
  }
  if (!number.choice_value.empty()) names = {number.choice_value};
  if (names.size() > 2) names.erase(names.begin(), names.end() - 2);
  number.name = join(names, " ");
}

std::vector<Candidate> JsonScan::finish() {
  if (first_line_ == 0 && !is_log_) first_line_ = 1;
  if (!is_too_large_ && first_line_ > 0) walk_lines();
  text_.clear();
  text_.shrink_to_fit();
  std::map<std::string, int> units;  // of a pointer
  for (const auto& [key, number] : numbers_) ++units[number.pointer + '\n' + number.choice_value];
  std::vector<Candidate> candidates;
  for (const auto& [key, number] : numbers_) {
    const LabelParts parts = parse_label(number.name);
    Metric metric;
    metric.source = "pointer";
    metric.selector = number.pointer;
    metric.unit = plain_unit(number.is_duration ? "s" : number.unit.empty() ? parts.unit : number.unit);
    metric.name = metric_name(parts.name, metric.unit);
    if (!number.series.empty() && number.seen.count > 1) {
      metric.index = number.index;
      metric.series = number.series;
    }
    if (!number.choice.empty()) metric.where.push_back({number.choice, {Value::from_plain(number.choice_value)}});
    if (units[number.pointer + '\n' + number.choice_value] > 1 && !number.unit.empty())
      metric.where.push_back({number.unit_member, {Value::from_plain(number.unit)}});
    if (is_log_) metric.header = "^\\{";
    Candidate candidate;
    candidate.forms = {metric};
    metric.index.clear();  // rows without an index count, too
    metric.series.reset();
    candidate.forms.push_back(metric);
    candidate.seen = number.seen;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace hpcbench

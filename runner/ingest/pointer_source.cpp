#include <fmt/format.h>

#include <algorithm>

#include "base/byte_order_mark.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "ingest/metric_reader.hpp"
#include "ingest/wandb_file.hpp"
#include "ingest/yaml_json.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLargestDocument = std::size_t{64} << 20;
constexpr std::size_t kLargestYaml = std::size_t{1} << 20;

std::string plain_key(std::string_view key) {
  return key.find('\\') == std::string_view::npos ? std::string(key) : json_unquote(fmt::format("\"{}\"", key));
}

long long count_lines(std::string_view text) { return 1 + std::count(text.begin(), text.end(), '\n'); }

/// Values in a JSON document, or in JSON lines: the first line that is not blank says which. Under `header` JSON stands in the
/// text of a log: of lines, those that begin like no object or array are text, and a document ends where its value does.
class PointerReader : public MetricReader {
 public:
  explicit PointerReader(const Metric& spec) : MetricReader(spec), tokens_(json_pointer_tokens(spec.selector)) {
    if (!spec.index.starts_with('/')) return;
    const auto of_index = json_pointer_tokens(spec.index);
    if (!of_index || !tokens_) return;
    std::size_t shared = 0;
    while (shared < of_index->size() && shared < tokens_->size() && (*of_index)[shared] == (*tokens_)[shared]) ++shared;
    index_depth_ = shared;
    for (std::size_t i = shared; i < of_index->size(); ++i) index_way_ += '/' + json_pointer_token((*of_index)[i]);
  }

  std::optional<std::string> error() const override {
    const bool index_fits = !spec_.index.starts_with('/') || !index_way_.empty();
    if (!index_fits && tokens_) return fmt::format("`index` {} names no object on the way to {}", spec_.index, spec_.selector);
    if (tokens_) return std::nullopt;
    return fmt::format("not a JSON pointer: {}", spec_.selector);
  }

  void feed(std::string_view piece) override {
    while (!piece.empty()) {
      const std::size_t newline = mode_ == Mode::document ? std::string_view::npos : piece.find('\n');
      const std::size_t part = newline == std::string_view::npos ? piece.size() : newline + 1;
      append(piece.substr(0, part));
      piece.remove_prefix(part);
      if (newline != std::string_view::npos) end_line();
    }
  }

 private:
  enum class Mode { unknown, lines, document };

  void begin_file() override {
    is_converted_ = is_yaml_name(file_) || is_wandb_name(file_);
    mode_ = is_converted_ ? Mode::document : Mode::unknown;
    text_.clear();
    line_ = 1;
    too_large_ = false;
    without_index_ = 0;
  }

  void end_file() override {
    drop_mark();
    if (is_converted_ && !too_large_) {
      is_yaml_name(file_) ? read_yaml() : read_wandb();
    } else if (mode_ == Mode::lines || too_large_) {
      end_line();
    } else if (!trim(text_).empty()) {
      read_value(text_, line_);
    }
    text_.clear();
    text_.shrink_to_fit();
    if (without_index_ > 0) {
      warn(fmt::format("{}: {} no `{}`, and a number in its place", file_, counted(without_index_, "value has", "values have"),
                       spec_.index));
    }
  }

  void append(std::string_view part) {
    if (too_large_) return;
    if (text_.size() + part.size() > kLargestDocument) {
      too_large_ = true;
      text_.clear();
      return;
    }
    text_ += part;
  }

  /// As CSV and patterns of `header` do, JSON may begin with the mark of UTF-8.
  void drop_mark() {
    if (line_ == 1 && text_.starts_with(kByteOrderMark)) text_.erase(0, kByteOrderMark.size());
  }

  void end_line() {
    drop_mark();
    if (mode_ == Mode::document) {
      if (too_large_) warn_at_line(1, "more than 64 MiB in one JSON document: not read");
      return;
    }
    if (too_large_) {
      warn_at_line(line_, "a line of more than 64 MiB: left out");
    } else if (!trim(text_).empty()) {
      if (mode_ == Mode::unknown) mode_ = is_json(text_) ? Mode::lines : Mode::document;
      if (mode_ == Mode::document) return;  // the line stays: it is the document's beginning
      if (!spec_.has_header() || is_container(text_)) read_value(text_, line_);
    }
    too_large_ = false;
    text_.clear();
    ++line_;
  }

  void read_yaml() {
    std::string problem;
    const std::string json = text_.size() > kLargestYaml ? "" : yaml_as_json(text_, problem);
    if (text_.size() > kLargestYaml) problem = "more than 1 MiB of YAML: not read";
    if (!problem.empty()) warn(fmt::format("{}: {}", file_, problem));
    if (!json.empty()) read_value(json, 1);
  }

  void read_wandb() {
    std::string problem;
    const std::string lines = wandb_as_json(text_, problem);
    if (!problem.empty()) warn(fmt::format("{}: {}", file_, problem));
    long long number = 1;
    for (const std::string& line : split(lines, '\n')) {
      if (!line.empty()) read_value(line, number++);
    }
  }

  static bool is_container(std::string_view line) { return trim(line).starts_with('{') || trim(line).starts_with('['); }

  void read_value(std::string_view text, long long line) {
    std::optional<std::size_t> offset = json_error_offset(text);
    if (offset && mode_ == Mode::document && spec_.has_header() && is_json(text.substr(0, *offset))) {
      text = text.substr(0, *offset);  // what follows is text of the log
      offset.reset();
    }
    if (offset) {
      warn_at_line(line + count_lines(text.substr(0, *offset)) - 1,
                   *offset >= trim(text).size() ? "the JSON ends too early" : "not JSON");
      return;
    }
    root_ = text;
    root_line_ = line;
    last_offset_.reset();
    objects_.clear();
    follow(trim(text), 0, std::nullopt);
    if (last_offset_) found_at_line(line_of(*last_offset_), true);
  }

  /// A number, or a word that names a point.
  std::optional<std::string> index_text(std::string_view value) const {
    const std::optional<std::string> word = json_string(value);
    const bool is_index = word && (may_have_words(spec_) || parse_plain_number(*word));
    if (word) return word->empty() || !is_index ? std::nullopt : word;
    return json_number(value) ? std::optional(std::string(value)) : std::nullopt;
  }

  /// The index that a value on the way holds, at this depth: by any object with the member, or where the pointers of value and
  /// index part.
  std::optional<std::string> index_in(std::string_view value, const JsonMembers& members, std::size_t depth) const {
    if (spec_.index.empty() || spec_.index == "*") return std::nullopt;
    if (!index_depth_) return index_text(find_member(members, spec_.index));
    if (depth != *index_depth_) return std::nullopt;
    const std::vector<std::string_view> found = json_values_at(value, index_way_);
    return found.size() == 1 ? index_text(found.front()) : std::nullopt;
  }

  /// `index`: that of the innermost object on the way that has the member `spec_.index`.
  void follow(std::string_view value, std::size_t depth, std::optional<std::string> index) {
    if (depth == tokens_->size()) {
      take_value(value, index);
      return;
    }
    const std::string& token = (*tokens_)[depth];
    if (value.starts_with('{')) {
      JsonMembers members;
      scan_object(value, members);
      if (const auto text = index_in(value, members, depth)) index = text;
      objects_.push_back(&members);
      for (const JsonMember& member : members) {
        if (token != "*" && plain_key(member.key) != token) continue;
        const bool is_index = token == "*" && spec_.index == "*";
        follow(member.value, depth + 1, is_index ? std::optional(plain_key(member.key)) : index);
      }
      objects_.pop_back();
    } else if (value.starts_with('[')) {
      const std::vector<std::string_view> items = scan_array(value).value_or(std::vector<std::string_view>());
      const std::optional<std::size_t> only = json_array_index(token);
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (token == "*" || only == i || json_token_selects(token, items[i])) follow(items[i], depth + 1, index);
      }
    }
  }

  /// A member that `where` names is that of the innermost object on the way that has it.
  bool is_meant() const {
    return std::all_of(spec_.where.begin(), spec_.where.end(), [&](const auto& clause) {
      for (auto object = objects_.rbegin(); object != objects_.rend(); ++object) {
        const JsonMembers& members = **object;
        const auto member = std::find_if(members.rbegin(), members.rend(),
                                         [&](const JsonMember& each) { return plain_key(each.key) == clause.first; });
        if (member == members.rend()) continue;
        const std::optional<std::string> text = json_scalar_text(member->value);
        return text && is_one_of(*text, clause.second);
      }
      return false;
    });
  }

  /// A number of JSON, or a text that holds one.
  bool take_scalar(std::string_view value, const std::optional<std::string>& index) {
    if (const std::optional<std::string> text = json_string(value)) return taker_.take_text(*text, index);
    if (const std::optional<double> number = json_number(value))
      return taker_.take_number({WrittenNumber::Kind::number, *number}, value, index);
    return taker_.take_text(value, index);
  }

  void take_value(std::string_view value, const std::optional<std::string>& index) {
    if (value == "null") return;
    if (!is_meant()) {
      taker_.leave_out();
      return;
    }
    const auto offset = static_cast<std::size_t>(value.data() - root_.data());
    const MetricMatches& matches = taker_.matches();
    const bool all_finite = matches.not_finite == 0, all_numbers = matches.not_numbers == 0;
    const bool all_forward = matches.steps_back == 0;
    without_index_ += index || spec_.index.empty() ? 0 : 1;
    const bool chosen = take_scalar(value, index);
    if (chosen) last_offset_ = offset;
    if (all_forward && matches.steps_back > 0) {
      found_at_line(line_of(offset), chosen);
    } else if (!chosen && ((all_finite && matches.not_finite > 0) || (all_numbers && matches.not_numbers > 0))) {
      found_at_line(line_of(offset), false);
    }
  }

  long long line_of(std::size_t offset) const { return root_line_ + count_lines(root_.substr(0, offset)) - 1; }

  const std::optional<std::vector<std::string>> tokens_;
  std::optional<std::size_t> index_depth_;  // of an `index` that is a pointer: where it parts from that of the value
  std::string index_way_;                   // from there
  bool is_converted_ = false;               // of YAML or W&B
  long long without_index_ = 0;             // values of the file
  Mode mode_ = Mode::unknown;
  std::string text_;
  long long line_ = 1;
  bool too_large_ = false;
  std::string_view root_;
  long long root_line_ = 1;
  std::optional<std::size_t> last_offset_;   // in root_
  std::vector<const JsonMembers*> objects_;  // on the way to the value, the innermost last
};

}  // namespace

std::unique_ptr<MetricReader> make_pointer_reader(const Metric& spec) { return std::make_unique<PointerReader>(spec); }

}  // namespace hpcbench

#include "ingest/metric_scan.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "base/glob.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/terminal_text.hpp"

namespace hpcbench {

namespace {

RE2::Options pattern_options() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_never_nl(true);
  options.set_log_errors(false);
  return options;
}

/// Where the body of the capturing group number `wanted` begins and ends in a regular expression; nullopt without such a group.
std::optional<std::pair<std::size_t, std::size_t>> find_group(std::string_view regex, int wanted) {
  std::vector<std::pair<int, std::size_t>> open;  // number (0: captures nothing) and begin of the body
  int groups = 0;
  for (std::size_t i = 0; i < regex.size(); ++i) {
    if (regex[i] == '\\') {
      const bool quotes = regex.substr(i, 2) == "\\Q";
      const std::size_t end = quotes ? regex.find("\\E", i) : i;
      if (end == std::string_view::npos) return std::nullopt;
      i = end + 1;
    } else if (regex[i] == '[') {
      i += regex.substr(i + 1).starts_with('^') ? 2 : 1;
      if (regex.substr(i).starts_with(']')) ++i;  // at the beginning it is one of the characters
      for (; i < regex.size() && regex[i] != ']'; ++i) {
        if (regex[i] == '\\') ++i;
        if (regex.substr(i).starts_with("[:")) i = std::min(regex.find(":]", i), regex.size() - 2) + 1;
      }
    } else if (regex[i] == '(') {
      const std::string_view rest = regex.substr(i + 1);
      const bool named = rest.starts_with("?P<") || rest.starts_with("?<");
      const bool captures = named || !rest.starts_with('?');
      open.emplace_back(captures ? ++groups : 0, named ? regex.find('>', i) + 1 : i + 1);
    } else if (regex[i] == ')' && !open.empty()) {
      const auto [number, begin] = open.back();
      open.pop_back();
      if (number == wanted) return std::pair(begin, i);
    }
  }
  return std::nullopt;
}

constexpr std::size_t kLongestUnit = 24;
constexpr const char* kUnitGroup = "unit";
constexpr const char* kRank = "rank";
constexpr std::string_view kNotFiniteWord = R"([-+]?(?i:nan(?:\([^)]*\))?|inf|infinity))";

/// The pattern with NaN or an infinity in place of what its group number `group` captures: finds lines that the pattern itself
/// misses because their number is `nan`. Empty if the pattern has no such group.
std::string not_finite_pattern(const std::string& selector, int group) {
  const auto body = group == 0 ? std::nullopt : find_group(selector, group);
  if (!body) return "";
  return fmt::format("{}{}{}", selector.substr(0, body->first), kNotFiniteWord, selector.substr(body->second));
}

/// The format that a number is part of, as in a program's source: `.4f` of `{loss:.4f}`, `5.2f` of `%5.2f`. Empty without.
std::string_view format_around(std::string_view text, std::size_t begin, std::size_t end) {
  const auto is_number = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  while (begin > 0 && is_number(text[begin - 1])) --begin;
  while (end < text.size() && is_number(text[end])) ++end;
  if (begin == 0 || end >= text.size() || std::string_view("fFeEgGdiu").find(text[end]) == std::string_view::npos) return {};
  const bool is_of_python = text[begin - 1] == ':' && text[begin] == '.' && text.substr(end + 1).starts_with('}');
  return is_of_python || text[begin - 1] == '%' ? text.substr(begin, end + 1 - begin) : std::string_view();
}

}  // namespace

struct MetricScanner::Impl {
  explicit Impl(const Metric& metric) : spec(metric), pattern("(?m)" + metric.selector, pattern_options()), taker(metric) {
    if (!pattern.ok()) return;
    const auto& names = pattern.NamedCapturingGroups();
    const auto group_called = [&](const std::string& name) {
      const auto found = names.find(name);
      return found == names.end() ? 0 : found->second;
    };
    index_group = group_called(spec.index);
    if (!spec.rank.empty()) rank = std::make_unique<RE2>("(?m)" + spec.rank, pattern_options());
    for (const std::string& context : spec.context)
      contexts.push_back(std::make_unique<RE2>("(?m)" + context, pattern_options()));
    if (index_group == 0 && !spec.index.empty()) index_names = split(spec.index, ' ');
    unit_group = spec.index == kUnitGroup || spec.name == kUnitGroup ? 0 : group_called(kUnitGroup);
    group = group_called(spec.name);
    const int last = pattern.NumberOfCapturingGroups();
    int highest = std::max(index_group, unit_group);
    for (const auto& [name, values] : spec.where) {
      if (rank && name == kRank) {
        rank_values = values;
      } else if (const int which = group_called(name); which > 0) {
        conditions.emplace_back(which, &values);
      } else {
        context_conditions.emplace_back(name, &values);
      }
      highest = std::max(highest, group_called(name));
    }
    const auto is_condition = [&](int i) {
      return std::any_of(conditions.begin(), conditions.end(), [&](const auto& each) { return each.first == i; });
    };
    for (int i = 1; group == 0 && i <= last; ++i) {
      if (i != index_group && i != unit_group && !is_condition(i)) group = i;
    }
    groups.resize(static_cast<std::size_t>(std::max(group, highest)) + 1);
    const std::string of_nan = not_finite_pattern(metric.selector, group);
    if (!of_nan.empty()) not_finite = std::make_unique<RE2>("(?m)" + of_nan, pattern_options());
    if (not_finite && !not_finite->ok()) not_finite.reset();
  }

  /// The next `nan` in a line that the pattern itself does not match, from `from` on; empty where there is none.
  std::string_view find_not_finite(std::string_view text, std::size_t from) {
    const re2::StringPiece whole(text.data(), text.size());
    while (not_finite && from < text.size() &&
           not_finite->Match(whole, from, whole.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
      const re2::StringPiece found = groups[static_cast<std::size_t>(group)];
      const auto at = static_cast<std::size_t>((found.data() == nullptr ? groups[0] : found).data() - text.data());
      const std::size_t end = at + found.size();
      const std::size_t before = at == 0 ? std::string_view::npos : text.find_last_of("\r\n", at - 1);
      const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
      from = std::max(from + 1, std::min(text.find_first_of("\r\n", at), text.size()));
      const bool inside_word = end < text.size() && is_word_character(text[end]);  // `inf` of `info`
      if (found.empty() || inside_word || RE2::PartialMatch({text.data() + begin, from - begin}, pattern) || !is_meant() ||
          !is_of_rank(text, at))
        continue;
      return text.substr(at, found.size());
    }
    return {};
  }

  static bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

  /// By what a number is multiplied that stands before `rest`, which may begin with another multiple of the metric's unit:
  /// `900 MB/s` of a metric in GB/s. Absent before a unit of something else: days/ns of a metric in ns/day. Any other text is
  /// not about the number. A metric without a unit gets the first quotient, or the first of several units of one kind.
  std::optional<double> factor_before(std::string_view rest) {
    const bool touches = !rest.starts_with(' ');
    if (!touches) rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find_first_of(" \t\r\n,;:=()[]|"), rest.size());
    const bool names_next = rest.substr(end, 1) == ":" || rest.substr(end, 1) == "=";
    std::string_view word = rest.substr(0, end);
    if (word.ends_with('.')) word.remove_suffix(1);
    const NumberReader& numbers = taker.numbers();
    if (word.empty() || word.size() > kLongestUnit || names_next || word == numbers.unit()) return 1;
    if (word == last_unit && touches == last_touched) return last_factor;
    last_unit = word;
    last_touched = touches;
    find_unit();
    const std::string& unit = numbers.unit();
    const std::size_t slash = last_unit.find('/');
    const std::string above = last_unit.substr(0, slash);
    const bool is_quotient = slash != std::string::npos && is_known_unit(above);
    last_factor = touches ? factor_of_letter(last_unit, unit) : std::nullopt;
    if (touches && last_unit == "m") last_factor = unit_factor("min", unit);  // `5m`
    if (!last_factor) last_factor = unit_factor(last_unit, unit);
    // A time of a step, `0.5 s/step` or `2 s/it`, of a metric in ms.
    if (!last_factor && is_quotient && unit_factor(above, "s") && !is_known_quotient(last_unit))
      last_factor = unit_factor(above, unit);
    const bool is_multiple =
        touches && last_unit.size() == 1 && std::string_view("kKMGTP").find(last_unit) != std::string_view::npos;
    if (!last_factor && (!is_quotient || unit.empty()) && !is_multiple) last_factor = 1;
    return last_factor;
  }

  /// Learns the unit of a metric without one from `last_unit`.
  void find_unit() {
    NumberReader& numbers = taker.numbers();
    if (!numbers.unit().empty() || !is_known_unit(last_unit)) return;
    if (is_known_quotient(last_unit)) {
      numbers.find_unit(last_unit);
    } else if (first_unit.empty()) {
      first_unit = last_unit;
    } else if (first_unit != last_unit && unit_factor(last_unit, first_unit)) {
      numbers.find_unit(first_unit);  // `980 MB` and `1.2 GB` are sizes
    }
  }

  std::string_view text_of(int which) const {
    const re2::StringPiece& found = groups[static_cast<std::size_t>(which)];
    return {found.data() == nullptr ? "" : found.data(), found.size()};
  }

  /// Notes a match that begins within a number: `5` of `12.5`.
  void check_beginning(std::string_view text, std::size_t begin, std::string_view number) {
    const auto is_digit_at = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
    if (number.empty() || number.front() < '0' || number.front() > '9' || begin == 0) return;
    const bool is_within =
        is_digit_at(begin - 1) || (begin > 1 && (text[begin - 1] == '.' || text[begin - 1] == ',') && is_digit_at(begin - 2));
    if (!is_within || cut_numbers++ > 0) return;
    std::size_t first = begin;
    while (first > 0 && (is_digit_at(first - 1) || text[first - 1] == '.' || text[first - 1] == ',')) --first;
    first_cut = fmt::format("`{}` of `{}`", number, text.substr(first, begin + number.size() - first));
  }

  /// The number of a match, with the unit that the pattern's group or the text behind it names.
  WrittenNumber read_match(std::string_view text, std::size_t begin, std::string_view& number) {
    NumberReader& numbers = taker.numbers();
    const std::string_view captured = number;
    const bool ends_match = captured.data() + captured.size() == groups[0].data() + groups[0].size();
    const bool is_before_unit = unit_group > 0 && text_of(unit_group).data() == captured.data() + captured.size();
    // A pattern such as `tps: ([0-9.]+)` ends within `1,541,366`.
    if (ends_match || is_before_unit) number = whole_number(text, begin, begin + number.size(), numbers.is_time());
    const std::string_view added = number.substr(captured.size());
    if (captured.find('.') != std::string_view::npos && added.find(',') != std::string_view::npos) {
      if (numbers.mark() == DecimalMark::point) number = captured;
      if (spec.decimal == DecimalMark::unknown && numbers.mark() != DecimalMark::point) {
        return {WrittenNumber::Kind::unclear,
                0,
                "",
                {},
                false,
                fmt::format("the pattern takes `{}` of it: write `decimal: point` or `decimal: comma`", captured)};
      }
    }
    if (unit_group > 0) return numbers.read(number, text_of(unit_group));
    WrittenNumber read = numbers.read(number);
    if (read.kind != WrittenNumber::Kind::number || !read.unit.empty()) return read;
    const auto end = static_cast<std::size_t>(number.data() + number.size() - text.data());
    const std::optional<double> factor = factor_before(text.substr(end));
    if (factor) {
      read.value *= *factor;
      return read;
    }
    const bool is_letter = last_touched && last_unit.size() == 1;
    if (is_letter && !ends_match) return read;  // the pattern names the letter itself
    wrong_unit = fmt::format("{}{}{}", number, is_letter ? "" : " ", last_unit);
    number = wrong_unit;
    return {WrittenNumber::Kind::none,
            0,
            "",
            {},
            false,
            is_letter ? "let the pattern match the letter, too, or give the metric a `unit` of bytes"
                      : fmt::format("the metric is in {}", numbers.unit())};
  }

  /// Whether the groups of the match, and of the last contexts, are what `where` says.
  bool is_meant() const {
    const auto is_in_context = [&](const auto& condition) {
      const auto found = context_values.find(condition.first);
      return found != context_values.end() && is_one_of(found->second, *condition.second);
    };
    if (!std::all_of(context_conditions.begin(), context_conditions.end(), is_in_context)) return false;
    return std::all_of(conditions.begin(), conditions.end(),
                       [&](const auto& condition) { return is_one_of(text_of(condition.first), *condition.second); });
  }

  /// Whether the line at an offset is of a rank that counts.
  bool is_of_rank(std::string_view text, std::size_t at) {
    if (!rank || !rank->ok()) return true;
    const std::size_t before = at == 0 ? std::string_view::npos : text.find_last_of("\r\n", at - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view line = text.substr(begin, std::min(text.find_first_of("\r\n", at), text.size()) - begin);
    std::string found;
    if (!RE2::PartialMatch({line.data(), line.size()}, *rank, &found)) found = "(none)";
    if (is_one_of(found, rank_values)) return true;
    if (other_ranks++ == 0) first_other_rank = printable(found.substr(0, kLongestUnit));
    return false;
  }

  bool take_match(std::string_view text) {
    std::string_view number = text_of(group);
    if (groups[static_cast<std::size_t>(group)].data() == nullptr) return false;
    const auto begin = static_cast<std::size_t>(number.data() - text.data());
    pass_contexts(begin);
    if (!is_meant() || !is_of_rank(text, begin)) {
      taker.leave_out();
      return false;
    }
    if (const std::string_view format = format_around(text, begin, begin + number.size()); !format.empty()) {
      taker.take_no_number(format,
                           "it is part of a format, as in a program's source: `header` names the line where the log begins");
      return false;
    }
    if (group > 0) check_beginning(text, begin, number);
    const WrittenNumber read = read_match(text, begin, number);
    if (index_group > 0) return taker.take_number(read, number, text_of(index_group));
    if (contexts.empty() || index_names.empty()) return taker.take_number(read, number, std::nullopt);
    const std::optional<std::string> index = index_above(begin);
    if (index) return taker.take_number(read, number, *index);
    taker.take_no_number(number, "no line above it matches `context`");
    return false;
  }

  /// Finds the lines of a piece that later matches may belong to.
  void find_contexts(std::string_view text) {
    found_contexts.clear();
    next_context = 0;
    for (const auto& context : contexts) {
      if (!context->ok()) continue;
      const auto count = static_cast<std::size_t>(context->NumberOfCapturingGroups()) + 1;
      std::vector<re2::StringPiece> found(count);
      const re2::StringPiece whole(text.data(), text.size());
      for (std::size_t from = 0; from <= text.size() && context->Match(whole, from, whole.size(), RE2::UNANCHORED, found.data(),
                                                                       static_cast<int>(count));) {
        const auto begin = static_cast<std::size_t>(found[0].data() - text.data());
        from = begin + std::max<std::size_t>(found[0].size(), 1);
        for (const auto& [name, which] : context->NamedCapturingGroups()) {
          const re2::StringPiece& value = found[static_cast<std::size_t>(which)];
          if (value.data() != nullptr) found_contexts.push_back({begin, name, std::string(trim({value.data(), value.size()}))});
        }
      }
    }
    std::stable_sort(found_contexts.begin(), found_contexts.end(),
                     [](const auto& a, const auto& b) { return a.begin < b.begin; });
  }

  /// Notes all contexts up to an offset of the piece.
  void pass_contexts(std::size_t end) {
    for (; next_context < found_contexts.size() && found_contexts[next_context].begin <= end; ++next_context)
      context_values[found_contexts[next_context].name] = found_contexts[next_context].value;
  }

  /// `posix shared`, or of several names `N=12000 NB=192`: the last ones above a match. Absent without one.
  std::optional<std::string> index_above(std::size_t begin) {
    pass_contexts(begin);
    std::vector<std::string> parts;
    for (const std::string& name : index_names) {
      const auto found = context_values.find(name);
      if (found == context_values.end()) return std::nullopt;
      parts.push_back(index_names.size() == 1 ? found->second : name + '=' + found->second);
    }
    return join(parts, " ");
  }

  Metric spec;
  RE2 pattern;
  std::unique_ptr<RE2> not_finite;  // null: the pattern has no group
  int group = 0;
  int index_group = 0;                                                                // 0: none
  int unit_group = 0;                                                                 // likewise
  std::vector<std::pair<int, const std::vector<Value>*>> conditions;                  // groups of `where`
  std::vector<std::pair<std::string, const std::vector<Value>*>> context_conditions;  // `where` of groups of contexts
  std::unique_ptr<RE2> rank;                                                          // null: all lines are of one rank
  std::vector<Value> rank_values = {Value::from_integer(0)};
  long long other_ranks = 0;  // matches of other ranks
  std::string first_other_rank;
  std::vector<re2::StringPiece> groups;
  MatchTaker taker;
  struct FoundContext {
    std::size_t begin = 0;
    std::string name, value;
  };
  std::vector<std::unique_ptr<RE2>> contexts;
  std::vector<std::string> index_names;               // groups of contexts
  std::vector<FoundContext> found_contexts;           // of the piece, by their offset
  std::size_t next_context = 0;                       // of them
  std::map<std::string, std::string> context_values;  // the last ones so far
  std::string first_unit;                             // of a metric without a unit
  std::string last_unit;                              // behind a number, and its factor
  bool last_touched = false;
  std::optional<double> last_factor = 1;
  std::string wrong_unit;     // a number and a unit that does not convert
  long long cut_numbers = 0;  // matches that begin within a number
  std::string first_cut;
};

MetricScanner::MetricScanner(const Metric& spec) : impl_(std::make_unique<Impl>(spec)) {}

MetricScanner::~MetricScanner() = default;

std::optional<std::string> MetricScanner::error() const {
  return impl_->pattern.ok() ? std::nullopt : std::optional(impl_->pattern.error());
}

void MetricScanner::begin_file(NumberReader::FindMark find_mark) {
  impl_->taker.numbers().begin_file(std::move(find_mark));
  impl_->context_values.clear();
}

MetricMatches MetricScanner::finish() {
  MetricMatches matches = impl_->taker.finish();
  if (impl_->cut_numbers > 0) {
    matches.warnings.push_back(printable(fmt::format("the pattern takes only the end of {}, the first {}",
                                                     counted(impl_->cut_numbers, "number", "numbers"), impl_->first_cut)));
  }
  const auto names_rank = [](const auto& clause) { return clause.first == kRank; };
  if (impl_->other_ranks > 0 && std::none_of(impl_->spec.where.begin(), impl_->spec.where.end(), names_rank)) {
    matches.warnings.push_back(fmt::format(
        "lines of rank 0 count; {} of other ranks, the first of rank {}, {} not: `where: "
        "{{rank: 1}}` chooses another",
        counted(impl_->other_ranks, "value", "values"), impl_->first_other_rank, impl_->other_ranks == 1 ? "does" : "do"));
  }
  return matches;
}

ScannedPiece MetricScanner::feed(std::string_view written) {
  ScannedPiece piece;
  if (!impl_->pattern.ok()) return piece;
  const TerminalText shown(written);
  const std::string_view text = shown.text();
  impl_->find_contexts(text);
  const re2::StringPiece whole(text.data(), text.size());
  std::size_t from = 0;
  const char* chosen = nullptr;  // the match that `take` chooses so far
  auto& groups = impl_->groups;
  const auto line_of_value = [&] {
    return shown.lines_before(static_cast<std::size_t>(groups[static_cast<std::size_t>(impl_->group)].data() - whole.data()));
  };
  std::string_view not_finite = impl_->find_not_finite(text, 0);
  const auto take_not_finite_before = [&](std::size_t end) {
    while (!not_finite.empty() && not_finite.data() < text.data() + end) {
      const auto at = static_cast<std::size_t>(not_finite.data() - text.data());
      impl_->taker.take_not_finite(not_finite);
      if (impl_->taker.matches().not_finite == 1) piece.first_not_finite = shown.lines_before(at);
      not_finite = impl_->find_not_finite(text, text.find_first_of("\r\n", at));
    }
  };
  while (from <= whole.size() &&
         impl_->pattern.Match(whole, from, whole.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
    const std::vector<re2::StringPiece> match = groups;
    take_not_finite_before(static_cast<std::size_t>(match[0].data() - whole.data()));
    groups = match;
    const MetricMatches& matches = impl_->taker.matches();
    const bool all_finite = matches.not_finite == 0, all_numbers = matches.not_numbers == 0,
               all_forward = matches.steps_back == 0;
    if (impl_->take_match(text)) chosen = groups[static_cast<std::size_t>(impl_->group)].data();
    if (all_finite && matches.not_finite > 0) piece.first_not_finite = line_of_value();
    if (all_numbers && matches.not_numbers > 0) piece.first_not_number = line_of_value();
    if (all_forward && matches.steps_back > 0) piece.first_back = line_of_value();
    const auto end = static_cast<std::size_t>(groups[0].data() - whole.data()) + groups[0].size();
    // An empty match must not be found again.
    from = groups[0].empty() ? end + 1 : end;
  }
  take_not_finite_before(text.size());
  impl_->pass_contexts(text.size());
  if (chosen != nullptr) piece.last_chosen = shown.lines_before(static_cast<std::size_t>(chosen - text.data()));
  return piece;
}

namespace {

/// A regular expression over text files. A line longer than a piece is searched piece by piece.
class PatternReader : public MetricReader {
 public:
  explicit PatternReader(const Metric& spec) : MetricReader(spec), scanner_(spec) {}

  std::optional<std::string> error() const override {
    const std::optional<std::string> why = scanner_.error();
    return why ? std::optional("not a pattern: " + *why) : std::nullopt;
  }

  void feed(std::string_view piece) override {
    const ScannedPiece found = scanner_.feed(piece);
    const auto place = [&](long long before) { return file_ + ':' + std::to_string(lines_ + 1 + before); };
    if (found.last_chosen) place_ = place(*found.last_chosen);
    if (found.first_not_finite && not_finite_place_.empty()) not_finite_place_ = place(*found.first_not_finite);
    if (found.first_back && back_place_.empty()) back_place_ = place(*found.first_back);
    if (found.first_not_number && not_number_place_.empty()) not_number_place_ = place(*found.first_not_number);
    lines_ += std::count(piece.begin(), piece.end(), '\n');
  }

  MetricMatches finish() override {
    MetricMatches matches = scanner_.finish();
    matches.place = place_;
    matches.first_not_finite_at = not_finite_place_;
    matches.first_not_number_at = not_number_place_;
    matches.first_back_at = back_place_;
    return matches;
  }

 private:
  void begin_file() override {
    lines_ = 0;
    scanner_.begin_file([this] { return find_mark_ ? find_mark_(MarkEvidence()) : DecimalMark::unknown; });
  }

  MetricScanner scanner_;
  long long lines_ = 0;  // before the next piece
  std::string place_, not_finite_place_, not_number_place_, back_place_;
};

}  // namespace

std::unique_ptr<MetricReader> make_pattern_reader(const Metric& spec) { return std::make_unique<PatternReader>(spec); }

MetricMatches scan_metric(std::string_view text, const Metric& spec) {
  MetricScanner scanner(spec);
  scanner.begin_file([&] {
    MarkEvidence evidence;
    evidence.add(text);
    return evidence.mark();
  });
  scanner.feed(text);
  return scanner.finish();
}

std::optional<bool> file_holds(const std::string& path, const std::string& pattern) {
  const RE2 expression("(?m)" + pattern, pattern_options());
  if (!expression.ok()) return std::nullopt;
  bool found = false;
  read_lines(path, [&](std::string_view piece) {
    const TerminalText shown(piece);
    found = RE2::PartialMatch(re2::StringPiece(shown.text().data(), shown.text().size()), expression);
    return !found;
  });
  return found;
}

std::vector<std::string> expand_glob(const std::string& pattern, const std::string& folder, const std::string& workdir) {
  if (pattern.starts_with('/')) return glob_files(pattern);
  std::vector<std::string> files = glob_files(glob_escaped(folder) + '/' + pattern);
  if (files.empty() && !workdir.empty()) files = glob_files(glob_escaped(workdir) + '/' + pattern);
  return files;
}

}  // namespace hpcbench

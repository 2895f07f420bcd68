#include "ingest/metric_scan.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/glob.hpp"
#include "base/units.hpp"
#include "ingest/line_reader.hpp"

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
constexpr std::string_view kNotFiniteWord = R"([-+]?(?i:nan(?:\([^)]*\))?|inf|infinity))";

/// The pattern with NaN or an infinity in place of what its group number `group` captures: finds lines that the pattern itself
/// misses because their number is `nan`. Empty if the pattern has no such group.
std::string not_finite_pattern(const std::string& selector, int group) {
  const auto body = group == 0 ? std::nullopt : find_group(selector, group);
  if (!body) return "";
  return fmt::format("{}{}{}", selector.substr(0, body->first), kNotFiniteWord, selector.substr(body->second));
}

}  // namespace

struct MetricScanner::Impl {
  explicit Impl(const Metric& metric) : spec(metric), pattern("(?m)" + metric.selector, pattern_options()), taker(metric) {
    unit = metric.unit.empty() ? unit_in_name(metric.name) : metric.unit;
    if (!pattern.ok()) return;
    const auto& names = pattern.NamedCapturingGroups();
    const auto named = names.find(spec.name);
    if (const auto found = names.find(spec.index); found != names.end()) index_group = found->second;
    const int first = index_group == 1 ? 2 : 1;
    group = named != names.end() ? named->second : std::min(first, pattern.NumberOfCapturingGroups());
    groups.resize(static_cast<std::size_t>(std::max(group, index_group)) + 1);
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
      if (found.empty() || inside_word || RE2::PartialMatch({text.data() + begin, from - begin}, pattern)) continue;
      return text.substr(at, found.size());
    }
    return {};
  }

  static bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

  /// By what a number is multiplied that stands before `rest`, which may begin with another multiple of the metric's unit:
  /// `900 MB/s` of a metric in GB/s. Absent before a unit of something else: days/ns of a metric in ns/day. Any other text is
  /// not about the number. Without a unit the first quotient becomes it.
  std::optional<double> factor_before(std::string_view rest) {
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find_first_of(" \t\r\n,;:=()[]|"), rest.size());
    const bool names_next = rest.substr(end, 1) == ":" || rest.substr(end, 1) == "=";
    std::string_view word = rest.substr(0, end);
    if (word.ends_with('.')) word.remove_suffix(1);
    if (word.empty() || word.size() > kLongestUnit || names_next || word == unit) return 1;
    if (word != last_unit) {
      last_unit = word;
      if (unit.empty() && is_known_quotient(last_unit)) unit = taker.matches().unit = last_unit;
      const std::size_t slash = last_unit.find('/');
      const std::string above = last_unit.substr(0, slash);
      const bool is_quotient = slash != std::string::npos && is_known_unit(above);
      last_factor = unit_factor(last_unit, unit);
      // A time of a step, `0.5 s/step` or `2 s/it`, of a metric in ms.
      if (!last_factor && is_quotient && unit_factor(above, "s") && !is_known_quotient(last_unit))
        last_factor = unit_factor(above, unit);
      if (!last_factor && (!is_quotient || unit.empty())) last_factor = 1;
    }
    return last_factor;
  }

  bool take_match(std::string_view text) {
    const auto text_of = [&](int which) {
      const re2::StringPiece& text = groups[static_cast<std::size_t>(which)];
      std::string_view taken(text.data() == nullptr ? "" : text.data(), text.size());
      if (taken.ends_with('\r')) taken.remove_suffix(1);  // `(.*)` takes all of a line, and its end is CR LF
      return taken;
    };
    if (groups[static_cast<std::size_t>(group)].data() == nullptr) return false;
    const re2::StringPiece& captured = groups[static_cast<std::size_t>(group)];
    const auto begin = static_cast<std::size_t>(captured.data() - text.data());
    std::string_view number = text_of(group);
    // A pattern such as `tps: ([0-9.]+)` ends within `1,541,366`.
    if (captured.end() == groups[0].end()) number = whole_number(text, begin, begin + number.size());
    const std::size_t end = begin + std::max(number.size(), captured.size());
    const std::optional<double> factor = factor_before(text.substr(end));
    if (!factor) {
      taker.take_no_number(fmt::format("{} {}", number, last_unit));
      return false;
    }
    if (index_group == 0) return taker.take_text(number, std::nullopt, *factor);
    return taker.take_text(number, text_of(index_group), *factor);
  }

  Metric spec;
  RE2 pattern;
  std::unique_ptr<RE2> not_finite;  // null: the pattern has no group
  int group = 0;
  int index_group = 0;  // 0: none
  std::vector<re2::StringPiece> groups;
  MatchTaker taker;
  std::string unit;       // of the metric, as declared or by its name
  std::string last_unit;  // behind a number, and its factor
  std::optional<double> last_factor = 1;
};

MetricScanner::MetricScanner(const Metric& spec) : impl_(std::make_unique<Impl>(spec)) {}

MetricScanner::~MetricScanner() = default;

std::optional<std::string> MetricScanner::error() const {
  return impl_->pattern.ok() ? std::nullopt : std::optional(impl_->pattern.error());
}

MetricMatches MetricScanner::finish() { return impl_->taker.finish(); }

ScannedPiece MetricScanner::feed(std::string_view text) {
  ScannedPiece piece;
  if (!impl_->pattern.ok()) return piece;
  const re2::StringPiece whole(text.data(), text.size());
  std::size_t from = 0;
  auto& groups = impl_->groups;
  const auto value_at = [&] {
    return static_cast<std::size_t>(groups[static_cast<std::size_t>(impl_->group)].data() - whole.data());
  };
  std::string_view not_finite = impl_->find_not_finite(text, 0);
  const auto take_not_finite_before = [&](std::size_t end) {
    while (!not_finite.empty() && not_finite.data() < text.data() + end) {
      const auto at = static_cast<std::size_t>(not_finite.data() - text.data());
      impl_->taker.take_not_finite(not_finite);
      if (!piece.first_not_finite) piece.first_not_finite = at;
      not_finite = impl_->find_not_finite(text, text.find_first_of("\r\n", at));
    }
  };
  while (from <= whole.size() &&
         impl_->pattern.Match(whole, from, whole.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
    const std::vector<re2::StringPiece> match = groups;
    take_not_finite_before(static_cast<std::size_t>(match[0].data() - whole.data()));
    groups = match;
    const long long before = impl_->taker.matches().not_finite;
    if (impl_->take_match(text)) piece.last_chosen = value_at();
    if (impl_->taker.matches().not_finite > before && !piece.first_not_finite) piece.first_not_finite = value_at();
    const auto end = static_cast<std::size_t>(groups[0].data() - whole.data()) + groups[0].size();
    // An empty match must not be found again.
    from = groups[0].empty() ? end + 1 : end;
  }
  take_not_finite_before(text.size());
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
    const auto place = [&](std::size_t at) {
      const auto end = piece.begin() + static_cast<std::ptrdiff_t>(at);
      return file_ + ':' + std::to_string(lines_ + 1 + std::count(piece.begin(), end, '\n'));
    };
    if (found.last_chosen) place_ = place(*found.last_chosen);
    if (found.first_not_finite && not_finite_place_.empty()) not_finite_place_ = place(*found.first_not_finite);
    lines_ += std::count(piece.begin(), piece.end(), '\n');
  }

  MetricMatches finish() override {
    MetricMatches matches = scanner_.finish();
    matches.place = place_;
    matches.first_not_finite_at = not_finite_place_;
    return matches;
  }

 private:
  void begin_file() override { lines_ = 0; }

  MetricScanner scanner_;
  long long lines_ = 0;  // before the next piece
  std::string place_, not_finite_place_;
};

}  // namespace

std::unique_ptr<MetricReader> make_pattern_reader(const Metric& spec) { return std::make_unique<PatternReader>(spec); }

MetricMatches scan_metric(std::string_view text, const Metric& spec) {
  MetricScanner scanner(spec);
  scanner.feed(text);
  return scanner.finish();
}

std::optional<bool> file_holds(const std::string& path, const std::string& pattern) {
  const RE2 expression("(?m)" + pattern, pattern_options());
  if (!expression.ok()) return std::nullopt;
  bool found = false;
  read_lines(path, [&](std::string_view piece) {
    found = RE2::PartialMatch(re2::StringPiece(piece.data(), piece.size()), expression);
    return !found;
  });
  return found;
}

bool is_not_finite(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  constexpr std::size_t kLongest = 40;
  if (text.size() > kLongest) return false;
  std::string word(text);
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word == "nan" || word == "inf" || word == "infinity" || (word.starts_with("nan(") && word.ends_with(')'));
}

/// How long the groups of thousands are that `text` begins with: `,318,204` or `_000`; 0 without any.
static std::size_t length_of_groups(std::string_view text) {
  const auto is_digit_at = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  std::size_t end = 0;
  while (end < text.size() && text[end] == text.front() && (text[end] == ',' || text[end] == '_') && is_digit_at(end + 1) &&
         is_digit_at(end + 2) && is_digit_at(end + 3) && !is_digit_at(end + 4)) {
    end += 4;
  }
  return end;
}

/// Without the separators of its thousands; unchanged where there are none, and where `1,234` may be a fraction.
static std::string without_groups(std::string_view text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const std::size_t head = std::min(text.find_first_not_of("0123456789", sign), text.size());
  const std::string_view rest = text.substr(head);
  const std::size_t length = head == sign || head > sign + 3 ? 0 : length_of_groups(rest);
  if (length == 0 || (length == 4 && rest.front() == ',' && rest.substr(length, 1) != ".")) return std::string(text);
  std::string plain(text.substr(0, head));
  for (std::size_t i = 0; i < length; i += 4) plain += rest.substr(i + 1, 3);
  return plain.append(rest.substr(length));
}

/// How long the exponent is that follows a number: 3 of `e-5`.
static std::size_t length_of_exponent(std::string_view number, std::string_view rest) {
  if (number.empty() || std::isdigit(static_cast<unsigned char>(number.back())) == 0) return 0;
  if (!rest.starts_with('e') && !rest.starts_with('E')) return 0;
  const std::size_t sign = rest.substr(1, 1) == "+" || rest.substr(1, 1) == "-" ? 1 : 0;
  const std::size_t end = std::min(rest.find_first_not_of("0123456789", 1 + sign), rest.size());
  const bool ends = end == rest.size() || std::isalnum(static_cast<unsigned char>(rest[end])) == 0;
  return end > 1 + sign && ends ? end : 0;
}

std::string_view whole_number(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::string_view kDigits = "0123456789";
  const std::string_view number = text.substr(begin, end - begin);
  const std::size_t sign = number.starts_with('-') || number.starts_with('+') ? 1 : 0;
  const bool is_whole = number.size() > sign && number.find_first_not_of(kDigits, sign) == std::string_view::npos;
  const std::string_view rest = text.substr(end);
  const bool is_cut = (rest.starts_with(',') || rest.starts_with('_')) && rest.substr(1).find_first_of(kDigits) == 0;
  if (!is_whole || !is_cut) return text.substr(begin, end + length_of_exponent(number, rest) - begin);
  const std::size_t stop = std::min(text.find_first_not_of("0123456789,._", end), text.size());
  return text.substr(begin, text.find_last_of(kDigits, stop - 1) + 1 - begin);
}

std::optional<double> parse_metric_number(std::string_view written) {
  if (written.starts_with('+') && !written.starts_with("+-")) written.remove_prefix(1);
  const bool may_have_groups = written.find_first_of(",_") != std::string_view::npos;
  const std::string plain = may_have_groups ? without_groups(written) : "";
  std::string_view text = may_have_groups ? plain : written;
  double number = 0;
  auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string with_e;  // Fortran's exponent is a D, behind a point: `3d7` is no number
  const auto stop = static_cast<std::size_t>(read.ptr - text.data());
  if (read.ec == std::errc() && stop < text.size() && (text[stop] == 'D' || text[stop] == 'd') &&
      text.substr(0, stop).find('.') != std::string_view::npos) {
    with_e = text;
    with_e[stop] = 'e';
    text = with_e;
    read = std::from_chars(text.data(), text.data() + text.size(), number);
  }
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::vector<std::string> expand_glob(const std::string& pattern, const std::string& folder, const std::string& workdir) {
  if (pattern.starts_with('/')) return glob_files(pattern);
  std::vector<std::string> files = glob_files(glob_escaped(folder) + '/' + pattern);
  if (files.empty() && !workdir.empty()) files = glob_files(glob_escaped(workdir) + '/' + pattern);
  return files;
}

}  // namespace hpcbench

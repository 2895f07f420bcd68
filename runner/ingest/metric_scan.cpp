#include "ingest/metric_scan.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/glob.hpp"
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

}  // namespace

struct MetricScanner::Impl {
  explicit Impl(const Metric& metric) : spec(metric), pattern("(?m)" + metric.selector, pattern_options()), taker(metric) {
    if (!pattern.ok()) return;
    const auto& names = pattern.NamedCapturingGroups();
    const auto named = names.find(spec.name);
    if (const auto found = names.find(spec.index); found != names.end()) index_group = found->second;
    const int first = index_group == 1 ? 2 : 1;
    group = named != names.end() ? named->second : std::min(first, pattern.NumberOfCapturingGroups());
    groups.resize(static_cast<std::size_t>(std::max(group, index_group)) + 1);
  }

  bool take_match() {
    const auto text_of = [&](int which) {
      const re2::StringPiece& text = groups[static_cast<std::size_t>(which)];
      std::string_view taken(text.data() == nullptr ? "" : text.data(), text.size());
      if (taken.ends_with('\r')) taken.remove_suffix(1);  // `(.*)` takes all of a line, and its end is CR LF
      return taken;
    };
    if (groups[static_cast<std::size_t>(group)].data() == nullptr) return false;
    if (index_group == 0) return taker.take_text(text_of(group));
    return taker.take_text(text_of(group), text_of(index_group));
  }

  Metric spec;
  RE2 pattern;
  int group = 0;
  int index_group = 0;  // 0: none
  std::vector<re2::StringPiece> groups;
  MatchTaker taker;
};

MetricScanner::MetricScanner(const Metric& spec) : impl_(std::make_unique<Impl>(spec)) {}

MetricScanner::~MetricScanner() = default;

std::optional<std::string> MetricScanner::error() const {
  return impl_->pattern.ok() ? std::nullopt : std::optional(impl_->pattern.error());
}

MetricMatches MetricScanner::finish() { return impl_->taker.finish(); }

std::optional<std::size_t> MetricScanner::feed(std::string_view text) {
  std::optional<std::size_t> last;
  if (!impl_->pattern.ok()) return last;
  const re2::StringPiece whole(text.data(), text.size());
  std::size_t from = 0;
  auto& groups = impl_->groups;
  while (from <= whole.size() &&
         impl_->pattern.Match(whole, from, whole.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
    if (impl_->take_match())
      last = static_cast<std::size_t>(groups[static_cast<std::size_t>(impl_->group)].data() - whole.data());
    const auto end = static_cast<std::size_t>(groups[0].data() - whole.data()) + groups[0].size();
    // An empty match must not be found again.
    from = groups[0].empty() ? end + 1 : end;
  }
  return last;
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
    if (const auto match = scanner_.feed(piece)) {
      const auto end = piece.begin() + static_cast<std::ptrdiff_t>(*match);
      place_ = file_ + ':' + std::to_string(lines_ + 1 + std::count(piece.begin(), end, '\n'));
    }
    lines_ += std::count(piece.begin(), piece.end(), '\n');
  }

  MetricMatches finish() override {
    MetricMatches matches = scanner_.finish();
    matches.place = place_;
    return matches;
  }

 private:
  void begin_file() override { lines_ = 0; }

  MetricScanner scanner_;
  long long lines_ = 0;  // before the next piece
  std::string place_;
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

std::optional<double> parse_metric_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
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

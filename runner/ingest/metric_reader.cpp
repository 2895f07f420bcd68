#include "ingest/metric_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "base/text.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/metric_scan.hpp"
#include "ingest/preamble.hpp"
#include "ingest/unpacked_file.hpp"
#include "ingest/yaml_json.hpp"

namespace hpcbench {

namespace {

constexpr long long kWarningsPerFile = 10;
constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr double kLargestIndex = 9e15;  // doubles are whole numbers up to 2^53
constexpr std::size_t kLongestWord = 200;

bool is_json_name(std::string_view name) {
  return unpacked_name(name).ends_with(".json") || unpacked_name(name).ends_with(".jsonl");
}
bool is_document_name(std::string_view name) { return is_json_name(name) || is_yaml_name(unpacked_name(name)); }
bool is_csv_name(std::string_view name) {
  return unpacked_name(name).ends_with(".csv") || unpacked_name(name).ends_with(".tsv");
}
bool is_tensorboard_name(std::string_view name) { return name.find("tfevents") != std::string_view::npos; }

/// Names the values whose index occurs again.
void explain_repeats(const Metric& spec, MetricMatches& matches) {
  const Repeats& repeats = matches.repeats;
  if (repeats.periods > 0) {
    const std::string at = matches.first_back_at.empty() ? "" : " at " + matches.first_back_at;
    matches.warnings.push_back(fmt::format(
        "`{}` begins again {}, first from {}{}, as steps of epochs do: all values count, and the series continues its numbers; "
        "if these are several runs in one file, cut it and import each",
        spec.index.empty() ? "step" : printable(spec.index), counted(repeats.periods, "time", "times"), matches.first_back,
        at));
  }
  if (repeats.left_out == 0) return;
  const long long counted_ones = matches.count - repeats.left_out;
  // The line of the value is that of the last copy or unknown.
  const bool may_be_another = spec.take == "first" || spec.take == "min" || spec.take == "max";
  if (may_be_another && matches.value) matches.place.resize(std::min(matches.place.rfind(':'), matches.place.size()));
  if (repeats.are_copies) {
    matches.warnings.push_back(
        fmt::format("its {} values are {} values that stand there several times with one index: each counts once",
                    matches.count, counted_ones));
    return;
  }
  const std::string at = matches.first_back_at.empty() ? "" : " at " + matches.first_back_at;
  matches.warnings.push_back(fmt::format("`{}` goes back {}, first from {}{}: {} not count, since {} again{}",
                                         spec.index.empty() ? "step" : printable(spec.index),
                                         counted(matches.steps_back, "time", "times"), matches.first_back, at,
                                         counted(repeats.left_out, "earlier value does", "earlier values do"),
                                         repeats.left_out == 1 ? "its index occurs" : "their indexes occur",
                                         spec.index.empty() ? "" : "; `take` of a metric without `index` is of all"));
}

/// What `take` and `skip` made of the values, where a person would wonder.
void explain_take(const Metric& spec, const std::vector<std::string>& files, bool readable, MetricMatches& matches) {
  if (matches.value && (spec.take != "last" || matches.declared_absent > 0)) {
    const std::string absent = matches.declared_absent > 0 ? fmt::format(", {} absent", matches.declared_absent) : "";
    matches.place =
        fmt::format("{} ({} of {}{})", matches.place, spec.take, counted(matches.chosen_from, "value", "values"), absent);
  } else if (matches.count > 0 && matches.chosen_from == 0) {
    matches.warnings.push_back(fmt::format("{} value{} there, and `skip: {}` leaves none", matches.count,
                                           matches.count == 1 ? " is" : "s are", spec.skip));
  } else if (matches.count > 0 && !matches.value && matches.not_finite == 0) {
    matches.warnings.push_back(fmt::format("the {} of {} values is no finite number", spec.take, matches.chosen_from));
  } else if (spec.take != "count" && matches.count == 0 && matches.left_out > 0 &&
             matches.not_numbers + matches.not_finite == 0) {
    matches.warnings.push_back(fmt::format("{} value{} there, and `where` ({}) leaves none", matches.left_out,
                                           matches.left_out == 1 ? " is" : "s are", printable(describe_where(spec.where))));
  } else if (matches.count == 0 && matches.absent > 0 && matches.not_numbers + matches.not_finite == 0) {
    matches.warnings.push_back(fmt::format("all of its {} absent, the first `{}`",
                                           matches.absent == 1 ? "1 value is" : fmt::format("{} values are", matches.absent),
                                           matches.first_absent));
  } else if (spec.take == "count" && matches.count == 0 && readable && !files.empty() && matches.warnings.empty()) {
    matches.value = 0;  // the files are there, whole, and hold none
    matches.place = fmt::format("{} (none there)", files.back());
  }
}

bool is_text_name(std::string_view name) { return !is_json_name(name) && !is_csv_name(name) && !is_tensorboard_name(name); }

}  // namespace

std::string tell_not_numbers(const MetricMatches& matches) {
  std::string text =
      fmt::format("{}, the first `{}`", counted(matches.not_numbers, "match is no number", "matches are no numbers"),
                  matches.first_not_number);
  if (!matches.first_not_number_at.empty()) text += " at " + matches.first_not_number_at;
  return matches.why_not_number.empty() ? text : text + ": " + matches.why_not_number;
}

bool came_out_nan(const MetricMatches& matches) {
  return matches.ends_not_finite || (!matches.value && matches.not_finite > 0);
}

std::string tell_not_finite(const MetricMatches& matches) {
  if (matches.not_finite == 0) return "";
  const long long all = matches.count + matches.not_finite;
  std::string text = fmt::format("{} of {} not finite, the first is `{}` at {}", matches.not_finite,
                                 all == 1 ? "1 value is" : fmt::format("{} values are", all), matches.first_not_finite,
                                 matches.first_not_finite_at);
  if (matches.not_finite > 1 && matches.ends_not_finite) text += "; the last value is one of them";
  return text;
}

bool may_have_words(const Metric& spec) { return spec.series && *spec.series != "epoch" && *spec.series != "step"; }

namespace {

/// Whether the value changes where all values stand twice.
bool is_of_all(Take::Kind kind) {
  return kind == Take::Kind::sum || kind == Take::Kind::mean || kind == Take::Kind::count || kind == Take::Kind::quantile;
}

}  // namespace

DeclaredAbsent::DeclaredAbsent(const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    if (const std::optional<double> number = parse_plain_number(value)) numbers_.push_back(*number);
    texts_.push_back(lower_case(value));
  }
}

bool DeclaredAbsent::names(const WrittenNumber& number, std::string_view text) const {
  if (number.kind == WrittenNumber::Kind::number)
    return std::find(numbers_.begin(), numbers_.end(), number.value) != numbers_.end();
  return !texts_.empty() && std::find(texts_.begin(), texts_.end(), lower_case(std::string(trim(text)))) != texts_.end();
}

MatchTaker::MatchTaker(const Metric& spec)
    : name_(spec.name),
      series_(spec.series),
      words_allowed_(may_have_words(spec)),
      declared_absent_(spec.absent),
      taken_(parse_take(spec.take).value_or(Take()), spec.skip),
      numbers_(spec.unit.empty() ? unit_in_name(spec.name) : spec.unit, spec.decimal),
      counts_all_(spec.series || is_of_all(parse_take(spec.take).value_or(Take()).kind)) {}

void MatchTaker::take_absent(std::string_view text) {
  if (matches_.absent++ == 0) matches_.first_absent = printable(trim(text.substr(0, 60)));
}

void MatchTaker::count(double value) {
  if (!matches_.first) matches_.first = value;
  matches_.last = value;
  ++matches_.count;
  matches_.ends_not_finite = false;
}

bool MatchTaker::take(double value, std::optional<double> index) {
  if (declared_absent_.names({WrittenNumber::Kind::number, value}, {})) {
    ++matches_.declared_absent;
    take_absent(fmt::format("{}", value));
    return false;
  }
  const bool chosen = choose(value, index);
  count(value);
  if (!series_) return chosen;
  indexed_ = indexed_ || index.has_value();
  const bool usable = index && std::abs(*index) < kLargestIndex;
  keep({name_, usable ? static_cast<long long>(std::ceil(*index)) : matches_.count, value, {}});
  return chosen;
}

bool MatchTaker::choose(double value, std::optional<double> index) {
  if (!index) {
    if (counts_all_ && plain_.size() < kMostPoints) plain_.push_back(value);
    return taken_.add(value);
  }
  if (last_index_ && *index < *last_index_ && ++matches_.steps_back == 1)
    matches_.first_back = fmt::format("{} to {}", *last_index_, *index);
  last_index_ = index;
  return taken_.add(value, *index, false);
}

void MatchTaker::check_doubled() {
  constexpr std::size_t kFewest = 6, kFewestValues = 3;
  const auto half = static_cast<std::ptrdiff_t>(plain_.size() / 2);
  if (plain_.size() < kFewest || plain_.size() % 2 != 0 || matches_.count != static_cast<long long>(plain_.size())) return;
  const std::set<double> values(plain_.begin(), plain_.end());
  bool in_pairs = values.size() >= kFewestValues;
  const bool all_again = in_pairs && std::equal(plain_.begin(), plain_.begin() + half, plain_.begin() + half);
  for (std::size_t i = 0; in_pairs && i < plain_.size(); i += 2) in_pairs = plain_[i] == plain_[i + 1];
  if (!all_again && !in_pairs) return;
  matches_.warnings.push_back(fmt::format(
      "its {} values are {} values twice, {}, and all of them count: with an `index` and a `series` each counts once",
      plain_.size(), plain_.size() / 2, all_again ? "all of them again at the end" : "each of them again at once"));
}

long long MatchTaker::number_of_word(std::string_view word) {
  const auto known = words_.find(word);
  if (known != words_.end()) return known->second;
  const long long number = static_cast<long long>(words_.size()) + 1;
  if (words_.size() < kMostPoints) words_.emplace(word, number);
  return number;
}

void MatchTaker::keep(SeriesPoint point) {
  if ((matches_.count - 1) % stride_ != 0) {
    left_out_ = std::move(point);
    return;
  }
  left_out_.reset();
  std::vector<SeriesPoint>& kept = matches_.series;
  kept.push_back(std::move(point));
  if (kept.size() < kMostPoints) return;
  for (std::size_t i = 0; 2 * i < kept.size(); ++i) kept[i] = kept[2 * i];
  left_out_ = kept.back();
  kept.resize(kMostPoints / 2);
  stride_ *= 2;
}

bool MatchTaker::take_text(std::string_view text, std::optional<std::string_view> index) {
  return take_number(numbers_.read(text), text, index);
}

bool MatchTaker::take_number(const WrittenNumber& read, std::string_view text, std::optional<std::string_view> index) {
  using Kind = WrittenNumber::Kind;
  if (declared_absent_.names(read, text)) {
    ++matches_.declared_absent;
    take_absent(text);
    return false;
  }
  const std::optional<double> number = read.kind == Kind::number ? std::optional(read.value) : std::nullopt;
  const std::optional<double> numbered = number && index ? numbers_.read_index(*index) : std::nullopt;
  if (number && index && !numbered) {
    const std::string word = printable(index->substr(0, kLongestWord));
    if (!words_allowed_ || word.empty()) {
      take_no_number(*index);
      return false;
    }
    const long long of_word = number_of_word(word);
    const bool chosen = taken_.add(*number, static_cast<double>(of_word), true);
    count(*number);
    indexed_ = true;
    keep({name_, of_word, *number, word});
    return chosen;
  }
  if (number) return take(*number, numbered);
  if (taken_.add_text()) {
    ++matches_.count;
    return true;
  }
  if (read.kind == Kind::not_finite) {
    take_not_finite(text);
  } else if (read.kind == Kind::absent) {
    take_absent(text);
  } else {
    take_no_number(text, read.why);
  }
  return false;
}

void MatchTaker::take_not_finite(std::string_view text) {
  if (declared_absent_.names({WrittenNumber::Kind::not_finite}, text)) {
    ++matches_.declared_absent;
    take_absent(text);
    return;
  }
  taken_.add_not_finite();
  matches_.ends_not_finite = true;
  if (matches_.not_finite++ == 0) matches_.first_not_finite = printable(text.substr(0, 60));
}

void MatchTaker::take_no_number(std::string_view text, std::string_view why) {
  if (matches_.not_numbers++ > 0) return;
  matches_.first_not_number = printable(text.substr(0, 60));
  matches_.why_not_number = printable(why);
}

namespace {

/// Adds `period` to the index each time that it goes back.
void continue_index(std::vector<SeriesPoint>& points, double period) {
  long long added = 0, before = 0;
  for (SeriesPoint& point : points) {
    const long long index = point.index;
    if (&point != &points.front() && index < before) added += std::llround(period);
    before = index;
    point.index += added;
  }
}

}  // namespace

MetricMatches MatchTaker::finish() {
  std::vector<SeriesPoint>& kept = matches_.series;
  if (left_out_) kept.push_back(*std::exchange(left_out_, std::nullopt));
  matches_.repeats = taken_.leave_out_repeats();
  if (matches_.repeats.periods > 0) continue_index(kept, matches_.repeats.period);
  if (indexed_) {
    const auto place = [](const SeriesPoint& point) { return std::make_pair(!point.word.empty(), point.index); };
    std::stable_sort(kept.begin(), kept.end(), [&](const SeriesPoint& a, const SeriesPoint& b) { return place(a) < place(b); });
    std::size_t used = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (i + 1 < kept.size() && place(kept[i + 1]) == place(kept[i])) continue;
      if (used != i) kept[used] = std::move(kept[i]);
      ++used;
    }
    kept.resize(used);
  }
  check_doubled();
  matches_.value = taken_.value();
  matches_.chosen_from = taken_.chosen_from();
  if (matches_.unit.empty() && numbers_.has_found_unit()) matches_.unit = numbers_.unit();
  if (taken_.stride() > 1)
    matches_.warnings.push_back(fmt::format("the quantile is that of one in {} values: there are too many", taken_.stride()));
  return std::move(matches_);
}

void MetricReader::begin(const std::string& file, FindMark find_mark) {
  file_ = file;
  find_mark_ = std::move(find_mark);
  warnings_ = 0;
  taker_.numbers().begin_file({});
  begin_file();
}

void MetricReader::end() {
  end_file();
  if (warnings_ > kWarningsPerFile) {
    taker_.matches().warnings.push_back(fmt::format("{}: {} more like these", file_, warnings_ - kWarningsPerFile));
  }
}

void MetricReader::found_at(const std::string& place, bool chosen) {
  MetricMatches& matches = taker_.matches();
  if (chosen) matches.place = place;
  if (matches.steps_back > 0 && matches.first_back_at.empty()) matches.first_back_at = place;
  if (matches.not_finite > 0 && matches.first_not_finite_at.empty()) matches.first_not_finite_at = place;
  if (matches.not_numbers > 0 && matches.first_not_number_at.empty()) matches.first_not_number_at = place;
}

void MetricReader::found_at_line(long long line, bool chosen) { found_at(fmt::format("{}:{}", file_, line), chosen); }
void MetricReader::found_at_byte(long long byte, bool chosen) { found_at(fmt::format("{}: byte {}", file_, byte), chosen); }

void MetricReader::warn_at_line(long long line, std::string_view text) { warn(fmt::format("{}:{}: {}", file_, line, text)); }

void MetricReader::warn_at_byte(long long byte, std::string_view text) {
  warn(fmt::format("{}: byte {}: {}", file_, byte, text));
}

void MetricReader::warn(const std::string& text) {
  if (++warnings_ <= kWarningsPerFile) taker_.matches().warnings.push_back(printable(text));
}

const std::vector<MetricSource>& metric_sources() {
  static const std::vector<MetricSource> kSources = {
      {"pattern", "a regular expression over any text", make_pattern_reader, is_text_name},
      {"column", "a column of a CSV file with a header", make_column_reader, is_csv_name},
      {"pointer", "a JSON pointer into a document of JSON or YAML, or JSON lines", make_pointer_reader, is_document_name},
      {"tag", "a tag of TensorBoard event files", make_tag_reader, is_tensorboard_name},
      {"time", "what bash's and GNU's `time` print", make_time_reader, is_text_name},
      {"accounting", "a field of `sacct -P` output", make_accounting_reader, is_text_name},
  };
  return kSources;
}

const MetricSource* find_metric_source(std::string_view key) {
  for (const MetricSource& source : metric_sources()) {
    if (source.key == key) return &source;
  }
  return nullptr;
}

namespace {

/// Files through the adapter of one metric, which sees of each what stands from its `header` on.
class SourceReader {
 public:
  explicit SourceReader(const Metric& spec) : spec_(spec), preamble_(spec) {
    const MetricSource* source = find_metric_source(spec.source);
    if (source == nullptr) {
      error_ = fmt::format("not a source of metrics: {}", printable(spec.source));
      return;
    }
    reader_ = source->make(spec);
    error_ = reader_->error();
    if (!error_) error_ = preamble_.error();
  }

  const std::optional<std::string>& error() const { return error_; }

  void begin(const std::string& name, MetricReader::FindMark find_mark) {
    name_ = name;
    reader_->begin(name, std::move(find_mark));
    preamble_.begin();
  }
  void feed(std::string_view piece) { preamble_.feed(piece, give_); }
  /// `problem`: why the file could not be read to its end.
  void end(const std::optional<std::string>& problem = std::nullopt) {
    preamble_.end(give_);
    reader_->end();
    const std::optional<std::string> why = problem ? problem : preamble_.missing();
    if (why) unread_.push_back(fmt::format("{}: {}", name_, *why));
  }

  MetricMatches finish(const std::vector<std::string>& names) {
    MetricMatches matches = reader_->finish();
    explain_repeats(spec_, matches);
    explain_take(spec_, names, unread_.empty(), matches);
    std::move(unread_.begin(), unread_.end(), std::back_inserter(matches.warnings));
    return matches;
  }

 private:
  const Metric spec_;
  Preamble preamble_;
  std::unique_ptr<MetricReader> reader_;
  const Preamble::Take give_ = [this](std::string_view piece) { reader_->feed(piece); };
  std::optional<std::string> error_;
  std::string name_;
  std::vector<std::string> unread_;  // files, and why they gave nothing
};

}  // namespace

MetricMatches read_metric(const Metric& spec, const std::vector<std::string>& files, const std::vector<std::string>& names) {
  SourceReader reader(spec);
  MetricMatches failed;
  if (reader.error()) {
    failed.warnings.push_back(*reader.error());
    return failed;
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    reader.begin(names[i], [&](MarkEvidence evidence) {
      read_lines(files[i], [&](std::string_view piece) {
        evidence.add(piece);
        return true;
      });
      return evidence.mark();
    });
    const auto problem = read_lines(files[i], [&](std::string_view piece) {
      reader.feed(piece);
      return true;
    });
    reader.end(problem);
  }
  return reader.finish(names);
}

MetricMatches read_metric_text(const Metric& spec, std::string_view text, const std::string& file) {
  SourceReader reader(spec);
  if (reader.error()) return {};
  reader.begin(file, [&](MarkEvidence evidence) {
    evidence.add(text);
    return evidence.mark();
  });
  reader.feed(text);
  reader.end();
  return reader.finish({file});
}

void LineSplitter::feed(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t newline = piece.find('\n');
    const std::string_view part = piece.substr(0, newline);
    const bool whole = newline != std::string_view::npos;
    if (whole && pending_.empty()) {
      give(part);
    } else {
      pending_.append(part.substr(0, kLongestLine - std::min(kLongestLine, pending_.size())));
      if (whole) {
        give(pending_);
        pending_.clear();
      }
    }
    piece.remove_prefix(whole ? newline + 1 : piece.size());
  }
}

void LineSplitter::finish() {
  if (!pending_.empty()) give(pending_);
  pending_.clear();
  number_ = 0;
}

void LineSplitter::give(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  take_(line.substr(0, kLongestLine), ++number_);
}

}  // namespace hpcbench

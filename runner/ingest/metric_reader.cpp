#include "ingest/metric_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/metric_scan.hpp"

namespace hpcbench {

namespace {

constexpr long long kWarningsPerFile = 10;
constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr double kLargestIndex = 9e15;  // doubles are whole numbers up to 2^53

/// `metrics.csv.gz` is CSV: files are unpacked while they are read.
std::string_view unpacked_name(std::string_view name) {
  for (const std::string_view ending : {".gz", ".zst"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

bool is_json_name(std::string_view name) {
  return unpacked_name(name).ends_with(".json") || unpacked_name(name).ends_with(".jsonl");
}
bool is_csv_name(std::string_view name) { return unpacked_name(name).ends_with(".csv"); }
bool is_tensorboard_name(std::string_view name) { return name.find("tfevents") != std::string_view::npos; }
/// What `take` and `skip` made of the values, where a person would wonder.
void explain_take(const Metric& spec, const std::vector<std::string>& files, bool readable, MetricMatches& matches) {
  if (matches.value && spec.take != "last") {
    matches.place = fmt::format("{} ({} of {} value{})", matches.place, spec.take, matches.chosen_from,
                                matches.chosen_from == 1 ? "" : "s");
  } else if (matches.count > 0 && matches.chosen_from == 0) {
    matches.warnings.push_back(fmt::format("{} value{} there, and `skip: {}` leaves none", matches.count,
                                           matches.count == 1 ? " is" : "s are", spec.skip));
  } else if (matches.count > 0 && !matches.value) {
    matches.warnings.push_back(fmt::format("the {} of {} values is no finite number", spec.take, matches.chosen_from));
  } else if (spec.take == "count" && matches.count == 0 && readable && !files.empty() && matches.warnings.empty()) {
    matches.value = 0;  // the files are there, whole, and hold none
    matches.place = fmt::format("{} (none there)", files.back());
  }
}

bool is_text_name(std::string_view name) { return !is_json_name(name) && !is_csv_name(name) && !is_tensorboard_name(name); }

}  // namespace

MatchTaker::MatchTaker(const Metric& spec)
    : name_(spec.name), series_(spec.series), taken_(parse_take(spec.take).value_or(Take()), spec.skip) {}

void MatchTaker::take(double value, std::optional<double> index) {
  taken_.add(value);
  ++matches_.count;
  if (!series_) return;
  indexed_ = indexed_ || index.has_value();
  const bool usable = index && std::abs(*index) < kLargestIndex;
  SeriesPoint point{name_, usable ? static_cast<long long>(std::ceil(*index)) : matches_.count, value};
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

bool MatchTaker::take_text(std::string_view text, std::optional<double> index) {
  const std::optional<double> number = parse_metric_number(text);
  if (number) {
    take(*number, index);
  } else if (taken_.add_text()) {
    ++matches_.count;
    return true;
  } else if (matches_.not_numbers++ == 0) {
    matches_.first_not_number = printable(text.substr(0, 60));
  }
  return number.has_value();
}

MetricMatches MatchTaker::finish() {
  std::vector<SeriesPoint>& kept = matches_.series;
  if (left_out_) kept.push_back(*std::exchange(left_out_, std::nullopt));
  if (indexed_) {
    std::stable_sort(kept.begin(), kept.end(), [](const SeriesPoint& a, const SeriesPoint& b) { return a.index < b.index; });
    std::size_t used = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (i + 1 < kept.size() && kept[i + 1].index == kept[i].index) continue;
      if (used != i) kept[used] = std::move(kept[i]);
      ++used;
    }
    kept.resize(used);
  }
  matches_.value = taken_.value();
  matches_.chosen_from = taken_.chosen_from();
  if (taken_.stride() > 1)
    matches_.warnings.push_back(fmt::format("the quantile is that of one in {} values: there are too many", taken_.stride()));
  return std::move(matches_);
}

void MetricReader::begin(const std::string& file) {
  file_ = file;
  warnings_ = 0;
  begin_file();
}

void MetricReader::end() {
  end_file();
  if (warnings_ > kWarningsPerFile) {
    taker_.matches().warnings.push_back(fmt::format("{}: {} more like these", file_, warnings_ - kWarningsPerFile));
  }
}

void MetricReader::found_at_line(long long line) { taker_.matches().place = fmt::format("{}:{}", file_, line); }
void MetricReader::found_at_byte(long long byte) { taker_.matches().place = fmt::format("{}: byte {}", file_, byte); }

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
      {"pointer", "a JSON pointer into a document or JSON lines", make_pointer_reader, is_json_name},
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

MetricMatches read_metric(const Metric& spec, const std::vector<std::string>& files, const std::vector<std::string>& names) {
  const MetricSource* source = find_metric_source(spec.source);
  MetricMatches failed;
  if (source == nullptr) {
    failed.warnings.push_back(fmt::format("not a source of metrics: {}", printable(spec.source)));
    return failed;
  }
  const std::unique_ptr<MetricReader> reader = source->make(spec);
  if (const std::optional<std::string> error = reader->error()) {
    failed.warnings.push_back(*error);
    return failed;
  }
  std::vector<std::string> unreadable;
  for (std::size_t i = 0; i < files.size(); ++i) {
    reader->begin(names[i]);
    const auto problem = read_lines(files[i], [&](std::string_view piece) {
      reader->feed(piece);
      return true;
    });
    reader->end();
    if (problem) unreadable.push_back(fmt::format("{}: {}", names[i], *problem));
  }
  MetricMatches matches = reader->finish();
  explain_take(spec, names, unreadable.empty(), matches);
  std::move(unreadable.begin(), unreadable.end(), std::back_inserter(matches.warnings));
  return matches;
}

MetricMatches read_metric_text(const Metric& spec, std::string_view text, const std::string& file) {
  const MetricSource* source = find_metric_source(spec.source);
  if (source == nullptr) return {};
  const std::unique_ptr<MetricReader> reader = source->make(spec);
  if (reader->error()) return {};
  reader->begin(file);
  reader->feed(text);
  reader->end();
  return reader->finish();
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

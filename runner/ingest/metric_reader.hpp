#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/metric.hpp"
#include "base/series_point.hpp"
#include "base/written_number.hpp"
#include "ingest/attempt_record.hpp"
#include "ingest/taken_value.hpp"

namespace hpcbench {

/// What one metric's files gave so far.
struct MetricMatches {
  std::optional<double> value;      // the value that `take` chooses
  std::vector<SeriesPoint> series;  // all of them, by index; empty unless the metric is a series
  std::optional<double> first;      // the first and the last number, in the order of the file
  std::optional<double> last;
  long long count = 0;              // values that are numbers
  long long chosen_from = 0;        // of them those that `skip` left to `take`
  long long left_out = 0;           // values that `where` leaves out
  long long not_finite = 0;         // matches that are NaN or infinite; not among `not_numbers`
  bool ends_not_finite = false;     // the last match is one of them
  std::string first_not_finite;     // `nan`, and
  std::string first_not_finite_at;  // its place
  long long not_numbers = 0;
  std::string first_not_number;     // `1,234`, and
  std::string first_not_number_at;  // its place
  std::string why_not_number;       // what to do, if the reader knows
  long long absent = 0;             // matches such as `N/A` and `-`, and
  long long declared_absent = 0;    // of them those that the metric's `absent` names
  std::string first_absent;
  Repeats repeats;                    // values whose index occurs again
  long long steps_back = 0;           // numbers of an index that are below the one before
  std::string first_back;             // `60 to 50`, and
  std::string first_back_at;          // its place
  std::string unit;                   // that the file prints behind the numbers of a metric without one: `GB/s`
  std::string place;                  // of the value that was taken, else of the last: `metrics.csv:17 (max of 40 values)`
  std::vector<std::string> warnings;  // `metrics.csv:17: 3 cells under a header of 4`, ten a file, then their count
};

/// `3 matches are no numbers, the first `n/a` at train.log:18`: where there are such.
std::string tell_not_numbers(const MetricMatches& matches);

/// True where the run came out as NaN: its last match is NaN or infinite, or no finite match is left.
bool came_out_nan(const MetricMatches& matches);
/// `14 of 30 values are not finite, the first is `nan` at train.log:18; the last one, too`; empty where all are finite.
std::string tell_not_finite(const MetricMatches& matches);

/// Whether words may name the points of its series: epochs and steps are numbers.
bool may_have_words(const Metric& spec);

/// The values that the key `absent` of a metric names.
class DeclaredAbsent {
 public:
  explicit DeclaredAbsent(const std::vector<std::string>& values);
  /// Numbers compare by value, in the metric's unit; `text` is that of anything else.
  bool names(const WrittenNumber& number, std::string_view text) const;

 private:
  std::vector<double> numbers_;
  std::vector<std::string> texts_;  // in small letters
};

/// Keeps the values of one metric. A series of more than 65,536 points is thinned evenly, so that memory stays bounded; the
/// last point is always among them.
class MatchTaker {
 public:
  explicit MatchTaker(const Metric& spec);

  /// `index` absent: numbered from 1. One that is no whole number belongs to the next: epoch 0.5 to epoch 1. Whether it is
  /// what `take` chooses so far.
  bool take(double value, std::optional<double> index = std::nullopt);
  /// The same for a text that should be a number; false also if it is none. `take: count` counts it all the same. An index that
  /// is no number names its point, `Triad` or `128K`, where the series may have words; elsewhere it is no number.
  bool take_text(std::string_view text, std::optional<std::string_view> index = std::nullopt);
  /// The same for a text that `numbers()` has read.
  bool take_number(const WrittenNumber& number, std::string_view text, std::optional<std::string_view> index);
  /// NaN or an infinity in place of a number.
  void take_not_finite(std::string_view text);
  /// Text in place of a number, and what to do about it.
  void take_no_number(std::string_view text, std::string_view why = {});
  /// A value that `where` leaves out.
  void leave_out() { ++matches_.left_out; }
  /// Of several points of the series with one index the last stays.
  MetricMatches finish();
  MetricMatches& matches() { return matches_; }
  NumberReader& numbers() { return numbers_; }

 private:
  static constexpr std::size_t kMostPoints = 65'536;

  /// A warning where the values without an index are the same twice: one after the other, or all again.
  void check_doubled();

  void count(double value);
  void keep(SeriesPoint point);
  void take_absent(std::string_view text);
  /// Adds a value to those of which `take` chooses.
  bool choose(double value, std::optional<double> index);
  /// That of the word that stands for an index, from 1.
  long long number_of_word(std::string_view word);

  std::string name_;
  bool series_;
  bool words_allowed_;
  DeclaredAbsent declared_absent_;
  TakenValue taken_;
  NumberReader numbers_;
  bool indexed_ = false;
  std::optional<double> last_index_;
  bool counts_all_;            // of the take or the series: a value that stands twice changes it
  std::vector<double> plain_;  // the first values without an index
  std::map<std::string, long long, std::less<>> words_;
  long long stride_ = 1;
  std::optional<SeriesPoint> left_out_;  // the last point, if it was not kept
  MetricMatches matches_;
};

/// Finds the values of one metric in files: what stands behind each row of `metric_sources()`. Total: what is broken becomes a
/// warning with its place.
class MetricReader {
 public:
  explicit MetricReader(const Metric& spec) : spec_(spec), taker_(spec) {}
  virtual ~MetricReader() = default;
  MetricReader(const MetricReader&) = delete;
  MetricReader& operator=(const MetricReader&) = delete;

  /// Why the selector cannot be used, or nothing.
  virtual std::optional<std::string> error() const { return std::nullopt; }
  /// Finds the decimal mark of the file that is being read.
  using FindMark = std::function<DecimalMark(MarkEvidence)>;
  /// One file after the other: its name in messages, its bytes cut anywhere, its end.
  void begin(const std::string& file, FindMark find_mark = {});
  virtual void feed(std::string_view piece) = 0;
  void end();
  virtual MetricMatches finish() { return taker_.finish(); }

 protected:
  virtual void begin_file() {}
  virtual void end_file() {}
  /// Notes the place of a match that `take` chooses so far (`chosen`), and of the first ones that are not finite or no numbers.
  void found_at_line(long long line, bool chosen);
  void found_at_byte(long long byte, bool chosen);
  void warn_at_line(long long line, std::string_view text);
  void warn_at_byte(long long byte, std::string_view text);
  void warn(const std::string& text);
  void found_at(const std::string& place, bool chosen);

  const Metric spec_;
  MatchTaker taker_;
  std::string file_;
  FindMark find_mark_;

 private:
  long long warnings_ = 0;  // of this file
};

/// One source of numbers: the key of `metrics` that names it, and its adapter.
struct MetricSource {
  std::string key;
  std::string description;
  std::unique_ptr<MetricReader> (*make)(const Metric& spec);
  bool (*is_usual_file)(std::string_view name);  // the files that an import reads where no name matches
};
const std::vector<MetricSource>& metric_sources();
/// Null for any other key.
const MetricSource* find_metric_source(std::string_view key);

// The adapters, one file each.
std::unique_ptr<MetricReader> make_pattern_reader(const Metric& spec);     // metric_scan.cpp
std::unique_ptr<MetricReader> make_column_reader(const Metric& spec);      // column_source.cpp
std::unique_ptr<MetricReader> make_pointer_reader(const Metric& spec);     // pointer_source.cpp
std::unique_ptr<MetricReader> make_tag_reader(const Metric& spec);         // tag_source.cpp
std::unique_ptr<MetricReader> make_time_reader(const Metric& spec);        // time_source.cpp
std::unique_ptr<MetricReader> make_accounting_reader(const Metric& spec);  // accounting_source.cpp

/// Reads files through an adapter. `names[i]` is what messages call `files[i]`.
MetricMatches read_metric(const Metric& spec, const std::vector<std::string>& files, const std::vector<std::string>& names);
/// The same for one text.
MetricMatches read_metric_text(const Metric& spec, std::string_view text, const std::string& file);

/// Lines of a text that comes in pieces cut anywhere. Of a line longer than 1 MiB the beginning stands for it.
class LineSplitter {
 public:
  using Take = std::function<void(std::string_view line, long long number)>;
  explicit LineSplitter(Take take) : take_(std::move(take)) {}
  void feed(std::string_view piece);
  void finish();  // the last line needs no newline

 private:
  void give(std::string_view line);

  Take take_;
  std::string pending_;
  long long number_ = 0;
};

}  // namespace hpcbench

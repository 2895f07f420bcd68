#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "base/written_number.hpp"
#include "ingest/metric_reader.hpp"

namespace hpcbench {

namespace {

constexpr double kKibibyte = 1024;

/// bash writes the decimal sign of the user's language.
std::string with_points(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), ',', '.');
  return out;
}

/// `2m30.513s`, `1:02:03`, `2:42.64`, or plain seconds.
std::optional<double> seconds_of(std::string_view text) {
  const WrittenNumber number = read_written_number(with_points(text), DecimalMark::point);
  const bool is_time = number.kind == WrittenNumber::Kind::number && (number.unit.empty() || number.seconds);
  if (!is_time || number.value < 0) return std::nullopt;
  return number.seconds.value_or(number.value);
}

/// `real<TAB>2m30.513s` of bash, `real 150.51` of POSIX.
std::optional<double> word_and_time(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return std::nullopt;
  line.remove_prefix(word.size());
  if (line.empty() || (line.front() != ' ' && line.front() != '\t')) return std::nullopt;
  return seconds_of(line);
}

/// `150.51user 10.61system 2:42.64elapsed 99%CPU (0avgtext+0avgdata 5678maxresident)k` of GNU.
std::optional<double> number_before(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  // The words stand in other lines, too: those of GNU name all of them.
  if (at == std::string_view::npos || (line.find("elapsed") == std::string_view::npos && !word.starts_with("maxresident"))) {
    return std::nullopt;
  }
  std::size_t begin = at;
  while (begin > 0 && std::string_view("0123456789:.,").find(line[begin - 1]) != std::string_view::npos) --begin;
  return begin == at ? std::nullopt : seconds_of(line.substr(begin, at - begin));
}

/// `User time (seconds): 150.51` of GNU -v.
std::optional<double> number_after(std::string_view line, std::string_view words) {
  line = trim(line);
  return line.starts_with(words) ? seconds_of(line.substr(words.size())) : std::nullopt;
}

struct TimeWords {
  std::string_view name;   // in the experiment file
  std::string_view plain;  // of bash and POSIX; empty: they do not print it
  std::string_view brief;  // of GNU
  std::string_view verbose;
  double factor;
};

constexpr std::array<TimeWords, 4> kTimeWords = {{
    {"real", "real", "elapsed", "Elapsed (wall clock) time (h:mm:ss or m:ss):", 1},
    {"user", "user", "user", "User time (seconds):", 1},
    {"sys", "sys", "system", "System time (seconds):", 1},
    {"max_rss", "", "maxresident)k", "Maximum resident set size (kbytes):", kKibibyte},
}};

/// One of the times that bash's and GNU's `time` print.
class TimeReader : public MetricReader {
 public:
  explicit TimeReader(const Metric& spec)
      : MetricReader(spec), lines_([this](std::string_view line, long long number) { take_line(line, number); }) {
    for (const TimeWords& words : kTimeWords) {
      if (words.name == spec.selector) words_ = &words;
    }
  }

  std::optional<std::string> error() const override {
    return words_ != nullptr ? std::nullopt : std::optional("`time` prints no " + spec_.selector);
  }
  void feed(std::string_view piece) override { lines_.feed(piece); }

 private:
  void end_file() override { lines_.finish(); }

  void take_line(std::string_view line, long long number) {
    std::optional<double> value;
    if (!words_->plain.empty()) value = word_and_time(line, words_->plain);
    if (!value) value = number_before(line, words_->brief);
    if (!value) value = number_after(line, words_->verbose);
    if (!value) return;
    found_at_line(number, taker_.take(*value * words_->factor));
  }

  LineSplitter lines_;
  const TimeWords* words_ = nullptr;
};

}  // namespace

std::unique_ptr<MetricReader> make_time_reader(const Metric& spec) { return std::make_unique<TimeReader>(spec); }

}  // namespace hpcbench

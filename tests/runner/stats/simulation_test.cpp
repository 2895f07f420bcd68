// How often the intervals cover the truth, in 10,000 simulated studies of each kind. tests/golden/stats/coverage.md is what
// comes out; it is renewed with HPCBENCH_RENEW_GOLDEN=1 test_stats -tc='coverage*'; the diff is to be read.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "noise.hpp"
#include "stats/stats.hpp"

using namespace hpcbench;

namespace {

constexpr int kStudies = 10'000;
constexpr double kNoise = 0.05;  // standard deviation of log times
constexpr double kTruth = 1.7;   // speedup

/// Logarithms of one run's time on both sides, around 0.
struct LogTimes {
  double baseline = 0, row = 0;
};

/// What is promised of an interval in a kind of study.
enum class Promise {
  exact,  // within one point of what is printed
  least,  // not below
  none,   // published as it is
};

struct StudyKind {
  const char* name;
  /// One study's runs.
  void (*draw)(Noise& noise, std::vector<LogTimes>& runs);
  double median = 0;                // true median of a baseline's logarithm
  double median_of_row = 0;         // and of the row's
  std::array<Promise, 3> promises;  // median, speedup, paired speedup
  double grid = 0;                  // times are rounded to whole multiples of it
};

void draw_equal(Noise& noise, std::vector<LogTimes>& runs) {
  for (LogTimes& run : runs) run = {kNoise * noise.normal(), kNoise * noise.normal()};
}
void draw_skewed(Noise& noise, std::vector<LogTimes>& runs) {
  for (LogTimes& run : runs) run = {kNoise * noise.exponential(), kNoise * noise.exponential()};
}
void draw_unequal_spread(Noise& noise, std::vector<LogTimes>& runs) {
  for (LogTimes& run : runs) run = {kNoise * noise.normal(), 5 * kNoise * noise.normal()};
}
void draw_other_shape(Noise& noise, std::vector<LogTimes>& runs) {
  for (LogTimes& run : runs) run = {kNoise * noise.normal(), 2 * kNoise * noise.exponential()};
}
void draw_sessions(Noise& noise, std::vector<LogTimes>& runs) {
  const LogTimes session{2.5 * kNoise * noise.normal(), 2.5 * kNoise * noise.normal()};
  for (LogTimes& run : runs) run = {session.baseline + kNoise * noise.normal(), session.row + kNoise * noise.normal()};
}
void draw_blocks(Noise& noise, std::vector<LogTimes>& runs) {
  for (LogTimes& run : runs) {
    const double block = 2.5 * kNoise * noise.normal();
    run = {block + kNoise * noise.normal(), block + kNoise * noise.normal()};
  }
}

constexpr std::array kExact = {Promise::exact, Promise::exact, Promise::exact};
const std::array kKinds = {
    StudyKind{"independent, normal, equal spread", draw_equal, 0, 0, kExact, 0},
    StudyKind{"independent, skewed (exponential), equal shapes", draw_skewed, kNoise* M_LN2, kNoise* M_LN2, kExact, 0},
    StudyKind{"rounded to one standard deviation: ties", draw_equal, 0, 0, {Promise::least, Promise::least, Promise::least}, 5},
    StudyKind{
        "five times the spread on one side", draw_unequal_spread, 0, 0, {Promise::exact, Promise::none, Promise::exact}, 0},
    StudyKind{
        "normal against skewed", draw_other_shape, 0, 2 * kNoise* M_LN2, {Promise::exact, Promise::none, Promise::none}, 0},
    StudyKind{"each side in a session of its own, effect 2.5 x noise",
              draw_sessions,
              0,
              0,
              {Promise::none, Promise::none, Promise::none},
              0},
    StudyKind{"interleaved blocks, effect 2.5 x noise", draw_blocks, 0, 0, {Promise::exact, Promise::none, Promise::exact}, 0},
};

bool covers(const Interval& interval, double truth) {
  constexpr double kRounding = 1e-9;
  return interval.low <= truth * (1 + kRounding) && truth <= interval.high * (1 + kRounding);
}

/// What is printed, and the share of studies in which it held.
struct Coverage {
  double printed = 0;
  double found = 0;
};

/// Median, speedup, paired speedup.
std::array<Coverage, 3> simulate(const StudyKind& kind, int n, Noise& noise) {
  const bool rounded = kind.grid > 0;
  const double ratio = rounded ? 1 : kTruth * std::exp(kind.median - kind.median_of_row);  // rounded alike on both sides
  const double baseline_median = 100 * std::exp(kind.median);
  const double row_level = rounded ? 100 : 100 / kTruth;
  std::vector<LogTimes> runs(static_cast<std::size_t>(n));
  std::vector<double> baseline(runs.size());
  std::vector<double> row(runs.size());
  std::array<Coverage, 3> coverage;
  for (int study = 0; study < kStudies; ++study) {
    kind.draw(noise, runs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      baseline[i] = 100 * std::exp(runs[i].baseline);
      row[i] = row_level * std::exp(runs[i].row);
      if (!rounded) continue;
      baseline[i] = kind.grid * std::round(baseline[i] / kind.grid);
      row[i] = kind.grid * std::round(row[i] / kind.grid);
    }
    const std::array intervals = {*summarise(baseline, 0.95)->interval, *speedup(baseline, row, 0.95)->interval,
                                  *paired_speedup(baseline, row, 0.95)->interval};
    const std::array truths = {baseline_median, ratio, ratio};
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      coverage[i].printed = intervals[i].coverage;
      coverage[i].found += covers(intervals[i], truths[i]) ? 1.0 / kStudies : 0;
    }
  }
  return coverage;
}

}  // namespace

TEST_CASE("coverage of the intervals in simulated studies, as tests/golden/stats/coverage.md has it") {
  constexpr double kOnePoint = 0.01;
  Noise noise(20151115);
  std::string text =
      "| studies | n | median: printed, found | speedup: printed, found | paired speedup: printed, found "
      "|\n|---|---|---|---|---|\n";
  for (const StudyKind& kind : kKinds) {
    for (const int n : {6, 10}) {
      CAPTURE(kind.name);
      CAPTURE(n);
      text += fmt::format("| {} | {} |", kind.name, n);
      const auto coverage = simulate(kind, n, noise);
      for (std::size_t i = 0; i < coverage.size(); ++i) {
        CAPTURE(i);
        text += fmt::format(" {:.1f} %, {:.1f} % |", 100 * coverage[i].printed, 100 * coverage[i].found);
        if (kind.promises[i] == Promise::exact) CHECK(std::abs(coverage[i].found - coverage[i].printed) < kOnePoint);
        if (kind.promises[i] == Promise::least) CHECK(coverage[i].found >= coverage[i].printed);
      }
      text += "\n";
    }
  }
  const std::string path = std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/stats/coverage.md";
  const std::string document = read_file(path);
  const std::size_t first = document.find("| studies");
  REQUIRE(first != std::string::npos);
  if (std::getenv("HPCBENCH_RENEW_GOLDEN") != nullptr) {
    write_file(path, document.substr(0, first) + text, Durability::none);
  } else {
    CHECK(document.substr(first) == text);
  }
}

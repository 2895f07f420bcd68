#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// `take` of a metric: which of several values of one run counts (docs/sources.md). It is about one run;
/// stats/ is about several.
struct Take {
  enum class Kind { last, first, min, max, sum, count, mean, quantile };
  Kind kind = Kind::last;
  double p = 0.5;  // of a quantile, between 0 and 1
};

/// `last`, `first`, `min`, `max`, `sum`, `count`, `mean`, `median`, `p95`, `p99.9`; absent for any other word.
std::optional<Take> parse_take(std::string_view word);

/// The word for what a published value is of its n runs: `mean` also of `Average`, `avg`. Absent for any other word.
std::optional<std::string> parse_statistic(std::string_view word);
inline constexpr const char* kStatisticWords = "mean, median, min, max, or a percentile such as p95";

/// Hyndman and Fan 1996, type 7: linear between the order statistics around (n - 1) p. `sorted` ascending and not empty.
double quantile(const std::vector<double>& sorted, double p);

}  // namespace hpcbench

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

/// Parses `last`, `first`, `min`, `max`, `sum`, `count`, `mean`, `median`, `p95`, `p99.9`; nullopt for any other word.
std::optional<Take> parse_take(std::string_view word);

/// Returns which statistic of its n runs a published value is: `mean` also for `Average`, `avg`. nullopt for any other word.
std::optional<std::string> parse_statistic(std::string_view word);
inline constexpr const char* kStatisticWords = "mean, median, min, max, or a percentile such as p95";

/// Returns the quantile by Hyndman and Fan 1996, type 7: linear around (n - 1) p. `sorted` ascending and not empty.
double quantile(const std::vector<double>& sorted, double p);

}  // namespace hpcbench

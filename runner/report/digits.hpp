#pragma once

#include <optional>
#include <string>

#include "stats/stats.hpp"

namespace hpcbench {

// Returns how many digits of a number are printed: a power of ten, that of the last digit (docs/statistics.md, "Digits").

/// Returns the largest power of ten that is at most half the interval's half width, but never more than five significant digits
/// of `value`. An interval without width is treated like no interval (`exponent_without_interval`).
int exponent_for_interval(double value, double low, double high);

/// Returns the exponent for three significant digits of `value`.
int exponent_without_interval(double value);

/// Returns the exponent for a speedup, efficiency or similar ratio: at most two decimals, and at least one below 10.
int exponent_for_ratio(double value, const std::optional<Interval>& interval);

/// Returns the exponent of the last digit of the shortest form of `value`: -2 for 1.25, 0 for 36.
int last_exponent(double value);

/// Returns `value` rounded at that power of ten: 1234.56 is `1230` at 1, `1234.6` at -1. Exponent form only from 1e21, and
/// beyond 18 decimals: 1.23e+25.
std::string round_at(double value, int exponent);

/// Returns three significant digits; `-` if absent.
std::string three_digits(const std::optional<double>& value);

}  // namespace hpcbench

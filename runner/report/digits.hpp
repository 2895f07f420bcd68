#pragma once

#include <optional>
#include <string>

#include "stats/stats.hpp"

namespace hpcbench {

// How many digits of a number are printed: a power of ten, that of the last digit (docs/statistics.md, "Digits").

/// The largest power of ten that is at most half the interval's half width, but never more than five significant digits
/// of `value`. An interval without width says nothing about digits: as `exponent_without_interval`.
int exponent_for_interval(double value, double low, double high);

/// Three significant digits of `value`.
int exponent_without_interval(double value);

/// That of a speedup, efficiency and the like: at most two decimals, and at least one below 10.
int exponent_for_ratio(double value, const std::optional<Interval>& interval);

/// Decimals that the shortest form of `value` has, as the exponent of its last digit: -2 for 1.25, 0 for 36.
int last_exponent(double value);

/// `value` rounded at that power of ten: 1234.56 is `1230` at 1, `1234.6` at -1. Only from 1e21, and beyond 18 decimals, in
/// exponent form: 1.23e+25.
std::string round_at(double value, int exponent);

/// Three significant digits; absent is `-`.
std::string three_digits(const std::optional<double>& value);

}  // namespace hpcbench

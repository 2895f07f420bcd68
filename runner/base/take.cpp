#include "base/take.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/text.hpp"

namespace hpcbench {

namespace {

using Kind = Take::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 8> kWords = {{
    {"last", Kind::last},
    {"first", Kind::first},
    {"min", Kind::min},
    {"max", Kind::max},
    {"sum", Kind::sum},
    {"count", Kind::count},
    {"mean", Kind::mean},
    {"median", Kind::quantile},
}};

/// Returns `p95`, `p99.9`: digits, and a point with more of them.
std::optional<double> percentile(std::string_view word) {
  if (!word.starts_with('p')) return std::nullopt;
  word.remove_prefix(1);
  if (word.empty() || word.find_first_not_of("0123456789.") != std::string_view::npos || word.front() == '.')
    return std::nullopt;
  double percent = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), percent);
  const bool whole = read.ec == std::errc() && read.ptr == word.data() + word.size();
  return whole && percent > 0 && percent < 100 ? std::optional(percent) : std::nullopt;
}

}  // namespace

std::optional<Take> parse_take(std::string_view word) {
  for (const auto& [name, kind] : kWords) {
    if (name == word) return Take{kind, 0.5};
  }
  if (const std::optional<double> percent = percentile(word)) return Take{Kind::quantile, *percent / 100};
  return std::nullopt;
}

std::optional<std::string> parse_statistic(std::string_view word) {
  std::string lower = lower_case(word);
  for (const auto& [other, meant] :
       {std::pair("average", "mean"), std::pair("avg", "mean"), std::pair("minimum", "min"), std::pair("maximum", "max")}) {
    if (lower == other) lower = meant;
  }
  const std::optional<Take> take = parse_take(lower);
  const bool is_summary =
      take && (take->kind == Kind::min || take->kind == Kind::max || take->kind == Kind::mean || take->kind == Kind::quantile);
  return is_summary ? std::optional(lower) : std::nullopt;
}

double quantile(const std::vector<double>& sorted, double p) {
  const double position = static_cast<double>(sorted.size() - 1) * p;
  const auto below = static_cast<std::size_t>(position);
  const double part = position - static_cast<double>(below);
  if (part == 0 || sorted[below] == sorted[below + 1]) return sorted[below];
  const double step = sorted[below + 1] - sorted[below];
  if (!std::isfinite(step)) return (1 - part) * sorted[below] + part * sorted[below + 1];  // of -1e308 and 1e308
  return sorted[below] + part * step;
}

}  // namespace hpcbench

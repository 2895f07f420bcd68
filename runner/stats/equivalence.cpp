#include "stats/equivalence.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/null_distribution.hpp"

namespace hpcbench {
namespace {

/// Products of a factor are rounded: smaller differences are ties.
bool is_tie(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)); }

}  // namespace

double larger_p_value(const std::vector<double>& a, const std::vector<double>& b, double factor) {
  if (a.empty() || b.empty()) return 1;
  long long twice_u = 0;  // pairs in which b is below, a tie counts one half
  for (const double first : a) {
    for (const double second : b) {
      const double bound = factor * first;
      twice_u += is_tie(second, bound) ? 1 : second < bound ? 2 : 0;
    }
  }
  return rank_sum_lower_tail(static_cast<int>(a.size()), static_cast<int>(b.size()), (twice_u + 1) / 2);
}

double smaller_p_value(const std::vector<double>& a, const std::vector<double>& b, double factor) {
  return larger_p_value(b, a, 1 / factor);
}

double equivalence_p_value(const std::vector<double>& a, const std::vector<double>& b, double margin) {
  return std::max(larger_p_value(a, b, 1 / (1 + margin)), smaller_p_value(a, b, 1 + margin));
}

std::vector<double> holm_adjusted(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double highest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    highest = std::max(highest, std::min(1.0, static_cast<double>(order.size() - i) * p_values[order[i]]));
    adjusted[order[i]] = highest;
  }
  return adjusted;
}

int fewest_runs_to_reject(double hypotheses, double level) {
  constexpr double kRounding = 1e-12;
  int n = 1;
  while (hypotheses * rank_sum_lower_tail(n, n, 0) > level + kRounding) ++n;
  return n;
}

}  // namespace hpcbench

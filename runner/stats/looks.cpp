#include "stats/looks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace hpcbench {
namespace {

constexpr int kHalfGrid = 128;       // intervals of the grid on one side of 0, an even number for Simpson's rule
constexpr double kNarrowest = 1e-7;  // of the bisection for z

double two_sided_level(double z) { return std::erfc(z / std::sqrt(2.0)); }

double gauss(double x, double variance) { return std::exp(-x * x / (2 * variance)) / std::sqrt(2 * M_PI * variance); }

/// The density of B at one look, for x = 0 ... bound, if B stayed within the bounds of all earlier looks. It is even.
struct SurvivingDensity {
  double step = 0;
  std::vector<double> at;

  double weight(std::size_t i) const {
    const double simpson = i == 0 || i + 1 == at.size() ? 1 : i % 2 == 1 ? 4 : 2;
    return simpson * step / 3;
  }
  /// Returns the mass of both sides.
  double mass() const {
    double sum = 0;
    for (std::size_t i = 0; i < at.size(); ++i) sum += weight(i) * at[i];
    return 2 * sum;
  }
};

SurvivingDensity next_density(const SurvivingDensity& before, double added, double bound) {
  SurvivingDensity next{bound / kHalfGrid, {}};
  for (int i = 0; i <= kHalfGrid; ++i) {
    const double x = i * next.step;
    double sum = 0;
    for (std::size_t j = 0; j < before.at.size(); ++j) {
      const double y = static_cast<double>(j) * before.step;
      sum += before.weight(j) * before.at[j] * (gauss(x - y, added) + gauss(x + y, added));
    }
    next.at.push_back(sum);
  }
  return next;
}

double chance_beyond(const std::vector<int>& looks, double z) {
  SurvivingDensity density;
  for (std::size_t k = 0; k < looks.size(); ++k) {
    const double bound = z * std::sqrt(static_cast<double>(looks[k]));
    if (k > 0) {
      density = next_density(density, looks[k] - looks[k - 1], bound);
      continue;
    }
    density.step = bound / kHalfGrid;
    for (int i = 0; i <= kHalfGrid; ++i) density.at.push_back(gauss(i * density.step, looks[0]));
  }
  return 1 - density.mass();
}

using Chances = std::vector<long double>;

/// Returns the chances for how many of n values are below the median, among the cases without a miss at earlier looks.
Chances after_more_values(const Chances& before, int added) {
  Chances chances = before;
  for (int i = 0; i < added; ++i) {
    chances.push_back(0);
    for (std::size_t s = chances.size(); s-- > 0;) chances[s] = (chances[s] + (s > 0 ? chances[s - 1] : 0)) / 2;
  }
  return chances;
}

/// Returns the error of a rank, 2 P(Bin(n, 1/2) < k).
double median_error(int n, int k) {
  const Chances chances = after_more_values({1}, n);
  long double below = 0;
  for (int s = 0; s < k; ++s) below += chances[static_cast<std::size_t>(s)];
  return static_cast<double>(2 * below);
}

/// Cached solutions: the rows of a table need them repeatedly.
struct SolvedLooks {
  std::vector<int> looks;
  double confidence = 0;
  LookLevel level;
  std::vector<int> median_ranks;
  std::vector<double> median_errors;  // of each look alone
};

const SolvedLooks& solved(const Confidence& confidence) {
  thread_local SolvedLooks last;
  if (last.looks != confidence.looks || last.confidence != confidence.level) {
    last = {confidence.looks,
            confidence.level,
            look_level(confidence.looks, confidence.level),
            median_look_ranks(confidence.looks, confidence.level),
            {}};
    for (std::size_t i = 0; i < last.looks.size(); ++i)
      last.median_errors.push_back(median_error(last.looks[i], last.median_ranks[i]));
  }
  return last;
}

/// Returns a rank that was found for a level only if it reaches that level: over several looks there is no weaker promise.
std::optional<CriticalRank> joint_rank(std::optional<CriticalRank> rank, double level, const Confidence& confidence) {
  constexpr double kRounding = 1e-9;
  if (!rank || 1 - rank->coverage > level + kRounding) return std::nullopt;
  rank->coverage = confidence.level;
  return rank;
}

}  // namespace

LookLevel look_level(const std::vector<int>& looks, double confidence) {
  const double error = 1 - confidence;
  double low = 0;  // beyond it too often
  double high = 10;
  while (high - low > kNarrowest) {
    const double middle = (low + high) / 2;
    (chance_beyond(looks, middle) > error ? low : high) = middle;
  }
  return {high, two_sided_level(high)};
}

std::vector<int> median_look_ranks(const std::vector<int>& looks, double confidence) {
  std::vector<int> ranks;
  Chances chances = {1};
  long double missed = 0;
  int values = 0;
  for (const int n : looks) {
    chances = after_more_values(chances, n - values);
    values = n;
    const double allowed = (1 - confidence) * std::log(1 + (M_E - 1) * n / looks.back());
    int k = 0;
    while (2 * (k + 1) <= n) {
      const auto s = static_cast<std::size_t>(k);
      if (missed + 2 * chances[s] > allowed + 1e-12) break;  // both sides are alike
      missed += 2 * chances[s];
      chances[s] = chances[static_cast<std::size_t>(n) - s] = 0;
      ++k;
    }
    ranks.push_back(k);
  }
  return ranks;
}

std::optional<CriticalRank> median_rank(int n, const Confidence& confidence) {
  if (confidence.looks.empty()) return median_critical_rank(n, confidence.level);
  const SolvedLooks& known = solved(confidence);
  const auto next = std::lower_bound(known.looks.begin(), known.looks.end(), n);
  const auto at = static_cast<std::size_t>((next == known.looks.end() ? next - 1 : next) - known.looks.begin());
  if (known.looks[at] == n) {
    if (known.median_ranks[at] == 0) return std::nullopt;
    return CriticalRank{known.median_ranks[at], confidence.level};
  }
  const double level = known.median_errors[at];
  return joint_rank(median_critical_rank(n, 1 - level), level, confidence);
}

std::optional<CriticalRank> rank_sum_rank(int m, int n, const Confidence& confidence) {
  if (confidence.looks.empty()) return rank_sum_critical_rank(m, n, confidence.level);
  const double level = solved(confidence).level.level;
  return joint_rank(rank_sum_critical_rank(m, n, 1 - level), level, confidence);
}

std::optional<CriticalRank> signed_rank_rank(int n, const Confidence& confidence) {
  if (confidence.looks.empty()) return signed_rank_critical_rank(n, confidence.level);
  const double level = solved(confidence).level.level;
  return joint_rank(signed_rank_critical_rank(n, 1 - level), level, confidence);
}

double p_value_over_looks(double p_value, long long looks) { return std::min(1.0, static_cast<double>(looks) * p_value); }

}  // namespace hpcbench

#include "stats/null_distribution.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace hpcbench {
namespace {

__extension__ using Count = unsigned __int128;  // of equally likely cases

constexpr long long kDecimalScale = 1'000'000'000;  // a confidence is a decimal of nine places
constexpr double kLeastCoverage = 0.90;             // a wider promise would be worse than no interval
constexpr int kLargestExactBits = 97;               // 2^97 x kDecimalScale still fits into 128 bits

/// Counts of the smallest values of the statistic, and of all cases.
struct NullCounts {
  std::vector<Count> cases;
  Count total = 1;
};

bool reaches(Count achieved, Count total, double confidence) {
  const auto numerator = static_cast<std::uint64_t>(std::llround(confidence * static_cast<double>(kDecimalScale)));
  return achieved * static_cast<std::uint64_t>(kDecimalScale) >= total * numerator;
}

std::optional<CriticalRank> largest_rank(const NullCounts& null, double confidence) {
  std::optional<CriticalRank> best;
  Count outside = 0;  // cases with statistic <= k - 1, on both sides
  for (std::size_t k = 1; k <= null.cases.size(); ++k) {
    outside += 2 * null.cases[k - 1];
    if (outside > null.total) break;
    const Count achieved = null.total - outside;
    const bool enough = reaches(achieved, null.total, confidence);
    if (!enough && (k > 1 || !reaches(achieved, null.total, kLeastCoverage))) break;
    const auto coverage = static_cast<double>(static_cast<long double>(achieved) / static_cast<long double>(null.total));
    best = CriticalRank{static_cast<long long>(k), coverage};
    if (!enough) break;
  }
  return best;
}

/// First four cumulants of a symmetric statistic on the integers.
struct Cumulants {
  double mean = 0;
  double variance = 1;
  double fourth = 0;
};

/// Returns P(X <= x): normal, with the terms for the fourth cumulant and for the lattice (Euler-Maclaurin), both of order 1/n.
double edgeworth_lower_tail(const Cumulants& of, double x) {
  const double z = (x + 0.5 - of.mean) / std::sqrt(of.variance);
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * M_PI);
  const double kurtosis = of.fourth / (of.variance * of.variance);
  const double correction = kurtosis / 24 * (z * z * z - 3 * z) - z / (24 * of.variance);
  return std::clamp(std::erfc(-z / std::sqrt(2.0)) / 2 - density * correction, 0.0, 1.0);
}

std::optional<CriticalRank> largest_rank(const Cumulants& of, double confidence) {
  long long low = 0;  // k = low reaches it, k = high does not; so many values reach any confidence below 1 with k = 1
  long long high = static_cast<long long>(of.mean) + 2;
  const auto coverage = [&](long long k) { return 1 - 2 * edgeworth_lower_tail(of, static_cast<double>(k - 1)); };
  while (high - low > 1) {
    const long long middle = low + (high - low) / 2;
    (coverage(middle) >= confidence ? low : high) = middle;
  }
  if (low == 0) return std::nullopt;
  return CriticalRank{low, coverage(low)};
}

bool binomial_fits(int m, int n) {
  const double log_cases = std::lgamma(m + n + 1.0) - std::lgamma(m + 1.0) - std::lgamma(n + 1.0);
  return log_cases < kLargestExactBits * M_LN2;
}

Count binomial(int n, int k) {
  Count result = 1;
  for (int i = 1; i <= k; ++i) result = result * static_cast<unsigned>(n - k + i) / static_cast<unsigned>(i);
  return result;
}

NullCounts sign_counts(int n) {
  NullCounts null;
  null.total = Count{1} << n;
  for (int k = 0; 2 * k <= n; ++k) null.cases.push_back(binomial(n, k));
  return null;
}

/// Returns the coefficients of the Gaussian binomial [m + n over m], a product of (1 - q^(n+i)) / (1 - q^i): the number of
/// arrangements with U = 0, 1 ... Differences may pass below 0 on the way; unsigned arithmetic restores them.
NullCounts rank_sum_counts(int m, int n) {
  if (m > n) std::swap(m, n);
  NullCounts null;
  null.total = binomial(m + n, m);
  const auto size = static_cast<std::size_t>(m) * static_cast<std::size_t>(n) / 2 + 1;
  null.cases.assign(size, 0);
  null.cases[0] = 1;
  for (int i = 1; i <= m; ++i) {
    const auto up = static_cast<std::size_t>(n + i);
    const auto down = static_cast<std::size_t>(i);
    for (std::size_t d = size; d-- > up;) null.cases[d] -= null.cases[d - up];
    for (std::size_t d = down; d < size; ++d) null.cases[d] += null.cases[d - down];
  }
  return null;
}

/// Returns the coefficients of the product of (1 + q^i): in how many ways ranks 1 to n can be summed to T.
NullCounts signed_rank_counts(int n) {
  NullCounts null;
  null.total = Count{1} << n;
  const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n + 1) / 4 + 1;
  null.cases.assign(size, 0);
  null.cases[0] = 1;
  for (std::size_t i = 1; i <= static_cast<std::size_t>(n); ++i) {
    for (std::size_t d = size; d-- > i;) null.cases[d] += null.cases[d - i];
  }
  return null;
}

Cumulants rank_sum_cumulants(double m, double n) {
  const double variance = m * n * (m + n + 1) / 12;
  return {m * n / 2, variance, -variance * (m * m + n * n + m * n + m + n) / 10};
}

Cumulants signed_rank_cumulants(double n) {
  const double fourth_powers = n * (n + 1) * (2 * n + 1) * (3 * n * n + 3 * n - 1) / 30;
  return {n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24, -fourth_powers / 8};
}

constexpr int kLargestExactN = 90;  // 2^90 cases

}  // namespace

std::optional<CriticalRank> median_critical_rank(int n, double confidence) {
  if (n < 1) return std::nullopt;
  if (n <= kLargestExactN) return largest_rank(sign_counts(n), confidence);
  return largest_rank(Cumulants{n / 2.0, n / 4.0, -n / 8.0}, confidence);
}

std::optional<CriticalRank> rank_sum_critical_rank(int m, int n, double confidence) {
  if (m < 1 || n < 1) return std::nullopt;
  if (!binomial_fits(m, n)) return largest_rank(rank_sum_cumulants(m, n), confidence);
  // Caches the last answer: the rows of a table mostly have the same numbers of runs.
  struct Last {
    int m = 0, n = 0;
    double confidence = 0;
    std::optional<CriticalRank> answer;
  };
  thread_local Last last;
  if (last.m != m || last.n != n || last.confidence != confidence) {
    last = {m, n, confidence, largest_rank(rank_sum_counts(m, n), confidence)};
  }
  return last.answer;
}

std::optional<CriticalRank> signed_rank_critical_rank(int n, double confidence) {
  if (n < 1) return std::nullopt;
  if (n <= kLargestExactN) return largest_rank(signed_rank_counts(n), confidence);
  return largest_rank(signed_rank_cumulants(n), confidence);
}

double rank_sum_lower_tail(int m, int n, long long u) {
  if (u < 0) return 0;
  if (!binomial_fits(m, n)) return edgeworth_lower_tail(rank_sum_cumulants(m, n), static_cast<double>(u));
  const long long highest = static_cast<long long>(m) * n;
  if (u >= highest) return 1;
  if (2 * u >= highest) return 1 - rank_sum_lower_tail(m, n, highest - u - 1);  // U and m n - U are distributed alike
  const NullCounts null = rank_sum_counts(m, n);
  Count cases = 0;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(u); ++i) cases += null.cases[i];
  return static_cast<double>(static_cast<long double>(cases) / static_cast<long double>(null.total));
}

}  // namespace hpcbench

#pragma once

#include <vector>

namespace hpcbench {

// One-sided exact rank-sum tests of ratios, for `compare`. All values are positive; a tie counts one half and never sharpens.

/// Returns the chance to observe values b this far above `factor` times the values a, or farther, if they are not above at all:
/// small if b is larger than factor x a. 1 if either is empty.
double larger_p_value(const std::vector<double>& a, const std::vector<double>& b, double factor);
/// Returns the same chance for b smaller than factor x a.
double smaller_p_value(const std::vector<double>& a, const std::vector<double>& b, double factor);

/// Returns the p-value of two one-sided tests (Schuirmann 1987): small if b / a surely lies in 1 / (1 + margin) to 1 + margin.
/// At most alpha exactly if the exact interval of confidence 1 - 2 alpha lies inside. `margin` > 0 is a share: 0.05 for 5 %.
double equivalence_p_value(const std::vector<double>& a, const std::vector<double>& b, double margin);

/// Returns Holm's (1979) p-values, each of which may be compared with the level of the whole family, in the order given.
std::vector<double> holm_adjusted(const std::vector<double>& p_values);

/// Returns the smallest n for which the test of n against n runs can reject at `level`, one-sided, as one of this many
/// hypotheses.
int fewest_runs_to_reject(double hypotheses, double level);

}  // namespace hpcbench

#pragma once

#include <vector>

namespace hpcbench {

// One-sided exact rank-sum tests of ratios, for `compare`. All values are positive; a tie counts one half and never sharpens.

/// The chance to see values b this far above `factor` times the values a, or farther, if they are not above at all:
/// small where b is larger than factor x a. 1 if either is empty.
double larger_p_value(const std::vector<double>& a, const std::vector<double>& b, double factor);
/// The same for b smaller than factor x a.
double smaller_p_value(const std::vector<double>& a, const std::vector<double>& b, double factor);

/// Two one-sided tests (Schuirmann 1987): small where b / a is surely between 1 / (1 + margin) and 1 + margin. At level alpha
/// it says the same as that the exact interval of confidence 1 - 2 alpha lies inside. `margin` > 0 is a share: 0.05 for 5 %.
double equivalence_p_value(const std::vector<double>& a, const std::vector<double>& b, double margin);

/// Holm 1979: p-values that may each be compared with the level of the whole family, in the order given.
std::vector<double> holm_adjusted(const std::vector<double>& p_values);

/// The smallest n for which the test of n against n runs can reject at `level`, one-sided, as the only one of so many
/// hypotheses.
int fewest_runs_to_reject(double hypotheses, double level);

}  // namespace hpcbench

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/take.hpp"

namespace hpcbench {

/// The one value that a metric has of those that a run's files hold, fed in their order. Memory stays bounded: of more than
/// 8,388,608 values a quantile is that of every second (fourth ...) one, and `stride` says so.
class TakenValue {
 public:
  TakenValue(Take take, long long skip) : take_(take), skip_(skip) {}

  /// Whether it is what `take` chooses of those so far: `show` names its line. Of a sum or quantile every value is.
  bool add(double value);
  /// Something that is there and is no number: true if it counts, which only `count` does.
  bool add_text();
  /// NaN or an infinity: `last` and `first` have no value where they would choose it; all others leave it out.
  void add_not_finite();

  /// Absent where nothing is left after `skip`, the chosen one is not finite, or a sum does not fit.
  std::optional<double> value();
  long long chosen_from() const { return seen_ > skip_ ? seen_ - skip_ : 0; }
  long long stride() const { return stride_; }

 private:
  static constexpr std::size_t kMostKept = std::size_t{1} << 23;

  bool choose(double value, bool chosen);
  void keep(double value);

  Take take_;
  long long skip_ = 0;
  long long seen_ = 0;
  long long stride_ = 1;
  bool first_is_not_finite_ = false;
  double one_ = 0;           // of last, first, min, max
  long double sum_ = 0;      // of sum, mean
  std::vector<double> all_;  // of a quantile
};

}  // namespace hpcbench

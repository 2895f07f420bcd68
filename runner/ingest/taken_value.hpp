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

  void add(double value);
  /// Something that is there and is no number: true if it counts, which only `count` does.
  bool add_text();

  /// Absent where nothing is left after `skip`, or a sum does not fit.
  std::optional<double> value();
  long long chosen_from() const { return seen_ > skip_ ? seen_ - skip_ : 0; }
  long long stride() const { return stride_; }

 private:
  static constexpr std::size_t kMostKept = std::size_t{1} << 23;

  void keep(double value);

  Take take_;
  long long skip_ = 0;
  long long seen_ = 0;
  long long stride_ = 1;
  double one_ = 0;           // of last, first, min, max
  long double sum_ = 0;      // of sum, mean
  std::vector<double> all_;  // of a quantile
};

}  // namespace hpcbench

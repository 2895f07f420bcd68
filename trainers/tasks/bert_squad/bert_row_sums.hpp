#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace hpcbench::train {

/// Returns the sums of the rows of a matrix that `rows` names, from each of `begins` to the next: [begins, columns], by one
/// operator whose result does not depend on timing. int32, on the device of the matrix; an empty sum is 0.
at::Tensor sums_of_rows(const at::Tensor& matrix, const at::Tensor& rows, const at::Tensor& begins);

/// Such sums in two levels: a result adds stretches of rows, then their sums, so that a result of many rows takes a GPU little
/// longer than one of few. This is backward through a look-up: the host, which knows the looked-up rows, sorts them. LibTorch's
/// own backward sorts on the device, by 16 launches per table for more than 3,072 look-ups.
struct RowSums {
  at::Tensor rows;        // the rows to add, result by result
  at::Tensor stretches;   // where each stretch begins in `rows`
  at::Tensor in_order;    // 0, 1, ...: the stretches
  at::Tensor results;     // where each result begins among the stretches
  std::int64_t kept = 0;  // only this many first results are used

  /// Returns [kept, columns], by two operators regardless of the number of rows.
  at::Tensor of(const at::Tensor& matrix) const;
};

/// The same numbers on the host.
struct RowSumsPlan {
  std::vector<std::int32_t> rows, stretches, in_order, results;
  std::int64_t kept = 0;
};

/// Bounds for a plan's sizes, independent of the look-ups: smaller plans are filled up by unused sums.
struct RowSumsBounds {
  std::int64_t rows = 0;     // maximum number of added rows
  std::int64_t of_one = 0;   // maximum for one result
  std::int64_t results = 0;  // maximum number of results with any
};

/// Collects which row each result takes.
class RowSumsPlanner {
 public:
  /// Without bounds the plan is as large as needed.
  explicit RowSumsPlanner(std::int64_t results, const RowSumsBounds& bounds = {})
      : counts_(static_cast<std::size_t>(results), 0), bounds_(bounds) {}
  void add(std::int64_t result, std::int64_t row) {
    ++counts_[static_cast<std::size_t>(result)];
    taken_.push_back({static_cast<std::int32_t>(result), static_cast<std::int32_t>(row)});
  }
  RowSumsPlan plan() const;

 private:
  struct Taken {
    std::int32_t result, row;
  };
  void fill_up(RowSumsPlan& plan, std::int32_t length) const;

  std::vector<std::int32_t> counts_;  // by result
  RowSumsBounds bounds_;
  std::vector<Taken> taken_;
};

}  // namespace hpcbench::train

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace hpcbench::train {

/// The sums of those rows of a matrix that `rows` names, from each of `begins` to the next: [begins, columns], by one operator
/// whose result does not depend on who comes first. int32, on the device of the matrix; a sum of none is 0.
at::Tensor sums_of_rows(const at::Tensor& matrix, const at::Tensor& rows, const at::Tensor& begins);

/// Such sums in two levels: a result adds up stretches of rows, then these, so that one of many rows takes a GPU not much
/// longer than one of few. That is backward through a look-up: the host, which knows who looks where, sorts. LibTorch's own
/// backward sorts on the device, by 16 launches a table where more than 3,072 rows look.
struct RowSums {
  at::Tensor rows;        // those to add up, result by result
  at::Tensor stretches;   // where each stretch begins in `rows`
  at::Tensor in_order;    // 0, 1, ...: the stretches
  at::Tensor results;     // where each result begins among the stretches
  std::int64_t kept = 0;  // the first so many results are wanted

  /// [kept, columns], by two operators whatever there is to add.
  at::Tensor of(const at::Tensor& matrix) const;
};

/// The same numbers on the host.
struct RowSumsPlan {
  std::vector<std::int32_t> rows, stretches, in_order, results;
  std::int64_t kept = 0;
};

/// What a plan's sizes are made for, whoever looks where: what is less is filled up by sums that nobody wants.
struct RowSumsBounds {
  std::int64_t rows = 0;     // so many are added up, at most
  std::int64_t of_one = 0;   // and so many for one result
  std::int64_t results = 0;  // so many results have any
};

/// Collects which row each result takes.
class RowSumsPlanner {
 public:
  /// Without bounds the plan is as large as it has to be.
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

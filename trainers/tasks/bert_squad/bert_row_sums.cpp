#include "tasks/bert_squad/bert_row_sums.hpp"

#include <ATen/ops/_embedding_bag_forward_only.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hpcbench::train {

at::Tensor sums_of_rows(const at::Tensor& matrix, const at::Tensor& rows, const at::Tensor& begins) {
  constexpr std::int64_t kSum = 0;  // of embedding_bag's modes
  return std::get<0>(at::_embedding_bag_forward_only(matrix, rows, begins, /*scale_grad_by_freq=*/false, kSum));
}

at::Tensor RowSums::of(const at::Tensor& matrix) const {
  return sums_of_rows(sums_of_rows(matrix, rows, stretches), in_order, results);
}

RowSumsPlan RowSumsPlanner::plan() const {
  const std::int32_t most = counts_.empty() ? 0 : *std::max_element(counts_.begin(), counts_.end());
  // As many rows in the longest stretch as there are stretches in the longest result.
  const auto length = std::max<std::int32_t>(1, static_cast<std::int32_t>(std::ceil(std::sqrt(most))));
  RowSumsPlan plan;
  std::vector<std::int32_t> next(counts_.size());  // in plan.rows
  std::int32_t begin = 0;
  for (std::size_t result = 0; result < counts_.size(); ++result) {
    next[result] = begin;
    plan.results.push_back(static_cast<std::int32_t>(plan.stretches.size()));
    const std::int32_t end = begin + counts_[result];
    for (; begin < end; begin = std::min(end, begin + length)) plan.stretches.push_back(begin);
  }
  plan.in_order.resize(plan.stretches.size());
  std::iota(plan.in_order.begin(), plan.in_order.end(), 0);
  plan.rows.resize(taken_.size());
  for (const Taken& each : taken_)
    plan.rows[static_cast<std::size_t>(next[static_cast<std::size_t>(each.result)]++)] = each.row;
  return plan;
}

}  // namespace hpcbench::train

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
  return sums_of_rows(sums_of_rows(matrix, rows, stretches), in_order, results).narrow(0, 0, kept);
}

RowSumsPlan RowSumsPlanner::plan() const {
  const bool is_bound = bounds_.rows > 0;
  const std::int64_t most = is_bound ? bounds_.of_one : counts_.empty() ? 0 : *std::max_element(counts_.begin(), counts_.end());
  // As many rows in the longest stretch as stretches in the longest result.
  const auto length = std::max<std::int32_t>(1, static_cast<std::int32_t>(std::ceil(std::sqrt(most))));
  RowSumsPlan plan;
  plan.kept = std::ssize(counts_);
  std::vector<std::int32_t> next(counts_.size());  // in plan.rows
  std::int32_t begin = 0;
  for (std::size_t result = 0; result < counts_.size(); ++result) {
    next[result] = begin;
    plan.results.push_back(static_cast<std::int32_t>(plan.stretches.size()));
    const std::int32_t end = begin + counts_[result];
    for (; begin < end; begin = std::min(end, begin + length)) plan.stretches.push_back(begin);
  }
  plan.rows.resize(taken_.size());
  for (const Taken& each : taken_)
    plan.rows[static_cast<std::size_t>(next[static_cast<std::size_t>(each.result)]++)] = each.row;
  if (is_bound) fill_up(plan, length);
  plan.in_order.resize(plan.stretches.size());
  std::iota(plan.in_order.begin(), plan.in_order.end(), 0);
  return plan;
}

/// Fills up with row 0, repeatedly, in separate stretches, then with empty stretches; and with results for these, none longer
/// than others.
void RowSumsPlanner::fill_up(RowSumsPlan& plan, std::int32_t length) const {
  const auto taken = static_cast<std::int32_t>(plan.rows.size());
  const auto used = static_cast<std::int32_t>(plan.stretches.size());
  const auto rows = static_cast<std::int32_t>(bounds_.rows);
  plan.rows.resize(static_cast<std::size_t>(rows), 0);
  for (std::int32_t begin = taken; begin < rows; begin += length) plan.stretches.push_back(begin);
  // Each non-empty result, and the filling, ends with a stretch that may not be full.
  const auto most = static_cast<std::int32_t>(bounds_.results) + 1 + rows / length;
  TORCH_CHECK(taken <= rows && std::ssize(plan.stretches) <= most, "more rows or results than the plan's bounds");
  plan.stretches.resize(static_cast<std::size_t>(most), rows);
  for (std::int32_t filled = 0; filled < most; filled += length) plan.results.push_back(std::min(used + filled, most));
}

}  // namespace hpcbench::train

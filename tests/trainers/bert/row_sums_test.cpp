// Sums of rows that the host plans and the device adds up: the gradient of a look-up.
#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "bert_testing.hpp"
#include "tasks/bert_squad/bert_row_sums.hpp"

namespace hpcbench::train {

namespace {

RowSums row_sums_of(const RowSumsPlan& plan) {
  const auto there = [](const std::vector<std::int32_t>& numbers) { return at::tensor(numbers, at::kInt); };
  return {there(plan.rows), there(plan.stretches), there(plan.in_order), there(plan.results), plan.kept};
}

}  // namespace

TEST_CASE("sums of rows are those of index_add, of none, one and very many") {
  constexpr std::int64_t kResults = 7, kRows = 2'000;
  RowSumsPlanner planner(kResults);
  std::vector<std::int64_t> results;
  for (std::int64_t row = 0; row < kRows; ++row) {
    results.push_back(row == 3 ? 1 : row % 5 == 0 ? 4 : 2);  // 0, 3, 5 and 6 take none
    planner.add(results.back(), row);
  }
  const RowSumsPlan plan = planner.plan();
  const at::Tensor matrix = at::rand({kRows, 3}, at::kDouble);
  const at::Tensor expected = at::zeros({kResults, 3}, at::kDouble).index_add_(0, at::tensor(results, at::kLong), matrix);
  CHECK(relative_difference(row_sums_of(plan).of(matrix), expected) <= 1e-14);
  // By hand: 1,599 rows in stretches of 40.
  CHECK(plan.results == std::vector<std::int32_t>{0, 0, 1, 41, 41, 51, 51});
  CHECK(plan.stretches.size() == 51);
  CHECK(plan.stretches[1] == 1);
  CHECK(plan.stretches[2] == 41);
  CHECK(plan.rows[1] == 1);  // in their order
  CHECK(plan.rows[2] == 2);
}

TEST_CASE("sums of rows, each of one at most: a look-up backwards") {
  const at::Tensor matrix = at::arange(8, at::kDouble).view({4, 2});
  const at::Tensor found = sums_of_rows(matrix, at::tensor({3, 0}, at::kInt), at::tensor({0, 1, 1, 2}, at::kInt));
  CHECK(found.equal(at::tensor({6, 7, 0, 0, 0, 1, 0, 0}, at::kDouble).view({4, 2})));
}

}  // namespace hpcbench::train

// Sums of rows that the host plans and the device computes: the gradient of a look-up.
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
  // Computed manually: 1,599 rows in stretches of 40.
  CHECK(plan.results == std::vector<std::int32_t>{0, 0, 1, 41, 41, 51, 51});
  CHECK(plan.stretches.size() == 51);
  CHECK(plan.stretches[1] == 1);
  CHECK(plan.stretches[2] == 41);
  CHECK(plan.rows[1] == 1);  // in their order
  CHECK(plan.rows[2] == 2);
}

TEST_CASE("sums of rows in bounds: plans of one size for all look-ups, and the same sums") {
  constexpr std::int64_t kResults = 9, kRows = 60;
  const RowSumsBounds bounds{kRows, 50, 7};
  // The number of rows for each result: none at all, all to the bounds, one of many, many of one.
  const std::vector<std::vector<std::int64_t>> takings = {
      {0, 0, 0, 0, 0, 0, 0, 0, 0}, {9, 9, 9, 9, 8, 8, 8, 0, 0}, {0, 50, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1, 0, 0, 50}};
  const at::Tensor matrix = at::rand({kRows, 3}, at::kDouble);
  std::vector<std::vector<std::size_t>> sizes;
  for (const std::vector<std::int64_t>& counts : takings) {
    RowSumsPlanner planner(kResults, bounds);
    std::vector<std::int64_t> results;
    for (std::int64_t result = 0; result < kResults; ++result) {
      for (std::int64_t number = 0; number < counts[static_cast<std::size_t>(result)]; ++number) {
        planner.add(result, std::ssize(results));
        results.push_back(result);
      }
    }
    const RowSumsPlan plan = planner.plan();
    sizes.push_back({plan.rows.size(), plan.stretches.size(), plan.in_order.size(), plan.results.size()});
    CHECK(sizes.back() == sizes.front());
    const at::Tensor used = matrix.narrow(0, 0, std::ssize(results));
    const at::Tensor expected = at::zeros({kResults, 3}, at::kDouble).index_add_(0, at::tensor(results, at::kLong), used);
    const at::Tensor found = row_sums_of(plan).of(matrix);
    CHECK(found.sizes() == expected.sizes());
    CHECK((found - expected).abs().max().item<double>() <= 1e-13);
    // Nothing takes much longer than the longest sum: 8 is the root of 50, rounded up.
    for (std::size_t stretch = 1; stretch < plan.stretches.size(); ++stretch)
      CHECK(plan.stretches[stretch] - plan.stretches[stretch - 1] <= 8);
    for (std::size_t result = 1; result < plan.results.size(); ++result)
      CHECK(plan.results[result] - plan.results[result - 1] <= 8);
    CHECK(std::ssize(plan.in_order) - plan.results.back() <= 8);
  }
  RowSumsPlanner too_many(kResults, {2, 2, 2});
  for (std::int64_t row = 0; row < 3; ++row) too_many.add(row, row);
  CHECK_THROWS(too_many.plan());
}

TEST_CASE("sums of rows, each of one at most: a look-up backwards") {
  const at::Tensor matrix = at::arange(8, at::kDouble).view({4, 2});
  const at::Tensor found = sums_of_rows(matrix, at::tensor({3, 0}, at::kInt), at::tensor({0, 1, 1, 2}, at::kInt));
  CHECK(found.equal(at::tensor({6, 7, 0, 0, 0, 1, 0, 0}, at::kDouble).view({4, 2})));
}

}  // namespace hpcbench::train

// Dropout's hash: rate, and independence of all its inputs, with fixed keys.

#include "bert_testing.hpp"

namespace hpcbench::train {

namespace {

using kernels::DropoutSite;

/// Draws of a site for `rows` tokens of a sample: 1 = dropped.
std::vector<std::uint8_t> draws(std::uint64_t seed, std::int64_t step, std::uint64_t number, std::int64_t place, double rate,
                                std::int64_t rows, std::int64_t width) {
  const DropoutSite site = kernels::dropout_site(seed, step, number, rate);
  std::vector<std::uint8_t> dropped;
  std::vector<double> mask(static_cast<std::size_t>(width));
  for (std::int64_t row = 0; row < rows; ++row) {
    kernels::dropout_mask_row(site, kernels::row_key(site, kernels::token_key(place, row)), width, mask.data());
    for (const double factor : mask) dropped.push_back(factor == 0 ? 1 : 0);
  }
  return dropped;
}

/// (counted - expected)^2 / variance of a binomial count: chi-squared with one degree of freedom.
double chi_squared(double counted, double draws, double probability) {
  const double expected = draws * probability;
  return (counted - expected) * (counted - expected) / (expected * (1 - probability));
}

double dropped_together(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b, std::size_t shift) {
  double count = 0;
  for (std::size_t index = 0; index + shift < a.size(); ++index) count += a[index] & b[index + shift];
  return count;
}

constexpr double kRate = 0.1;
// One degree of freedom: a correct hash exceeds 15.1 once in 10,000 tests. Keys are fixed, so the result is reproducible.
constexpr double kLimit = 15.1;

}  // namespace

TEST_CASE("dropout meets its rate, over all, by element, by token, and in pairs") {
  constexpr std::int64_t kRows = 512, kWidth = 768;
  const std::vector<std::uint8_t> dropped = draws(1, 1, 2, 3, kRate, kRows, kWidth);
  double total = 0, pairs = 0;
  std::vector<double> by_element(kWidth), by_row(kRows);
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t e = 0; e < kWidth; ++e) {
      const double one = dropped[static_cast<std::size_t>(row * kWidth + e)];
      total += one;
      by_element[static_cast<std::size_t>(e)] += one;
      by_row[static_cast<std::size_t>(row)] += one;
      if (e > 0) pairs += one * dropped[static_cast<std::size_t>(row * kWidth + e - 1)];
    }
  }
  CHECK(chi_squared(total, kRows * kWidth, kRate) < kLimit);
  CHECK(chi_squared(pairs, kRows * (kWidth - 1), kRate * kRate) < kLimit);
  double of_elements = 0, of_rows = 0;
  for (const double count : by_element) of_elements += chi_squared(count, kRows, kRate);
  for (const double count : by_row) of_rows += chi_squared(count, kWidth, kRate);
  // Chi-squared with n degrees of freedom: mean n, variance 2 n; 4 standard deviations.
  CHECK(std::abs(of_elements - kWidth) < 4 * std::sqrt(2.0 * kWidth));
  CHECK(std::abs(of_rows - kRows) < 4 * std::sqrt(2.0 * kRows));
}

TEST_CASE("dropout of other seeds, steps, sites, places, tokens and heads is independent") {
  constexpr std::int64_t kRows = 256, kWidth = 512;
  const double count = kRows * kWidth;
  const std::vector<std::uint8_t> base = draws(1, 1, 2, 3, kRate, kRows, kWidth);
  const std::vector<std::vector<std::uint8_t>> others = {
      draws(2, 1, 2, 3, kRate, kRows, kWidth), draws(1, 2, 2, 3, kRate, kRows, kWidth),
      draws(1, 1, 3, 3, kRate, kRows, kWidth), draws(1, 1, 2, 4, kRate, kRows, kWidth),
      draws(1, 3, 0, 3, kRate, kRows, kWidth), draws(3, 1, 2, 1, kRate, kRows, kWidth)};
  for (const std::vector<std::uint8_t>& other : others) {
    CHECK(other != base);
    for (const std::size_t shift : {0, 1, 512, 513}) {
      CHECK(chi_squared(dropped_together(base, other, shift), count - static_cast<double>(shift), kRate * kRate) < kLimit);
    }
  }
  for (const std::size_t shift : {1, 2, 16, 511, 512, 513, 1024}) {
    CHECK(chi_squared(dropped_together(base, base, shift), count - static_cast<double>(shift), kRate * kRate) < kLimit);
  }
  const DropoutSite site = kernels::dropout_site(1, 1, 4, kRate);
  std::vector<double> one(1 << 16), two(1 << 16);
  for (const std::int64_t head : {1, 2, 11}) {
    kernels::dropout_mask_row(site, kernels::head_key(site, kernels::token_key(0, 5), 0), 1 << 16, one.data());
    kernels::dropout_mask_row(site, kernels::head_key(site, kernels::token_key(0, 5), head), 1 << 16, two.data());
    double both = 0;
    for (std::size_t e = 0; e < one.size(); ++e) both += one[e] == 0 && two[e] == 0 ? 1 : 0;
    CHECK(chi_squared(both, 1 << 16, kRate * kRate) < kLimit);
  }
}

TEST_CASE("rates: 0 draws nothing, others are met, and what is kept makes up for what is dropped") {
  CHECK_FALSE(kernels::dropout_site(1, 1, 1, 0.0).on());
  for (const double rate : {0.01, 0.25, 0.5, 0.9}) {
    const std::vector<std::uint8_t> dropped = draws(11, 5, 7, 0, rate, 512, 512);
    double total = 0;
    for (const std::uint8_t one : dropped) total += one;
    CHECK(chi_squared(total, 512.0 * 512.0, rate) < kLimit);
    CHECK(kernels::dropout_site(1, 1, 1, rate).kept == 1 / (1 - rate));
  }
}

TEST_CASE("the model's own dropout: off in evaluation, other in other steps, the same in the same step") {
  const BertConfig config = tiny_bert_config();
  BertOptions options;
  options.type = at::kDouble;
  Bert bert(config, options, 1);
  perturb(bert, 0.2, 1);
  const BertBatch batch = random_batch(config, {30, 12}, 0);
  const DropoutKey one{1, 1}, two{1, 2}, other{2, 1};
  const at::Tensor evaluation = bert.logits(batch, nullptr).detach();
  CHECK(at::equal(evaluation, bert.logits(batch, nullptr).detach()));
  const at::Tensor drawn = bert.logits(batch, &one).detach();
  CHECK(at::equal(drawn, bert.logits(batch, &one).detach()));
  CHECK_FALSE(at::equal(drawn, evaluation));
  CHECK_FALSE(at::equal(drawn, bert.logits(batch, &two).detach()));
  CHECK_FALSE(at::equal(drawn, bert.logits(batch, &other).detach()));
}

}  // namespace hpcbench::train

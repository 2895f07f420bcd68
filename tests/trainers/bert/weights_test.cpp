#include <algorithm>
#include <cmath>

#include "bert_testing.hpp"
#include "kernels/bert_kernels.hpp"

namespace hpcbench::train {

namespace {

std::vector<float> normals(std::uint64_t key, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  kernels::fill_normal({key, 1.0, count, values.data()}, 0, (count + kernels::kNormalsOfGroup - 1) / kernels::kNormalsOfGroup);
  return values;
}

double mean_of(const std::vector<float>& values, const auto& function) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += function(i);
  return sum / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("random weights are normal: moments, the distribution, no correlation between neighbours, halves and keys") {
  constexpr std::int64_t kCount = 1 << 20;
  const double error = 1 / std::sqrt(static_cast<double>(kCount));
  const std::vector<float> x = normals(12345, kCount);
  const auto power = [&](int n) { return mean_of(x, [&](std::size_t i) { return std::pow(static_cast<double>(x[i]), n); }); };
  // Moments 0, 1, 0, 3, 0, 15 with their standard errors: the root of (E x^2n - (E x^n)^2) / N.
  CHECK(std::abs(power(1)) < 4 * error);
  CHECK(std::abs(power(2) - 1) < 4 * std::sqrt(2) * error);
  CHECK(std::abs(power(3)) < 4 * std::sqrt(15) * error);
  CHECK(std::abs(power(4) - 3) < 4 * std::sqrt(96) * error);
  CHECK(std::abs(power(6) - 15) < 4 * std::sqrt(10395 - 225) * error);
  const std::size_t n = x.size();
  for (const std::size_t distance : {1, 2, 15, 16, 17, 31, 32, 64, 1024}) {
    CAPTURE(distance);
    const auto product = [&](std::size_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[(i + distance) % n]); };
    CHECK(std::abs(mean_of(x, product)) < 4 * error);
    const auto of_squares = [&](std::size_t i) { return product(i) * product(i) - 1; };
    CHECK(std::abs(mean_of(x, of_squares)) < 4 * std::sqrt(8) * error);
  }
  const std::vector<float> other = normals(12346, kCount);
  CHECK(std::abs(mean_of(x, [&](std::size_t i) { return static_cast<double>(x[i]) * static_cast<double>(other[i]); })) <
        4 * error);
  // Kolmogorov and Smirnov: the largest distance of the distributions; chance exceeds 1.95 in 1 of 1000 cases.
  std::vector<float> sorted = x;
  std::sort(sorted.begin(), sorted.end());
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double expected = std::erfc(-static_cast<double>(sorted[i]) / std::sqrt(2.0)) / 2;
    largest = std::max(largest, std::abs(expected - (static_cast<double>(i) + 0.5) / static_cast<double>(n)));
  }
  CHECK(largest < 1.95 * error);
  CHECK(std::abs(sorted.front()) < 5.8F);
  CHECK(sorted.back() > 4.0F);
}

TEST_CASE("random weights depend on seed and place alone, and end where they end") {
  const std::vector<float> long_one = normals(7, 1000);
  for (const std::int64_t count : {1, 15, 16, 17, 31, 32, 33, 47, 48, 999}) {
    std::vector<float> values(static_cast<std::size_t>(count) + 1, 9.0F);
    const kernels::NormalFill fill{7, 1.0, count, values.data()};
    const std::int64_t groups = (count + kernels::kNormalsOfGroup - 1) / kernels::kNormalsOfGroup;
    for (std::int64_t group = groups; group-- > 0;) kernels::fill_normal(fill, group, group + 1);
    CHECK(std::equal(values.begin(), values.end() - 1, long_one.begin()));
    CHECK(values.back() == 9.0F);
  }
  const BertConfig config = tiny_bert_config();
  const auto made = [&](std::uint64_t seed, at::ScalarType type) {
    BertOptions options;
    options.type = type;
    Model model;
    make_bert_weights(config, options.type, seed, model);
    return model;
  };
  const Model first = made(1, at::kFloat), again = made(1, at::kFloat), exact = made(1, at::kDouble),
              other = made(2, at::kFloat);
  for (std::size_t index = 0; index < first.parameters.size(); ++index) {
    const at::Tensor& tensor = first.parameters[index].tensor;
    CAPTURE(first.parameters[index].name);
    CHECK(at::equal(tensor, again.parameters[index].tensor));
    CHECK(at::equal(tensor.to(at::kDouble), exact.parameters[index].tensor));
    if (tensor.dim() < 2) continue;
    CHECK_FALSE(at::equal(tensor, other.parameters[index].tensor));
    CHECK(tensor.std().item<double>() == doctest::Approx(config.initializer_range).epsilon(0.2));
  }
  CHECK(first.parameters.front().tensor[0].abs().max().item<double>() == 0);  // the padding token's embedding
}

}  // namespace hpcbench::train

#include <numeric>

#include "kernels/kernels.hpp"
#include "tasks/mnist_rnn/lstm.hpp"
#include "tasks/mnist_rnn/mnist_settings.hpp"
#include "tasks/task.hpp"
#include "trainers/ranks.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

at::Tensor random_leaf(at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble).mul_(0.3).requires_grad_(); }

/// Returns settings of a small fp64 model on few samples.
Settings small_settings() {
  Settings settings;
  settings.data = mnist_folder();
  settings.precision = Precision::fp64;
  settings.task = "mnist_rnn";
  settings.own<MnistSettings>().hidden = 8;
  return settings;
}

}  // namespace

TEST_CASE("the LSTM and its derivatives are those of at::lstm") {
  at::manual_seed(5);
  // An odd batch, or a width that is no multiple of 16, goes step by step; 14 rows of width 16 or 48 are shared by threads.
  for (const auto& [hidden, batch] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 5}, {16, 5}, {3, 14}, {16, 14}, {48, 22}}) {
    const at::Tensor sequences = at::randn({7, batch, 4}, at::kDouble);
    const LstmWeights ours{random_leaf({4 * hidden, 4}), random_leaf({4 * hidden, hidden}), random_leaf({4 * hidden}),
                           random_leaf({4 * hidden})};
    std::vector<at::Tensor> theirs;
    for (const at::Tensor& weight : {ours.input, ours.recurrent, ours.input_bias, ours.recurrent_bias})
      theirs.push_back(weight.detach().clone().requires_grad_());
    const at::Tensor zeros = at::zeros({1, batch, hidden}, at::kDouble);
    const at::Tensor expected = std::get<0>(at::lstm(sequences, {zeros, zeros}, theirs, true, 1, 0.0, true, false, false))[6];
    const at::Tensor state = lstm_last_state(sequences, ours);
    CHECK(relative_difference(state, expected) < 1e-13);
    const at::Tensor weight = at::randn_like(expected);
    (state * weight).sum().backward();
    (expected * weight).sum().backward();
    CHECK(relative_difference(ours.input.grad(), theirs[0].grad()) < 1e-12);
    CHECK(relative_difference(ours.recurrent.grad(), theirs[1].grad()) < 1e-12);
    CHECK(relative_difference(ours.input_bias.grad(), theirs[2].grad()) < 1e-12);
    CHECK(relative_difference(ours.recurrent_bias.grad(), theirs[3].grad()) < 1e-12);
  }
}

TEST_CASE("activations stay finite and right at large values") {
  double gates[4] = {-800, 800, 40, 800};  // i, f, g, o of one element
  const double c_before = 0.5;
  double c = 0, tanh_c = 0, h = 0;
  kernels::lstm_forward(gates, &c_before, &c, &tanh_c, &h, 1, 1);
  CHECK(gates[0] == doctest::Approx(0.0));
  CHECK(gates[1] == doctest::Approx(1.0));
  CHECK(c == doctest::Approx(0.5));
  CHECK(h == doctest::Approx(0.46211715726));  // tanh(0.5)
}

TEST_CASE("the task's gradients are those of finite differences, with batch normalisation and dropout") {
  const std::unique_ptr<Task> task = make_task(small_settings());
  task->load();
  const at::Tensor samples = at::arange(12, at::kLong);
  const StepPlace place{3, 0, 1};
  task->loss(samples, place).backward();
  for (NamedTensor& parameter : task->model().parameters) {
    CAPTURE(parameter.name);
    const at::NoGradGuard no_grad;
    constexpr double kStep = 1e-6;
    double* const value = parameter.tensor.data_ptr<double>();
    const double before = *value;
    *value = before + kStep;
    const double above = task->loss(samples, place).item<double>();
    *value = before - kStep;
    const double below = task->loss(samples, place).item<double>();
    *value = before;
    const double expected = (above - below) / (2 * kStep);
    const double gradient = parameter.tensor.grad().flatten()[0].item<double>();
    CHECK(std::abs(gradient - expected) <= 1e-7 + 1e-5 * std::abs(expected));
  }
}

TEST_CASE("parameters begin as PyTorch's do, the same for the same seed") {
  Settings settings = small_settings();
  const auto values = [&] {
    std::vector<at::Tensor> tensors;
    const std::unique_ptr<Task> task = make_task(settings);
    for (const NamedTensor& parameter : task->model().parameters) tensors.push_back(parameter.tensor.detach());
    return tensors;
  };
  const std::vector<at::Tensor> first = values();
  REQUIRE(first.size() == 10);
  const double bound = 1 / std::sqrt(8.0);
  CHECK(first[0].abs().max().item<double>() <= bound);
  CHECK(first[0].abs().max().item<double>() > 0.9 * bound);
  CHECK(at::equal(first[4], at::ones({8}, at::kDouble)));   // batch normalisation's weight
  CHECK(at::equal(first[5], at::zeros({8}, at::kDouble)));  // and bias
  CHECK(first[8].abs().max().item<double>() <= 1 / std::sqrt(32.0));
  CHECK(at::equal(first[0], values()[0]));
  settings.seed = 2;
  CHECK_FALSE(at::equal(first[0], values()[0]));
}

TEST_CASE("dropout: the rate, and the same mask however the batch is spread") {
  constexpr std::int64_t kRows = 200, kWidth = 50;
  std::vector<double> whole(kRows * kWidth), half(kRows / 2 * kWidth);
  const kernels::DropoutKey key{7, 3, 1, 0, 1};
  kernels::dropout_mask(key, 0.25, kRows, kWidth, whole.data());
  const auto zeros = std::count(whole.begin(), whole.end(), 0.0);
  CHECK(std::abs(static_cast<double>(zeros) / 10000 - 0.25) < 0.03);
  CHECK(*std::max_element(whole.begin(), whole.end()) == doctest::Approx(1 / 0.75));
  for (const std::int64_t rank : {0, 1}) {
    kernels::dropout_mask({7, 3, 1, rank, 2}, 0.25, kRows / 2, kWidth, half.data());
    for (std::int64_t row = 0; row < kRows / 2; ++row)
      CHECK(std::equal(half.begin() + row * kWidth, half.begin() + (row + 1) * kWidth,
                       whole.begin() + (2 * row + rank) * kWidth));
  }
  std::vector<double> other(kRows * kWidth);
  kernels::dropout_mask({7, 4, 1, 0, 1}, 0.25, kRows, kWidth, other.data());
  CHECK(other != whole);
}

}  // namespace hpcbench::train

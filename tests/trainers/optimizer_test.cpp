#include "optim/optimizer.hpp"

#include <ATen/Parallel.h>

#include <cmath>

#include "trainers/torch_doctest.hpp"
#include "training/schedule.hpp"

namespace hpcbench::train {

namespace {

/// Returns one parameter of the value 1 after steps with the gradient 2.
double after_steps(const OptimizerOptions& options, double lr, int steps) {
  at::Tensor parameter = at::full({1}, 1.0, at::kDouble).requires_grad_();
  Optimizer optimizer(options, {{"p", parameter}});
  for (int step = 0; step < steps; ++step) {
    parameter.mutable_grad() = at::full({1}, 2.0, at::kDouble);
    optimizer.step(lr);
  }
  return parameter.item<double>();
}

/// torch.optim.AdamW (betas 0.9 and 0.999, eps 1e-8) as its documentation writes it, one tensor, in fp64.
struct ReferenceAdamW {
  at::Tensor p, m, v;
  int step = 0;
  void update(const at::Tensor& g, double lr, double weight_decay) {
    ++step;
    p = p - lr * weight_decay * p;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const at::Tensor m_hat = m / (1 - std::pow(0.9, step));
    const at::Tensor v_hat = v / (1 - std::pow(0.999, step));
    p = p - lr * m_hat / (v_hat.sqrt() + 1e-8);
  }
};

/// A table of embeddings and its optimiser, which uses the marks of touched rows or does not.
struct TableTrial {
  at::Tensor table;
  std::shared_ptr<TouchedRows> touched;
  std::optional<Optimizer> optimizer;

  TableTrial(const at::Tensor& start, const OptimizerOptions& options, bool trusts)
      : table(start.clone().requires_grad_()), touched(std::make_shared<TouchedRows>(start.size(0))) {
    if (trusts) touched->trust();
    optimizer.emplace(options, std::vector<NamedTensor>{{"table", table, 0, touched}});
  }

  /// Runs a backward pass: `values` are added to the gradient of `rows`.
  void add(const at::Tensor& rows, const at::Tensor& values) {
    touched->begin_pass();
    for (std::int64_t index = 0; index < rows.numel(); ++index) touched->mark(rows[index].item<std::int64_t>());
    const at::Tensor gradient = at::zeros_like(table.detach()).index_add(0, rows, values);
    table.mutable_grad() = table.grad().defined() ? table.grad() + gradient : gradient;
  }
};

Settings linear_settings() {
  Settings settings;
  settings.lr = 1.0;
  settings.gamma = 1;
  settings.schedule = Schedule::linear;
  return settings;
}

}  // namespace

TEST_CASE("Adadelta's formula: p = 1, g = 2, lr 0.1") {
  // s = 0.1 * 4 = 0.4; d = sqrt(1e-6) / sqrt(0.400001) * 2 = 0.003162273707...; p = 1 - 0.1 d
  const OptimizerOptions options{OptimizerKind::adadelta};
  const double d1 = 1e-3 / std::sqrt(0.400001) * 2;
  CHECK(d1 == doctest::Approx(0.00316227370).epsilon(1e-8));
  CHECK(after_steps(options, 0.1, 1) == doctest::Approx(1 - 0.1 * d1).epsilon(1e-14));
  // u = 0.1 d1^2; s = 0.9 * 0.4 + 0.4 = 0.76; d = sqrt(u + 1e-6) / sqrt(0.760001) * 2
  const double d2 = std::sqrt(0.1 * d1 * d1 + 1e-6) / std::sqrt(0.760001) * 2;
  CHECK(after_steps(options, 0.1, 2) == doctest::Approx(1 - 0.1 * d1 - 0.1 * d2).epsilon(1e-14));
}

TEST_CASE("SGD's formula: momentum and weight decay") {
  // v1 = 2, p = 1 - 0.2 = 0.8; v2 = 0.9 * 2 + 2 = 3.8, p = 0.8 - 0.38 = 0.42
  CHECK(after_steps({OptimizerKind::sgd, 0.9, 0}, 0.1, 2) == doctest::Approx(0.42).epsilon(1e-14));
  // g = 2 + 0.5 * 1 = 2.5, p = 0.75
  CHECK(after_steps({OptimizerKind::sgd, 0, 0.5}, 0.1, 1) == doctest::Approx(0.75).epsilon(1e-14));
  // A vector is a bias for the optimiser.
  CHECK(after_steps({OptimizerKind::sgd, 0, 0.5, false}, 0.1, 1) == doctest::Approx(0.8).epsilon(1e-14));
}

TEST_CASE("AdamW's formula: the first step is lr long, and the decay is decoupled") {
  CHECK(after_steps({OptimizerKind::adamw, 0, 0}, 0.1, 1) == doctest::Approx(0.9).epsilon(1e-8));
  CHECK(after_steps({OptimizerKind::adamw, 0, 0.5}, 0.1, 1) == doctest::Approx(0.85).epsilon(1e-8));
  CHECK(after_steps({OptimizerKind::adamw, 0, 0}, 0.1, 3) == doctest::Approx(0.7).epsilon(1e-8));  // a constant gradient
}

TEST_CASE("AdamW over several tensors, larger than a block: torch's formula in fp64, with clipping") {
  at::manual_seed(3);
  constexpr double kLr = 1e-2, kDecay = 0.1, kClip = 0.5;
  std::vector<NamedTensor> parameters;
  std::vector<ReferenceAdamW> references;
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{300, 301}, {7}, {33, 3}}) {
    const at::Tensor start = at::randn(sizes, at::kDouble);
    parameters.push_back({std::to_string(parameters.size()), start.clone().requires_grad_()});
    references.push_back({start, at::zeros_like(start), at::zeros_like(start)});
  }
  Optimizer optimizer({OptimizerKind::adamw, 0, kDecay, false, kClip}, parameters);
  for (int step = 0; step < 5; ++step) {
    std::vector<at::Tensor> gradients;
    double squares = 0;
    for (NamedTensor& parameter : parameters) {
      gradients.push_back(at::randn(parameter.tensor.sizes(), at::kDouble) * (step == 3 ? 1e-6 : 1));
      parameter.tensor.mutable_grad() = gradients.back().clone();
      squares += gradients.back().square().sum().item<double>();
    }
    const double norm = std::sqrt(squares);
    const double scale = std::min(1.0, kClip / (norm + 1e-6));  // torch.nn.utils.clip_grad_norm_
    CHECK((scale == 1) == (step == 3));
    const std::optional<Reading> said = optimizer.step(kLr);
    REQUIRE(said.has_value());
    CHECK(said->read() == doctest::Approx(norm).epsilon(1e-13));
    for (std::size_t index = 0; index < references.size(); ++index) {
      const bool bias = references[index].p.dim() < 2;
      references[index].update(gradients[index] * scale, kLr, bias ? 0 : kDecay);
      CHECK(relative_difference(parameters[index].tensor.detach(), references[index].p) < 1e-12);
    }
  }
}

TEST_CASE("an optimiser's state moves to another one, which goes on bit for bit") {
  at::manual_seed(4);
  const at::Tensor start = at::randn({40, 5});
  std::vector<at::Tensor> gradients;
  for (int step = 0; step < 6; ++step) gradients.push_back(at::randn({40, 5}));
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adadelta, OptimizerKind::adamw}) {
    const OptimizerOptions options{kind, kind == OptimizerKind::sgd ? 0.9 : 0, 0.01};
    at::Tensor whole = start.clone().requires_grad_();
    Optimizer first(options, {{"w", whole}});
    at::Tensor other;
    std::optional<Optimizer> second;
    for (int step = 0; step < 6; ++step) {
      if (step == 3) {
        other = whole.detach().clone().requires_grad_();
        second.emplace(options, std::vector<NamedTensor>{{"w", other}});
        second->load_state(first.state(), first.steps());
      }
      whole.mutable_grad() = gradients[static_cast<std::size_t>(step)].clone();
      first.step(0.01);
      if (!second) continue;
      other.mutable_grad() = gradients[static_cast<std::size_t>(step)].clone();
      second->step(0.01);
    }
    CHECK(at::equal(whole, other));
    CHECK_FALSE(at::equal(whole, start));
  }
}

TEST_CASE("rows of a table that no batch touched: the same bits as without marks, with decay, clipping, accumulation, resume") {
  at::manual_seed(5);
  constexpr std::int64_t kRows = 700;
  for (const std::int64_t width : {1, 5, 48, 128}) {
    for (const OptimizerOptions& options : {OptimizerOptions{OptimizerKind::adamw, 0, 0.01},
                                            {OptimizerKind::adamw, 0, 0},
                                            {OptimizerKind::adamw, 0, 0.1, false, 0.5},
                                            {OptimizerKind::sgd, 0.9, 0.01, true, 0.5},
                                            {OptimizerKind::adadelta, 0, 0.01, true, 0.5}}) {
      for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
        const at::Tensor start = at::randn({kRows, width}, type);
        TableTrial dense(start, options, false), marked(start, options, true);
        for (int step = 0; step < 12; ++step) {
          if (step == 7) {  // the run continues in another process, which knows only the checkpoint
            const std::vector<NamedTensor> state = marked.optimizer->state();
            TableTrial later(marked.table.detach(), options, true);
            later.optimizer->load_state(state, marked.optimizer->steps());
            marked = std::move(later);
          }
          dense.optimizer->clear_gradients();
          marked.optimizer->clear_gradients();
          for (int pass = 0; pass < 1 + step % 2; ++pass) {
            const at::Tensor rows = at::randint(0, 40 * (1 + step), {30}, at::kLong);
            const at::Tensor values = at::randn({30, width}, type);
            dense.add(rows, values);
            marked.add(rows, values);
          }
          const double lr = step == 4 ? 0.0 : 0.01 + 0.001 * step;  // a schedule may reach 0
          const std::optional<Reading> dense_norm = dense.optimizer->step(lr), marked_norm = marked.optimizer->step(lr);
          REQUIRE(dense_norm.has_value() == marked_norm.has_value());
          if (dense_norm) CHECK(dense_norm->read() == marked_norm->read());
          if (step % 5 < 3) {  // the model continues, and reads some rows, one of them twice; others are postponed
            const at::Tensor read = at::cat({at::randint(0, kRows, {20}, at::kLong), at::tensor({7, 7}, at::kLong)});
            marked.touched->read(read.const_data_ptr<std::int64_t>(), read.numel());
            REQUIRE(at::equal(dense.table.index_select(0, read), marked.table.index_select(0, read)));
            continue;
          }
          marked.optimizer->catch_up();
          REQUIRE(at::equal(dense.table, marked.table));
          for (std::size_t index = 0; index < dense.optimizer->state().size(); ++index) {
            REQUIRE(at::equal(dense.optimizer->state()[index].tensor, marked.optimizer->state()[index].tensor));
          }
        }
      }
    }
  }
}

TEST_CASE("AdamW postpones rows until they are read, with 1 to 4 threads; other optimisers never do") {
  const int threads_before = at::get_num_threads();
  const at::Tensor start = at::linspace(1, 2, 3 * 40, at::kDouble).view({3, 40});
  const at::Tensor row_1 = at::tensor({1}, at::kLong), row_2 = at::tensor({2}, at::kLong),
                   values = at::ones({1, 40}, at::kDouble);
  for (const int threads : {1, 2, 3, 4}) {
    at::set_num_threads(threads);
    TableTrial late(start, {OptimizerKind::adamw, 0, 0.1}, true);
    for (const at::Tensor& row : {row_1, row_2, row_2}) {
      late.optimizer->clear_gradients();
      late.add(row, values);
      late.optimizer->step(0.01);
    }
    CHECK(at::equal(late.table[0], start[0]));  // three steps of decay postponed
    at::Tensor decayed = start[0].clone();
    for (int step = 0; step < 3; ++step) decayed = decayed * (1 - 0.01 * 0.1);
    const at::Tensor once = late.table[1].detach().clone();  // one step with its gradient, two postponed
    const std::int64_t first_rows[] = {0, 1};
    late.touched->read(first_rows, 2);
    CHECK(at::equal(late.table[0], decayed));
    CHECK((late.table[1] < once * (1 - 0.01 * 0.1)).all().item<bool>());  // its momentum moves it, too
    const at::Tensor whole = late.table.detach().clone();
    late.optimizer->catch_up();  // nothing is postponed
    CHECK(at::equal(late.table, whole));
  }
  at::set_num_threads(threads_before);
  TableTrial sgd(start, {OptimizerKind::sgd, 0, 0.1}, true);
  sgd.add(row_1, values);
  sgd.optimizer->step(0.01);
  CHECK_FALSE(at::equal(sgd.table[0], start[0]));
}

TEST_CASE("the learning rate: linear with warm-up as get_linear_schedule_with_warmup") {
  Settings settings = linear_settings();
  const LearningRate plain(settings, 4);
  for (const auto& [step, lr] : std::map<int, double>{{1, 1.0}, {2, 0.75}, {3, 0.5}, {4, 0.25}})
    CHECK(plain.at_step(step, 1) == lr);
  settings.warmup_steps = 2;
  const LearningRate warm(settings, 6);
  for (const auto& [step, lr] : std::map<int, double>{{1, 0.0}, {2, 0.5}, {3, 1.0}, {4, 0.75}, {6, 0.25}, {9, 0.0}})
    CHECK(warm.at_step(step, 1) == lr);
  settings.warmup_steps.reset();
  settings.warmup_share = 0.21;
  CHECK(LearningRate(settings, 10).warmup_steps() == 3);  // rounded up
  settings.schedule = Schedule::constant;
  CHECK(LearningRate(settings, 10).at_step(2, 1) == doctest::Approx(1.0 / 3));
  CHECK(LearningRate(settings, 10).at_step(10, 1) == 1.0);
  settings.gamma = 0.5;
  CHECK(LearningRate(settings, 10).at_step(10, 3) == 0.25);
  settings = linear_settings();
  settings.warmup_steps = 11;
  CHECK_THROWS_WITH(LearningRate(settings, 10), "error: warmup_steps is 11, but the run has only 10 steps");
}

TEST_CASE("optimisers give the same bits with 1, 2, 3 and 4 threads, clipping included") {
  const int threads_before = at::get_num_threads();
  const at::Tensor start = at::linspace(-1, 1, 300007, at::kFloat);
  const at::Tensor gradient = at::sin(at::arange(300007, at::kFloat));
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adadelta, OptimizerKind::adamw}) {
    std::vector<at::Tensor> results;
    std::vector<double> norms;
    for (const int threads : {1, 2, 3, 4}) {
      at::set_num_threads(threads);
      at::Tensor parameter = start.clone().requires_grad_();
      OptimizerOptions options{kind, 0.9, 0.01};
      options.clip = 1;
      Optimizer optimizer(options, {{"p", parameter}});
      for (int step = 0; step < 3; ++step) {
        parameter.mutable_grad() = gradient * (step + 1);
        norms.push_back(optimizer.step(1e-3)->read());
      }
      results.push_back(parameter.detach());
    }
    at::set_num_threads(threads_before);
    for (const at::Tensor& result : results) CHECK(at::equal(result, results.front()));
    for (std::size_t index = 3; index < norms.size(); ++index) CHECK(norms[index] == norms[index - 3]);
    norms.clear();
  }
}

}  // namespace hpcbench::train

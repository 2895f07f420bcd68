// AdamW's kernels for GPUs, run on a CPU, against our own for CPUs and against fp64; common properties of all ways to update.

#include "optim/gpu_adamw.hpp"

#include <limits>

#include "optim/optimizer.hpp"
#include "trainers/cuda_on_cpu/cuda_words.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

namespace adamw_on_cpu {
#include "kernels/gpu/adamw_arguments.inc"
#include "kernels/gpu/adamw_kernels.inc"
}  // namespace adamw_on_cpu

std::shared_ptr<CpuGpuProgram> cpu_adamw_program() {
  using namespace adamw_on_cpu;
  return std::make_shared<CpuGpuProgram>(std::map<std::string, CpuGpuProgram::Kernel>{
      {"adamw", [](void* a) { adamw(*static_cast<AdamWArguments*>(a)); }},
      {"gradient_squares", [](void* a) { gradient_squares(*static_cast<SquareArguments*>(a)); }},
      {"gradient_norm", [](void* a) { gradient_norm(*static_cast<NormArguments*>(a)); }}});
}

/// Of a few elements, of several chunks, and more of them than one launch takes; every second one begins anywhere, like a piece
/// of a strategy's flat tensor.
std::vector<std::vector<std::int64_t>> sizes_of_all() {
  std::vector<std::vector<std::int64_t>> all = {{1}, {8192}, {3, 8191}, {8193}, {0}, {40, 30}};
  while (all.size() < 170) all.push_back({static_cast<std::int64_t>(all.size() % 7 + 1), 3});
  return all;
}

at::Tensor drawn(at::IntArrayRef sizes, at::Generator generator, bool is_aligned) {
  const std::int64_t skipped = is_aligned ? 0 : 1;
  const at::Tensor memory = at::empty({c10::multiply_integers(sizes) + skipped}).normal_(0.1, 1, std::move(generator));
  return memory.narrow(0, skipped, memory.numel() - skipped).view(sizes);
}

/// Returns parameters and states after three steps on the same random gradients, the first of which a few parameters do not
/// have.
std::vector<at::Tensor> after_adamw(double weight_decay, double clip, const std::shared_ptr<const GpuProgram>& kernels) {
  at::Generator generator = at::detail::createCPUGenerator(7);
  std::vector<NamedTensor> parameters;
  for (const std::vector<std::int64_t>& sizes : sizes_of_all()) {
    parameters.push_back({"p" + std::to_string(parameters.size()), drawn(sizes, generator, parameters.size() % 2 == 0)});
    parameters.back().tensor.requires_grad_();
  }
  OptimizerOptions options{OptimizerKind::adamw, 0, weight_decay, false, clip};
  options.gpu_program = kernels;
  Optimizer optimizer(options, parameters);
  std::vector<at::Tensor> values;
  for (int step = 0; step < 3; ++step) {
    for (std::size_t index = 0; index < parameters.size(); ++index) {
      at::Tensor gradient = drawn(parameters[index].tensor.sizes(), generator, index % 3 != 0);
      if (step > 0 || index % 5 != 1) parameters[index].tensor.mutable_grad() = gradient;
    }
    const std::optional<Reading> norm = optimizer.step(0.01);
    if (norm) values.push_back(at::scalar_tensor(norm->read(), at::kDouble));
    optimizer.clear_gradients();
  }
  for (const NamedTensor& each : parameters) values.push_back(each.tensor.detach());
  for (const NamedTensor& each : optimizer.state()) values.push_back(each.tensor);
  return values;
}

UpdatePart part_of_ones() {
  const UpdatePart part{at::ones({9}), at::zeros({9}), at::zeros({9}), 0};
  part.parameter.mutable_grad() = at::full({9}, 2.0);
  return part;
}

/// One parameter of ones, updated by our kernels for CPUs, by LibTorch's, or by ours for GPUs.
struct UpdatedWeight {
  at::Tensor weight = at::ones({9}).requires_grad_();
  std::optional<Optimizer> optimizer;

  UpdatedWeight(OptimizerKind kind, bool by_torch, bool as_on_gpu) {
    OptimizerOptions options{kind, kind == OptimizerKind::sgd ? 0.9 : 0.0, 0, true, 0.5, by_torch};
    if (as_on_gpu) options.gpu_program = cpu_adamw_program();
    optimizer.emplace(options, std::vector<NamedTensor>{{"w", weight}});
  }

  at::Tensor after_step(const at::Tensor& gradient) {
    weight.mutable_grad() = gradient;
    optimizer->step(0.01);
    return weight.detach().clone();
  }
};

/// Returns one for each way in which an update is made.
std::vector<UpdatedWeight> weights_updated_in_all_ways() {
  std::vector<UpdatedWeight> all;
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adadelta, OptimizerKind::adamw}) {
    for (const bool by_torch : {false, true}) all.emplace_back(kind, by_torch, false);
  }
  all.emplace_back(OptimizerKind::adamw, false, true);
  return all;
}

}  // namespace

TEST_CASE("GPU kernels of AdamW: steps and norms are those of the kernels for CPUs") {
  for (const double weight_decay : {0.0, 0.1}) {
    for (const double clip : {0.0, 0.5, 1e6}) {
      INFO("weight_decay ", weight_decay, " ", "clip ", clip);
      const std::shared_ptr<CpuGpuProgram> program = cpu_adamw_program();
      const std::vector<at::Tensor> expected = after_adamw(weight_decay, clip, nullptr);
      const std::vector<at::Tensor> found = after_adamw(weight_decay, clip, program);
      REQUIRE(found.size() == expected.size());
      for (std::size_t index = 0; index < found.size(); ++index) {
        INFO("value ", index);
        if (found[index].numel() > 0) CHECK(relative_difference(found[index], expected[index]) < 2e-6);
      }
      // 135 parts, then 169 twice, 80 per launch; for gradients 160, and one launch adds their squares.
      CHECK(program->launched().size() == (clip > 0 ? 8U + 2 + 3 + 3 : 8U));
    }
  }
}

TEST_CASE("GPU kernels of AdamW: the norm is that of fp64") {
  at::Generator generator = at::detail::createCPUGenerator(3);
  std::vector<at::Tensor> gradients;
  double squares = 0;
  for (const std::vector<std::int64_t>& sizes : sizes_of_all()) {
    gradients.push_back(drawn(sizes, generator, gradients.size() % 2 == 0));
    squares += gradients.back().to(at::kDouble).square().sum().item<double>();
  }
  const GpuAdamW kernels(cpu_adamw_program());
  const at::Tensor norm = kernels.norm(gradients);
  CHECK((norm.scalar_type() == at::kDouble));
  CHECK(norm.item<double>() == doctest::Approx(std::sqrt(squares)).epsilon(1e-7));
  CHECK(norm.equal(kernels.norm(gradients)));
  gradients[3][8192] = std::numeric_limits<float>::infinity();
  CHECK(std::isinf(kernels.norm(gradients).item<double>()));
  gradients[2][2][8190] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(kernels.norm(gradients).item<double>()));
}

TEST_CASE("GPU kernels of AdamW: a spoilt loss makes no step, a norm that is no number spoils it") {
  const GpuAdamW kernels(cpu_adamw_program());
  SpoiltMark mark;
  const auto updated = [&](double loss, const at::Tensor& norm = {}) {
    mark.note(at::scalar_tensor(loss, at::kFloat));
    const UpdatePart part = part_of_ones();
    kernels.update({part}, {0.1, 1, 1, norm, mark.sum()});
    return part.parameter;
  };
  // Of the first step, whatever the gradient's size.
  CHECK(updated(1.5).allclose(at::full({9}, 0.9)));
  CHECK(updated(1.5, at::scalar_tensor(6.0, at::kDouble)).allclose(at::full({9}, 0.9)));
  CHECK(updated(1.5, at::scalar_tensor(std::numeric_limits<double>::quiet_NaN(), at::kDouble)).isnan().all().item<bool>());
  CHECK(updated(std::numeric_limits<double>::infinity()).equal(at::ones({9})));
  CHECK(updated(1.5).equal(at::ones({9})));  // it is unchanged
}

TEST_CASE("GPU kernels of AdamW: gradients stay, and another type is refused") {
  const GpuAdamW kernels(cpu_adamw_program());
  const UpdatePart part = part_of_ones();
  kernels.update({part}, {0.1, 1, 0.5, at::scalar_tensor(6.0, at::kDouble), {}});
  CHECK(part.parameter.grad().equal(at::full({9}, 2.0)));
  CHECK(part.first.allclose(at::full({9}, 0.1 * 2.0 * 0.5 / 6.0)));
  const UpdatePart small = part_of_ones();  // a norm below the bound is unchanged
  kernels.update({small}, {0.1, 1, 9, at::scalar_tensor(6.0, at::kDouble), {}});
  CHECK(small.first.allclose(at::full({9}, 0.1 * 2.0)));
  part.parameter.mutable_grad() = part.parameter.grad().to(at::kDouble);
  CHECK_THROWS_WITH_AS(kernels.update({part}, {0.1}), doctest::Contains("contiguous fp32"), c10::Error);
}

TEST_CASE("no way to update keeps the memory of a gradient that was dropped, or uses it again") {
  for (UpdatedWeight& each : weights_updated_in_all_ways()) {
    for (const bool by_owner : {false, true}) {  // dp drops them itself
      const at::Tensor after = each.after_step(at::full({9}, 2.0));
      const c10::weak_intrusive_ptr<c10::StorageImpl> memory = each.weight.grad().storage().getWeakStorageImpl();
      if (by_owner) {
        each.weight.mutable_grad().reset();
      } else {
        each.optimizer->clear_gradients();
      }
      CHECK(memory.expired());
      CHECK(each.after_step({}).equal(after));
    }
  }
}

TEST_CASE("every way to update continues a loaded state") {
  std::vector<UpdatedWeight> some = weights_updated_in_all_ways(), others = weights_updated_in_all_ways();
  for (std::size_t index = 0; index < some.size(); ++index) {
    INFO("way ", index);
    others[index].weight.detach().copy_(some[index].after_step(at::full({9}, 2.0)));
    others[index].optimizer->load_state(some[index].optimizer->state(), some[index].optimizer->steps());
    const at::Tensor gradient = at::linspace(-1, 1, 9);
    CHECK(some[index].after_step(gradient.clone()).equal(others[index].after_step(gradient.clone())));
  }
}

}  // namespace hpcbench::train

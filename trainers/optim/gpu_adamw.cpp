#include "optim/gpu_adamw.hpp"

#include <ATen/ops/empty.h>

#include <iterator>

#include "kernels/gpu/source.hpp"
#include "kernels/kernels.hpp"

namespace hpcbench::train {

namespace kernels {
#include "kernels/gpu/adamw_arguments.inc"
}

namespace {

std::int64_t chunks_of(std::int64_t count) { return (count + kernels::kAdamWChunk - 1) / kernels::kAdamWChunk; }

float* data_of(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.scalar_type() == at::kFloat && tensor.is_contiguous(), "the kernels of AdamW take contiguous fp32");
  return static_cast<float*>(tensor.data_ptr());
}

/// Fills in `count` parts in order with `set`; when the arguments are full, calls `launch` with the number of their chunks as
/// blocks.
template <class Arguments, class Set, class Launch>
void launch_parts(Arguments& arguments, std::size_t count, const Set& set, const Launch& launch) {
  int blocks = 0;
  const auto launch_these = [&] {
    if (blocks > 0) launch(blocks);
    arguments.part_count = blocks = 0;
  };
  for (std::size_t number = 0; number < count; ++number) {
    auto& part = arguments.parts[arguments.part_count];
    part.first_block = blocks;
    set(number, part);
    if (part.count == 0) continue;
    blocks += static_cast<int>(chunks_of(part.count));
    if (++arguments.part_count == std::ssize(arguments.parts)) launch_these();
  }
  launch_these();
}

kernels::AdamWArguments arguments_of(const GpuAdamWStep& step) {
  const kernels::AdamWFactors factors({step.lr, /*weight_decay=*/0, step.step});
  kernels::AdamWArguments arguments{};
  arguments.beta1 = static_cast<float>(factors.beta1);
  arguments.rest1 = static_cast<float>(1 - factors.beta1);
  arguments.beta2 = static_cast<float>(factors.beta2);
  arguments.rest2 = static_cast<float>(1 - factors.beta2);
  arguments.step_size = static_cast<float>(factors.step_size);
  arguments.correction = static_cast<float>(factors.correction);
  arguments.eps = static_cast<float>(factors.eps);
  if (step.spoilt.defined()) arguments.spoilt = data_of(step.spoilt);
  if (step.norm.defined()) arguments.norm = step.norm.const_data_ptr<double>();
  arguments.clip = step.clip;
  return arguments;
}

}  // namespace

std::shared_ptr<const GpuProgram> compile_adamw_kernels() {
  return compile_gpu_program(kernels::adamw_gpu_source(), {}, at::Device(at::kCUDA));
}

void GpuAdamW::update(const std::vector<UpdatePart>& parts, const GpuAdamWStep& step) const {
  kernels::AdamWArguments arguments = arguments_of(step);
  const auto set = [&](std::size_t number, kernels::AdamWPart& part) {
    const UpdatePart& given = parts[number];
    const at::Tensor& gradient = given.parameter.grad();
    part.count = gradient.defined() ? given.parameter.numel() : 0;
    if (part.count == 0) return;
    part.parameter = data_of(given.parameter);
    part.gradient = data_of(gradient);
    part.first = data_of(given.first);
    part.second = data_of(given.second);
    part.shrink = static_cast<float>(1 - step.lr * given.weight_decay);
  };
  launch_parts(arguments, parts.size(), set, [&](int blocks) {
    program_->launch(parts.front().parameter.device(), "adamw", {blocks, 1, kernels::kAdamWThreads}, &arguments);
  });
}

at::Tensor GpuAdamW::norm(const std::vector<at::Tensor>& gradients) const {
  const at::Device place = gradients.front().device();
  const at::TensorOptions options = gradients.front().options().requires_grad(false);
  std::int64_t chunks = 0;
  for (const at::Tensor& gradient : gradients) chunks += chunks_of(gradient.numel());
  const at::Tensor sums = at::empty({chunks}, options);
  kernels::SquareArguments squares{};
  squares.sums = data_of(sums);
  const auto set = [&](std::size_t number, kernels::SquarePart& part) {
    part.gradient = data_of(gradients[number]);
    part.count = gradients[number].numel();
  };
  launch_parts(squares, gradients.size(), set, [&](int blocks) {
    program_->launch(place, "gradient_squares", {blocks, 1, kernels::kAdamWThreads}, &squares);
    squares.sums += blocks;
  });
  at::Tensor norm = at::empty({}, options.dtype(at::kDouble));
  kernels::NormArguments arguments{data_of(sums), static_cast<int>(chunks), norm.mutable_data_ptr<double>()};
  program_->launch(place, "gradient_norm", {1, 1, kernels::kAdamWThreads}, &arguments);
  return norm;
}

}  // namespace hpcbench::train

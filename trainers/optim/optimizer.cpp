#include "optim/optimizer.hpp"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/kernels.hpp"
#include "optim/torch_update.hpp"

namespace hpcbench::train {

namespace {

constexpr std::int64_t kBlock = 1 << 15;
constexpr std::int64_t kAlignment = 16;  // elements: views of the flat state begin at 64 bytes or a multiple

/// Views of the parameters' sizes into one flat tensor of zeros.
std::vector<at::Tensor> flat_zeros(const std::vector<NamedTensor>& parameters) {
  std::int64_t count = 0;
  for (const NamedTensor& parameter : parameters)
    count += (parameter.tensor.numel() + kAlignment - 1) / kAlignment * kAlignment;
  std::vector<at::Tensor> views;
  if (parameters.empty()) return views;
  const at::Tensor flat = at::zeros({count}, parameters.front().tensor.options().requires_grad(false));
  std::int64_t offset = 0;
  for (const NamedTensor& parameter : parameters) {
    const std::int64_t size = parameter.tensor.numel();
    views.push_back(flat.narrow(0, offset, size).view(parameter.tensor.sizes()));
    offset += (size + kAlignment - 1) / kAlignment * kAlignment;
  }
  return views;
}

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options, const std::vector<NamedTensor>& parameters) : options_(options) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> first = flat_zeros(parameters);
  const std::vector<at::Tensor> second =
      options.kind == OptimizerKind::sgd ? std::vector<at::Tensor>(parameters.size()) : flat_zeros(parameters);
  for (std::size_t index = 0; index < parameters.size(); ++index) {
    const at::Tensor& parameter = parameters[index].tensor;
    const bool decays = options.decay_bias || parameter.dim() > 1;
    parts_.push_back({parameters[index].name, parameter, first[index], second[index], decays ? options.weight_decay : 0});
    for (std::int64_t begin = 0; begin < parameter.numel(); begin += kBlock)
      blocks_.push_back({index, begin, std::min(kBlock, parameter.numel() - begin)});
  }
}

template <class T>
void Optimizer::update(const Block& block, double lr, double scale) {
  Part& part = parts_[block.part];
  if (!part.parameter.grad().defined()) return;
  const auto at_block = [&](const at::Tensor& tensor) {
    return const_cast<T*>(tensor.const_data_ptr<T>()) + block.begin;  // the parts are our own
  };
  T* const p = at_block(part.parameter);
  const T* const g = at_block(part.parameter.grad());
  T* const first = at_block(part.first);
  switch (options_.kind) {
    case OptimizerKind::sgd:
      return kernels::sgd(p, g, first, block.count, {lr, options_.momentum, part.weight_decay, scale});
    case OptimizerKind::adadelta:
      return kernels::adadelta(p, g, first, at_block(part.second), block.count, {lr, 0.9, 1e-6, part.weight_decay, scale});
    case OptimizerKind::adamw:
      return kernels::adamw(p, g, first, at_block(part.second), block.count,
                            {lr, 0.9, 0.999, 1e-8, part.weight_decay, steps_, scale});
  }
}

std::optional<double> Optimizer::step(double lr, std::optional<double> norm) {
  const at::NoGradGuard no_grad;
  if (parts_.empty()) return std::nullopt;
  for (Part& part : parts_) {
    at::Tensor& gradient = part.parameter.mutable_grad();
    if (gradient.defined() && !gradient.is_contiguous()) gradient = gradient.contiguous();
  }
  double scale = 1;
  if (options_.clip > 0) {
    if (!norm) norm = gradient_norm();
    scale = std::min(1.0, options_.clip / (*norm + 1e-6));
  }
  ++steps_;
  if (by_torch()) {
    update_all_by_torch(lr, scale);
    return options_.clip > 0 ? norm : std::nullopt;
  }
  at::parallel_for(0, std::ssize(blocks_), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      const Block& block = blocks_[static_cast<std::size_t>(index)];
      AT_DISPATCH_FLOATING_TYPES(parts_[block.part].parameter.scalar_type(), "optimizer_step",
                                 [&] { update<scalar_t>(block, lr, scale); });
    }
  });
  return options_.clip > 0 ? norm : std::nullopt;
}

bool Optimizer::by_torch() const { return options_.torch_kernels || (!parts_.empty() && !parts_.front().parameter.is_cpu()); }

void Optimizer::update_all_by_torch(double lr, double scale) {
  std::vector<TorchUpdatePart> parts;
  for (const Part& part : parts_)
    parts.push_back({part.parameter, part.parameter.grad(), part.first, part.second, part.weight_decay});
  update_by_torch(parts, {options_.kind, lr, options_.momentum, scale, steps_});
}

double Optimizer::gradient_norm() const {
  if (by_torch()) {
    std::vector<at::Tensor> gradients;
    for (const Part& part : parts_) {
      if (part.parameter.grad().defined()) gradients.push_back(part.parameter.grad());
    }
    return gradient_norm_by_torch(gradients);
  }
  std::vector<double> squares(blocks_.size());
  at::parallel_for(0, std::ssize(blocks_), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      const Block& block = blocks_[static_cast<std::size_t>(index)];
      const at::Tensor& gradient = parts_[block.part].parameter.grad();
      if (!gradient.defined()) continue;
      AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "gradient_norm", [&] {
        squares[static_cast<std::size_t>(index)] =
            kernels::sum_of_squares(gradient.const_data_ptr<scalar_t>() + block.begin, block.count);
      });
    }
  });
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
}

void Optimizer::clear_gradients() {
  for (Part& part : parts_) part.parameter.mutable_grad().reset();
}

std::vector<NamedTensor> Optimizer::state() const {
  std::vector<NamedTensor> tensors;
  for (const Part& part : parts_) {
    tensors.push_back({"first/" + part.name, part.first});
    if (part.second.defined()) tensors.push_back({"second/" + part.name, part.second});
  }
  return tensors;
}

void Optimizer::load_state(const std::vector<NamedTensor>& state, std::int64_t steps) {
  const at::NoGradGuard no_grad;
  const std::vector<NamedTensor> own = this->state();
  TORCH_CHECK(own.size() == state.size(), "an optimiser's state of ", own.size(), " tensors, not ", state.size());
  for (std::size_t index = 0; index < own.size(); ++index) {
    TORCH_CHECK(own[index].name == state[index].name, own[index].name, " is needed, not ", state[index].name);
    at::Tensor(own[index].tensor).copy_(state[index].tensor);
  }
  steps_ = steps;
}

}  // namespace hpcbench::train

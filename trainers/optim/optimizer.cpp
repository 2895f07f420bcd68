#include "optim/optimizer.hpp"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "kernels/kernels.hpp"
#include "optim/prefault.hpp"
#include "optim/zero_tensor.hpp"

namespace hpcbench::train {

namespace {

constexpr std::int64_t kBlock = 1 << 15;
constexpr const char* kFirst = "first/";
constexpr const char* kSecond = "second/";
constexpr std::int64_t kAlignment = 16;  // elements: views of the flat state begin at multiples of 64 bytes

at::Tensor zero_tensor(std::int64_t count, const at::TensorOptions& options) {
  if (!options.device().is_cpu()) return at::zeros({count}, options);
  const at::Tensor zeros = untouched_zeros({count}, options, kernels::Pages::large);
  touch_in_parallel(static_cast<char*>(zeros.mutable_data_ptr()), zeros.nbytes());
  return zeros;
}

bool has_trusted_marks(const NamedTensor& parameter) {
  return parameter.touched && parameter.touched->is_trusted() && parameter.tensor.is_cpu();
}

/// Returns whether the parameter is a table whose rows AdamW postpones.
bool uses_lazy_adamw(const NamedTensor& parameter, const OptimizerOptions& options) {
  return has_trusted_marks(parameter) && options.kind == OptimizerKind::adamw && !options.torch_kernels;
}

/// Returns zeros with the parameters' sizes, views into one flat tensor; none for tables with postponed rows.
std::vector<at::Tensor> flat_zeros(const std::vector<NamedTensor>& parameters, const OptimizerOptions& options) {
  std::vector<at::Tensor> views;
  if (parameters.empty()) return views;
  const auto aligned = [&](const NamedTensor& parameter) {
    return uses_lazy_adamw(parameter, options) ? 0 : (parameter.tensor.numel() + kAlignment - 1) / kAlignment * kAlignment;
  };
  std::int64_t count = 0;
  for (const NamedTensor& parameter : parameters) count += aligned(parameter);
  const at::Tensor flat = zero_tensor(count, parameters.front().tensor.options().requires_grad(false));
  std::int64_t offset = 0;
  for (const NamedTensor& parameter : parameters) {
    const at::Tensor& tensor = parameter.tensor;
    const bool is_late = uses_lazy_adamw(parameter, options);
    views.push_back(is_late ? at::Tensor() : flat.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
    offset += aligned(parameter);
  }
  return views;
}

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options, const std::vector<NamedTensor>& parameters) : options_(options) {
  const at::NoGradGuard no_grad;
  if (options.gpu_program) gpu_adamw_.emplace(options.gpu_program);
  const std::vector<at::Tensor> first = flat_zeros(parameters, options);
  const std::vector<at::Tensor> second =
      options.kind == OptimizerKind::sgd ? std::vector<at::Tensor>(parameters.size()) : flat_zeros(parameters, options);
  for (std::size_t index = 0; index < parameters.size(); ++index) {
    const at::Tensor& parameter = parameters[index].tensor;
    const bool decays = options.decay_bias || parameter.dim() > 1;
    Part part{parameters[index].name, parameter, first[index], second[index], decays ? options.weight_decay : 0};
    if (has_trusted_marks(parameters[index])) part.touched = parameters[index].touched;
    if (uses_lazy_adamw(parameters[index], options)) {
      part.late = std::make_shared<LazyAdamW>(parameter);
      parameters[index].touched->before_read(
          [late = part.late](const std::int64_t* rows, std::int64_t count) { late->catch_up(rows, count); });
    }
    update_parts_.push_back({part.parameter, part.first, part.second, part.weight_decay});
    parts_.push_back(std::move(part));
    for (std::int64_t begin = 0; begin < parameter.numel(); begin += kBlock)
      blocks_.push_back({index, begin, std::min(kBlock, parameter.numel() - begin)});
  }
}

kernels::AdamWFactors Optimizer::adamw_factors(const Part& part, double lr, double scale) const {
  return kernels::AdamWFactors({lr, part.weight_decay, steps_, scale});
}

template <class T>
void Optimizer::update(const Block& block, double lr, double scale) {
  Part& part = parts_[block.part];
  if (!part.parameter.grad().defined() || part.late) return;
  const auto at_block = [&](const at::Tensor& tensor) {
    return const_cast<T*>(tensor.const_data_ptr<T>()) + block.begin;  // the optimiser owns the parts
  };
  T* const p = at_block(part.parameter);
  const T* const g = at_block(part.parameter.grad());
  T* const first = at_block(part.first);
  T* const second = has_second() ? at_block(part.second) : nullptr;
  switch (options_.kind) {
    case OptimizerKind::sgd:
      return kernels::sgd(p, g, first, block.count, {lr, options_.momentum, part.weight_decay, scale});
    case OptimizerKind::adadelta:
      return kernels::adadelta(p, g, first, second, block.count, {lr, part.weight_decay, scale});
    case OptimizerKind::adamw:
      return kernels::adamw(p, g, first, second, block.count, adamw_factors(part, lr, scale));
  }
}

std::optional<Reading> Optimizer::step(double lr, std::optional<Reading> norm) {
  const at::NoGradGuard no_grad;
  if (parts_.empty()) return std::nullopt;
  for (Part& part : parts_) {
    at::Tensor& gradient = part.parameter.mutable_grad();
    if (gradient.defined() && !gradient.is_contiguous()) gradient = gradient.contiguous();
  }
  if (gpu_adamw_ || !parts_.front().parameter.is_cpu()) return step_on_device(lr, std::move(norm));
  double scale = 1;
  if (options_.clip > 0) {
    if (!norm) norm = gradient_norm();
    scale = std::min(1.0, options_.clip / (norm->read() + 1e-6));
  }
  ++steps_;
  if (by_torch()) {
    update_by_torch(update_parts_, {options_.kind, lr, options_.momentum, scale, steps_});
    return options_.clip > 0 ? norm : std::nullopt;
  }
  for (const Part& part : parts_) {
    const at::Tensor& gradient = part.parameter.grad();
    if (part.late && gradient.defined())
      part.late->step(adamw_factors(part, lr, scale), gradient, *part.touched, part.passes_before);
  }
  // Threads take blocks one by one, because blocks differ in cost.
  std::atomic<std::size_t> next = 0;
  at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      for (std::size_t index = next++; index < blocks_.size(); index = next++) {
        const Block& block = blocks_[index];
        AT_DISPATCH_FLOATING_TYPES(parts_[block.part].parameter.scalar_type(), "optimizer_step",
                                   [&] { update<scalar_t>(block, lr, scale); });
      }
    }
  });
  return options_.clip > 0 ? norm : std::nullopt;
}

std::optional<Reading> Optimizer::step_on_device(double lr, std::optional<Reading> norm) {
  ++steps_;
  if (options_.clip > 0 && !norm) norm = gradient_norm();
  at::Tensor known;
  if (options_.clip > 0) known = norm->on(parts_.front().parameter.device());
  if (gpu_adamw_) {
    gpu_adamw_->update(update_parts_, {lr, steps_, options_.clip, known, spoilt_.sum()});
  } else {
    TorchUpdate update{options_.kind, lr, options_.momentum, 1, steps_};
    const at::ScalarType type = parts_.front().parameter.scalar_type();
    if (known.defined()) update.divisor = clip_divisor_by_torch(known, options_.clip, type);
    update.skip = spoilt_.read();  // undefined except for AdamW
    update_by_torch(update_parts_, update);
  }
  return options_.clip > 0 ? norm : std::nullopt;
}

Reading Optimizer::note_loss(const at::Tensor& loss) {
  Reading reading(loss);
  if (reading.is_there() && options_.kind == OptimizerKind::adamw) spoilt_.note(reading.there());
  return reading;
}

double Optimizer::squares_of(const Block& block) const {
  const Part& part = parts_[block.part];
  const at::Tensor& gradient = part.parameter.grad();
  if (!gradient.defined()) return 0;
  double sums[kernels::kSquareSums] = {};
  AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "gradient_norm", [&] {
    const scalar_t* const values = gradient.const_data_ptr<scalar_t>() + block.begin;
    // Skipping zeros changes nothing, as long as the other values stay in their sums.
    const bool whole_groups = part.touched && gradient.numel() / part.touched->rows() % kernels::kSquareSums == 0;
    if (!whole_groups) return kernels::add_squares(values, block.count, sums);
    const std::int64_t width = gradient.numel() / part.touched->rows();
    const std::int64_t end = block.begin + block.count;
    for (std::int64_t begin = block.begin; begin < end;) {
      const std::int64_t row = begin / width;
      const std::int64_t count = std::min(end, (row + 1) * width) - begin;
      if (part.touched->touched_after(row, part.passes_before)) kernels::add_squares(values + begin - block.begin, count, sums);
      begin += count;
    }
  });
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

bool Optimizer::by_torch() const { return options_.torch_kernels || (!parts_.empty() && !parts_.front().parameter.is_cpu()); }

Reading Optimizer::gradient_norm() const {
  if (gpu_adamw_ || by_torch()) {
    std::vector<at::Tensor> gradients;
    for (const Part& part : parts_) {
      if (part.parameter.grad().defined()) gradients.push_back(part.parameter.grad());
    }
    if (gradients.empty()) return Reading(0.0);
    return Reading(gpu_adamw_ ? gpu_adamw_->norm(gradients) : gradient_norm_by_torch(gradients));
  }
  std::vector<double> squares(blocks_.size());
  at::parallel_for(0, std::ssize(blocks_), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      squares[static_cast<std::size_t>(index)] = squares_of(blocks_[static_cast<std::size_t>(index)]);
    }
  });
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
}

void Optimizer::catch_up() const {
  for (const Part& part : parts_) {
    if (part.late) part.late->catch_up_all();
  }
}

void Optimizer::clear_gradients() {
  for (Part& part : parts_) {
    part.parameter.mutable_grad().reset();
    if (part.touched) part.passes_before = part.touched->passes();
  }
}

std::vector<NamedTensor> optimizer_state_layout(OptimizerKind kind, const std::vector<NamedTensor>& parameters) {
  std::vector<NamedTensor> layout;
  for (const NamedTensor& parameter : parameters) {
    const at::Tensor like =
        at::empty(parameter.tensor.sizes(), parameter.tensor.options().requires_grad(false).device(at::kMeta));
    layout.push_back({kFirst + parameter.name, like});
    if (kind != OptimizerKind::sgd) layout.push_back({kSecond + parameter.name, like});
  }
  return layout;
}

std::vector<NamedTensor> Optimizer::state() const {
  std::vector<NamedTensor> tensors;
  for (const Part& part : parts_) {
    const LazyAdamW::States states = part.late ? part.late->states() : LazyAdamW::States{part.first, part.second};
    tensors.push_back({kFirst + part.name, states.first});
    if (has_second()) tensors.push_back({kSecond + part.name, states.second});
  }
  return tensors;
}

void Optimizer::load_state(const std::vector<NamedTensor>& state, std::int64_t steps) {
  const at::NoGradGuard no_grad;
  const std::size_t wanted = parts_.size() * (has_second() ? 2 : 1);
  TORCH_CHECK(wanted == state.size(), "an optimiser's state of ", wanted, " tensors, not ", state.size());
  auto next = state.begin();
  const auto take = [&](const char* kind, const Part& part) {
    TORCH_CHECK(next->name == kind + part.name, kind, part.name, " is needed, not ", next->name);
    return (next++)->tensor;
  };
  for (Part& part : parts_) {
    const at::Tensor first = take(kFirst, part);
    const at::Tensor second = has_second() ? take(kSecond, part) : at::Tensor();
    if (part.late) {
      part.late->load_states({first, second});
      continue;
    }
    part.first.copy_(first);
    if (has_second()) part.second.copy_(second);
  }
  steps_ = steps;
}

}  // namespace hpcbench::train

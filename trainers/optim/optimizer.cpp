#include "optim/optimizer.hpp"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "kernels/kernels.hpp"
#include "kernels/zero_pages.hpp"
#include "optim/torch_update.hpp"

namespace hpcbench::train {

namespace {

constexpr std::int64_t kBlock = 1 << 15;
constexpr std::int64_t kAlignment = 16;  // elements: views of the flat state begin at 64 bytes or a multiple

/// Zeros, on a CPU in memory that is not touched yet.
at::Tensor zero_tensor(std::int64_t count, const at::TensorOptions& options, kernels::Pages kind) {
  if (!options.device().is_cpu()) return at::zeros({count}, options);
  const std::shared_ptr<void> pages = kernels::zero_pages(static_cast<std::size_t>(count) * options.dtype().itemsize(), kind);
  return at::from_blob(
      pages.get(), {count}, [pages](void*) {}, options);
}

bool has_trusted_marks(const NamedTensor& parameter) {
  return parameter.touched && parameter.touched->is_trusted() && parameter.tensor.is_cpu();
}

/// Zeros of the parameters' sizes: views into one flat tensor, but for tables with trusted marks, which have their own.
std::vector<at::Tensor> flat_zeros(const std::vector<NamedTensor>& parameters) {
  std::vector<at::Tensor> views;
  if (parameters.empty()) return views;
  const auto aligned = [](const at::Tensor& tensor) { return (tensor.numel() + kAlignment - 1) / kAlignment * kAlignment; };
  std::int64_t count = 0;
  for (const NamedTensor& parameter : parameters) count += has_trusted_marks(parameter) ? 0 : aligned(parameter.tensor);
  const at::TensorOptions options = parameters.front().tensor.options().requires_grad(false);
  const at::Tensor flat = zero_tensor(count, options, kernels::Pages::large);
  std::int64_t offset = 0;
  for (const NamedTensor& parameter : parameters) {
    const std::int64_t size = parameter.tensor.numel();
    if (has_trusted_marks(parameter)) {
      views.push_back(zero_tensor(size, options, kernels::Pages::large).view(parameter.tensor.sizes()));
      continue;
    }
    views.push_back(flat.narrow(0, offset, size).view(parameter.tensor.sizes()));
    offset += aligned(parameter.tensor);
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
    Part part{parameters[index].name, parameter, first[index], second[index], decays ? options.weight_decay : 0};
    if (has_trusted_marks(parameters[index])) {
      part.touched = parameters[index].touched;
      part.loaded.assign(static_cast<std::size_t>(part.touched->rows()), 0);
    }
    parts_.push_back(std::move(part));
    for (std::int64_t begin = 0; begin < parameter.numel(); begin += kBlock)
      blocks_.push_back({index, begin, std::min(kBlock, parameter.numel() - begin)});
  }
}

Optimizer::Rows Optimizer::rows_of(const Part& part, std::int64_t row) {
  if (part.touched->touched_after(row, part.passes_before)) return Rows::moving;
  const bool has_state = part.loaded[static_cast<std::size_t>(row)] != 0 || part.touched->touched_after(row, 0);
  return has_state ? Rows::at_rest : Rows::untouched;
}

template <class Call>
void Optimizer::for_rows(const Part& part, const Block& block, const Call& call) {
  const std::int64_t width = part.parameter.numel() / part.touched->rows();
  const std::int64_t end = block.begin + block.count;
  for (std::int64_t begin = block.begin; begin < end;) {
    std::int64_t row = begin / width;
    const Rows rows = rows_of(part, row);
    for (++row; row * width < end && rows_of(part, row) == rows;) ++row;
    const std::int64_t count = std::min(end, row * width) - begin;
    call(rows, begin - block.begin, count);
    begin += count;
  }
}

template <class T>
void Optimizer::update_adamw(const Part& part, const Block& block, const Pointers<T>& at, double lr, double scale) {
  const kernels::AdamWFactors factors({lr, 0.9, 0.999, 1e-8, part.weight_decay, steps_, scale});
  if (!part.touched) return kernels::adamw(at.p, at.g, at.first, at.second, block.count, factors);
  constexpr std::int64_t kZeros = 1024;
  alignas(64) static const T zeros[kZeros] = {};
  for_rows(part, block, [&](Rows rows, std::int64_t begin, std::int64_t count) {
    if (rows == Rows::untouched) return kernels::adamw_decay(at.p + begin, count, factors);
    if (rows == Rows::moving) {
      return kernels::adamw(at.p + begin, at.g + begin, at.first + begin, at.second + begin, count, factors);
    }
    for (const std::int64_t end = begin + count; begin < end; begin += kZeros) {
      kernels::adamw(at.p + begin, zeros, at.first + begin, at.second + begin, std::min(kZeros, end - begin), factors);
    }
  });
}

template <class T>
void Optimizer::update(const Block& block, double lr, double scale) {
  Part& part = parts_[block.part];
  if (!part.parameter.grad().defined()) return;
  const auto at_block = [&](const at::Tensor& tensor) {
    return const_cast<T*>(tensor.const_data_ptr<T>()) + block.begin;  // the parts are our own
  };
  Pointers<T> at{at_block(part.parameter), at_block(part.parameter.grad()), at_block(part.first), nullptr};
  if (part.second.defined()) at.second = at_block(part.second);
  switch (options_.kind) {
    case OptimizerKind::sgd:
      return kernels::sgd(at.p, at.g, at.first, block.count, {lr, options_.momentum, part.weight_decay, scale});
    case OptimizerKind::adadelta:
      return kernels::adadelta(at.p, at.g, at.first, at.second, block.count, {lr, 0.9, 1e-6, part.weight_decay, scale});
    case OptimizerKind::adamw:
      return update_adamw(part, block, at, lr, scale);
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
  // Blocks are handed out one by one, since rows that are not touched cost little.
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

double Optimizer::squares_of(const Block& block) const {
  const Part& part = parts_[block.part];
  const at::Tensor& gradient = part.parameter.grad();
  if (!gradient.defined()) return 0;
  double sums[kernels::kSquareSums] = {};
  AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "gradient_norm", [&] {
    const scalar_t* const values = gradient.const_data_ptr<scalar_t>() + block.begin;
    // Zeros add nothing, as long as the others stay with their sums.
    const bool whole_groups = part.touched && gradient.numel() / part.touched->rows() % kernels::kSquareSums == 0;
    if (!whole_groups) return kernels::add_squares(values, block.count, sums);
    for_rows(part, block, [&](Rows rows, std::int64_t begin, std::int64_t count) {
      if (rows == Rows::moving) kernels::add_squares(values + begin, count, sums);
    });
  });
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
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
      squares[static_cast<std::size_t>(index)] = squares_of(blocks_[static_cast<std::size_t>(index)]);
    }
  });
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
}

void Optimizer::clear_gradients() {
  for (Part& part : parts_) {
    part.parameter.mutable_grad().reset();
    if (part.touched) part.passes_before = part.touched->passes();
  }
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
  for (Part& part : parts_) mark_loaded(part);
  steps_ = steps;
}

void Optimizer::mark_loaded(Part& part) {
  if (!part.touched) return;
  at::Tensor any = part.first.ne(0).any(1);
  if (part.second.defined()) any = any.logical_or(part.second.ne(0).any(1));
  const bool* const has_state = any.const_data_ptr<bool>();
  std::copy(has_state, has_state + any.numel(), part.loaded.begin());
}

}  // namespace hpcbench::train

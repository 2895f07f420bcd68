#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "base/settings.hpp"

namespace hpcbench::train {

/// Returns the order of all samples in an epoch (int64): at::randperm of a generator seeded with seed + epoch (epochs from 1),
/// or 0, 1, 2 ... without shuffling.
at::Tensor epoch_order(std::int64_t samples, std::uint64_t seed, int epoch, bool shuffle);

/// Returns the order grouped by length: blocks of the permutation, each as large as min(N / (4 batch), 50) batches (at least
/// one), sorted by falling length; the longest sample of all comes first. `batch` is the global batch of an optimiser step.
/// Source: get_length_grouped_indices of Hugging Face transformers.
at::Tensor grouped_order(const std::vector<std::int32_t>& lengths, std::int64_t batch, std::uint64_t seed, int epoch);

/// The distribution of samples over ranks, micro-batches and optimiser steps.
struct BatchShape {
  int world_size = 1;
  std::int64_t batch = 1;       // of one process and micro-batch
  std::int64_t accumulate = 1;  // micro-batches of a step
  Order order = Order::strided;
};

/// The samples of one rank in one micro-batch, and their place in the step's global batch: the i-th is number first_position +
/// i * stride.
struct Share {
  at::Tensor samples;
  std::int64_t first_position = 0;
  std::int64_t stride = 1;
};

/// One epoch: the order of its samples cut into steps. Strided: the order is repeated from its start to a multiple of the world
/// size W; of each block of batch x W samples rank r takes r, r + W ...; so the global batch of a step is the same for every W
/// that divides it. Batches (as Hugging Face's Trainer): with several ranks the order is repeated to a multiple of batch x W,
/// and rank r takes the r-th batch of each block.
class EpochPlan {
 public:
  EpochPlan(const BatchShape& shape, std::int64_t samples);
  EpochPlan(const BatchShape& shape, const at::Tensor& order);

  std::int64_t steps() const { return (blocks_ + shape_.accumulate - 1) / shape_.accumulate; }
  /// Returns the number of micro-batches of a step (from 0): fewer in the last one.
  std::int64_t micro_batches(std::int64_t step) const;
  /// Returns the number of samples in the smallest part of a micro-batch for one of `devices` of a process (see torch.chunk).
  std::int64_t least_part(std::int64_t devices) const;
  Share share(std::int64_t step, std::int64_t micro_batch, int rank) const;
  /// Returns the samples of a step over all ranks.
  at::Tensor step_samples(std::int64_t step) const;

 private:
  std::int64_t block_size(std::int64_t block) const;

  BatchShape shape_;
  std::int64_t length_ = 0;  // of the repeated order
  std::int64_t blocks_ = 0;  // of batch x W samples, the last one maybe shorter
  at::Tensor order_;
};

}  // namespace hpcbench::train

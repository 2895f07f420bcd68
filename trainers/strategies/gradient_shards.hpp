#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <functional>
#include <memory>
#include <vector>

#include "strategies/exchange.hpp"
#include "strategies/flat_units.hpp"
#include "strategies/strategy.hpp"

namespace hpcbench::train {

struct GradientOptions {
  bool whole = false;   // zero1: the whole gradient stays, and is summed over ranks only in the last micro-batch
  bool overlap = true;  // backward continues while a unit is summed; else it waits
  std::int64_t preallocated_elements = 0;  // size of each of two permanent buffers in which units are collected; 0: none
};

/// The gradients of one rank, unit by unit: taken from autograd as they are made, collected in a flat tensor, summed over the
/// ranks, each of which keeps its chunk. While one unit is summed the next one fills: at most two whole units are held (except
/// with `whole`). The sum over the micro-batches of a step is the average over ranks of each rank's gradients.
class GradientShards {
 public:
  GradientShards(Model& model, const std::vector<FlatUnit>& units, Exchange& exchange, StrategyStatistics& statistics,
                 const GradientOptions& options, const Group& group);
  GradientShards(const GradientShards&) = delete;
  GradientShards& operator=(const GradientShards&) = delete;

  /// Called when the last gradient of a unit is complete, before it is summed.
  std::function<void(std::size_t unit)> unit_complete;

  void begin_backward(bool first_of_step, bool last_of_step);
  /// Ends exchanges in progress. std::runtime_error that names the parameters without a gradient.
  void end_backward();
  /// Returns this rank's chunk of each unit's gradient, always the same tensors.
  const std::vector<at::Tensor>& shards() const { return shards_; }

 private:
  struct UnitGradients {
    at::Tensor flat;            // undefined while not held
    std::vector<char> arrived;  // by member, in this backward pass
    std::size_t missing = 0;
  };
  void take(std::size_t unit, std::size_t place);
  void hold(std::size_t unit);
  void complete(std::size_t unit);
  void begin_sum(std::size_t unit);
  void finish_sum();

  Model& model_;
  const std::vector<FlatUnit>& units_;
  Exchange& exchange_;
  StrategyStatistics& statistics_;
  GradientOptions options_;
  int ranks_;
  std::vector<UnitGradients> state_;
  std::vector<at::Tensor> shards_;
  std::vector<decltype(torch::autograd::impl::grad_accumulator({}))>
      accumulators_;  // autograd itself keeps them only as long as a graph does
  bool first_ = true;
  bool last_ = true;
  std::vector<at::Tensor> preallocated_;
  std::size_t summing_ = 0;
  Exchange::Pending sum_;
};

}  // namespace hpcbench::train

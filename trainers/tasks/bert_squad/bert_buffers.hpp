#pragma once

#include <ATen/core/Tensor.h>

#include <mutex>
#include <vector>

#include "kernels/zero_pages.hpp"
#include "optim/prefault.hpp"
#include "optim/touched_rows.hpp"

namespace hpcbench::train {

/// Memory for activations and gradients that is reused from step to step. A buffer is in use while a tensor lives that was made
/// from it; page faults of fresh memory cost some percent of a step.
class BertBuffers {
 public:
  /// Begins a forward pass over this many rows of tokens. A pass larger than all before releases buffers that are not in use.
  void begin_pass(std::int64_t rows);
  /// Returns a contiguous tensor on the CPU, not initialised.
  at::Tensor take(at::IntArrayRef sizes, at::ScalarType type);
  /// Returns the gradient of a table for the current pass: zeros. Only rows that this pass or a later one marks may be written,
  /// because only those are reset to 0. `touched` is the same in all calls.
  at::Tensor take_table(const TouchedRows& touched, at::IntArrayRef sizes, at::ScalarType type);

 private:
  struct Table {
    at::Storage storage;
    std::int64_t passes = 0;  // rows that no later pass touched are 0
    bool is_large = false;    // its pages are large
  };
  at::Storage find(std::size_t size_bytes);
  static Table fresh_table(std::size_t size_bytes, kernels::Pages pages);
  Table& find_table(std::size_t size_bytes);

  std::mutex mutex_;
  kernels::PageArena arena_{touch_in_parallel};
  std::vector<at::Storage> storages_;
  std::int64_t most_rows_ = 0;
  std::vector<Table> tables_;
};

}  // namespace hpcbench::train

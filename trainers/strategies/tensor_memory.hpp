#pragma once

#include <cstdint>

namespace hpcbench::train {

/// What tensors of this process hold on the CPU: every allocation and release of LibTorch's CPU allocator is counted, in all
/// threads, from the start of the program (scratch of Gloo, oneDNN and the C++ heap is not). A part of it has a name: what a
/// strategy's Ledger holds. The rest, since a watch began, is the activations: results that operators hand on or save for
/// backward, their workspaces, batches, and gradients on their way into a bucket.
class TensorMemory {
 public:
  static std::int64_t live_bytes();
  /// `bytes` more of what lives have a name (below 0: fewer). Named before it is allocated and after it is released, so that it
  /// never counts as unnamed.
  static void name_bytes(std::int64_t bytes);
  static std::int64_t unnamed_bytes();
  /// From here on peak_unnamed_bytes() counts anew.
  static void forget_peak();
  static std::int64_t peak_unnamed_bytes();
};

}  // namespace hpcbench::train

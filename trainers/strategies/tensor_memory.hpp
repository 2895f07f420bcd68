#pragma once

#include <cstdint>

namespace hpcbench::train {

/// The tensor memory of this process on the CPU: counts every allocation and release of LibTorch's CPU allocator, in all
/// threads, from the start of the program (scratch of Gloo, oneDNN and the C++ heap is not counted). A part of it has a name:
/// what a strategy's Ledger holds. The rest, since a watch began, is the activations: results that operators pass on or save
/// for backward, their workspaces, batches, and gradients on their way into a bucket.
class TensorMemory {
 public:
  static std::int64_t live_bytes();
  /// Names `bytes` more of the live memory (below 0: fewer). Call it before the allocation and after the release, so that the
  /// memory never counts as unnamed.
  static void name_bytes(std::int64_t bytes);
  static std::int64_t unnamed_bytes();
  /// Restarts peak_unnamed_bytes() from now on.
  static void forget_peak();
  static std::int64_t peak_unnamed_bytes();
};

}  // namespace hpcbench::train

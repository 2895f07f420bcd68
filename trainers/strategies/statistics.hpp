#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/tensor_memory.hpp"

namespace hpcbench::train {

/// The uses of a strategy's memory. `communication` is needed for an exchange in addition to the exchanged tensors.
enum class Held { parameters, gradients, optimizer, communication };
inline constexpr std::size_t kHeldKinds = 4;

/// Bytes that a strategy holds, by kind, and the maximum of each at one time. Counts buffers that the strategy allocated, not
/// the operators' working memory. Call it before an allocation and after a release (TensorMemory).
class Ledger {
 public:
  void add(Held kind, std::int64_t bytes) {
    std::int64_t& now = now_[static_cast<std::size_t>(kind)];
    std::int64_t& peak = peak_[static_cast<std::size_t>(kind)];
    now += bytes;
    if (now > peak) peak = now;
    TensorMemory::name_bytes(bytes);
  }
  void remove(Held kind, std::int64_t bytes) {
    now_[static_cast<std::size_t>(kind)] -= bytes;
    TensorMemory::name_bytes(-bytes);
  }
  /// Restarts the peaks from now on.
  void forget_peaks() { peak_ = now_; }
  std::int64_t now(Held kind) const { return now_[static_cast<std::size_t>(kind)]; }
  std::int64_t peak(Held kind) const { return peak_[static_cast<std::size_t>(kind)]; }

 private:
  std::array<std::int64_t, kHeldKinds> now_{};
  std::array<std::int64_t, kHeldKinds> peak_{};
};

/// Bytes that this rank sent, and seconds: it waited `exposed_s` for exchanges, and computed `hidden_s` during exchanges.
struct Traffic {
  std::int64_t bytes_sent = 0;
  double exposed_s = 0;
  double hidden_s = 0;
};

/// An event of a step, in order: "gradient" (a parameter's is complete), "sum" and "sum-done" (a unit's gradients are sent, are
/// summed), "gather" and "gather-done" (a unit's parameters), "free" (they are freed).
struct Moment {
  std::string what;
  int unit = 0;
};

/// Statistics of a strategy since its first step; 0 for anything that it does not measure.
struct StrategyStatistics {
  bool measured = false;
  Traffic traffic;
  Ledger memory;
  std::int64_t peak_activation_bytes = 0;  // of a forward and backward pass: memory without a name in TensorMemory
  double step_s = 0;                       // in forward and backward passes and updates; minus exposed_s: computing
  double compute_max_s = 0;                // over the ranks: maximum and mean of computing (compare_ranks)
  double compute_mean_s = 0;
  std::int64_t steps = 0;
  std::int64_t overlapped_steps = 0;        // steps in which the first sum began before the last gradient was made
  std::optional<std::int64_t> graph_steps;  // steps replayed by a CUDA graph; nullopt: graphs were not requested
  int units = 0;                            // buckets (ddp, zero), units (fsdp) or devices (dp)
  std::vector<Moment> last_step;
};

}  // namespace hpcbench::train

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strategies/tensor_memory.hpp"

namespace hpcbench::train {

/// What a strategy holds memory for. `communication` is what an exchange needs beside the tensors that it exchanges.
enum class Held { parameters, gradients, optimizer, communication };
inline constexpr std::size_t kHeldKinds = 4;

/// Bytes that a strategy holds, by kind, and the most that it ever held of each at one time. Buffers that it allocated are
/// counted, not what operators of the model work with. To be told before an allocation and after a release (TensorMemory).
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
  /// From here on the peaks count anew.
  void forget_peaks() { peak_ = now_; }
  std::int64_t now(Held kind) const { return now_[static_cast<std::size_t>(kind)]; }
  std::int64_t peak(Held kind) const { return peak_[static_cast<std::size_t>(kind)]; }

 private:
  std::array<std::int64_t, kHeldKinds> now_{};
  std::array<std::int64_t, kHeldKinds> peak_{};
};

/// Bytes that this rank sent, and seconds: `exposed_s` it waited for an exchange, `hidden_s` it computed while one was under
/// way.
struct Traffic {
  std::int64_t bytes_sent = 0;
  double exposed_s = 0;
  double hidden_s = 0;
};

/// What happened in a step, in its order: "gradient" (a parameter's is there), "sum" and "sum-done" (a unit's gradients go out,
/// are summed), "gather" and "gather-done" (a unit's parameters), "free" (they go).
struct Moment {
  std::string what;
  int unit = 0;
};

/// Of a strategy since its first step. A strategy that does not measure something leaves it at 0.
struct StrategyStatistics {
  bool measured = false;
  Traffic traffic;
  Ledger memory;
  std::int64_t peak_activation_bytes = 0;  // of a forward and backward pass: what TensorMemory has no name for
  double step_s = 0;                       // in forward and backward passes and updates; less exposed_s: computed
  double compute_max_s = 0;                // of the ranks: the most that one computed, and their mean (compare_ranks)
  double compute_mean_s = 0;
  std::int64_t steps = 0;
  std::int64_t overlapped_steps = 0;        // in which the first sum began before the last gradient was made
  std::optional<std::int64_t> graph_steps;  // whose passes were replayed by a CUDA graph; absent: none was asked for
  int units = 0;                            // buckets (ddp, zero), units (fsdp) or devices (dp)
  std::vector<Moment> last_step;
};

}  // namespace hpcbench::train

#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>
#include <vector>

#include "devices/device_choice.hpp"
#include "devices/nccl_log.hpp"

namespace hpcbench::train {

/// The duration of work in a side stream by the device's clock, and the part for which the computing stream waited.
struct SpanTimes {
  double total_s = 0;
  double exposed_s = 0;
};

/// A piece of work in a side stream.
class Span {
 public:
  virtual ~Span() = default;
  /// Makes computing that is enqueued from now on begin after this work has ended. The host does not wait.
  virtual void hold_computing() = 0;
  /// Returns nullopt until the work has ended and hold_computing() has taken effect.
  virtual std::optional<SpanTimes> times() const = 0;
};

/// A queue of device work beside the one in which the model is computed.
class SideStream {
 public:
  virtual ~SideStream() = default;
  /// Calls `work`; the operations that it enqueues run in this stream, after everything enqueued for computing so far and after
  /// earlier work of this stream. The tensors that it uses come from the computing stream and must be kept until
  /// hold_computing() of the result was called.
  virtual std::shared_ptr<Span> enqueue(const std::function<void()>& work) = 0;
};

/// A section of the computing stream, timed by the device's clock.
class Lap {
 public:
  virtual ~Lap() = default;
  /// Ends the lap: later operations are no part of it.
  virtual void end() = 0;
  /// Returns nullopt until the device has reached the end.
  virtual std::optional<double> seconds() const = 0;
};

/// Captured device work, which can be repeated without the host.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
  /// Enqueues the work. After it has run, results() have new values.
  virtual void replay() = 0;
  /// Returns the results of the capturing call: the same tensors after each replay. Valid from the first replay on.
  const std::vector<at::Tensor>& results() const { return results_; }

 protected:
  std::vector<at::Tensor> results_;
};

/// The interface of a device. The CPU's is always available; the CUDA one is compiled if LibTorch has CUDA (HPCBENCH_CUDA).
/// This interface needs no header of CUDA.
class Device {
 public:
  virtual ~Device() = default;
  /// Returns where the process's tensors are created; for dp the first of its devices.
  virtual at::Device place() const = 0;
  bool is_cuda() const { return place().is_cuda(); }
  /// Returns names and values for run_start (docs/events.md): for a GPU model, uuid, memory, place on the bus, driver, modes;
  /// for a CPU the instructions that LibTorch's operators and bf16 products use. Unknown facts are left out.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
  /// Returns the versions of the device's libraries: cuda, cudnn, nccl.
  virtual std::vector<std::pair<std::string, std::string>> versions() const = 0;
  /// Returns the GPU's uuid; empty for a CPU. See gpu_claim().
  virtual std::string uuid() const = 0;
  /// Waits until the device has finished the enqueued work.
  virtual void synchronise() const = 0;
  /// Returns the maximum device memory held by tensors at one time, summed over the process's devices; nullopt on a CPU, which
  /// has max_rss_bytes.
  virtual std::optional<std::int64_t> max_bytes() const = 0;
  /// Returns the energy that the process's GPUs have used by their own counters, for computing differences. nullopt on a CPU,
  /// without a counter, and for a MIG instance, whose counter is that of the GPU.
  virtual std::optional<double> energy_j() const = 0;
  /// Resizes the storage of `flat`, or frees its memory (0). Tensors that share it see the new memory.
  virtual void resize(const at::Tensor& flat, std::int64_t bytes) const = 0;
  /// Returns a new stream; null if work is already done when a call returns.
  virtual std::unique_ptr<SideStream> make_stream() const = 0;
  /// Begins a lap with the next enqueued computing; null if work is already done when a call returns, so that the host's clock
  /// suffices.
  virtual std::unique_ptr<Lap> begin_lap() const = 0;
  /// Calls `work` once: the operations that it enqueues for computing are captured, not executed, and memory that it takes is
  /// kept for the replays. `work` must not wait for the device, and must read values that differ between replays from existing
  /// tensors. A device without captures calls `work` at each replay, and copies its results.
  virtual std::unique_ptr<CapturedWork> capture(const std::function<std::vector<at::Tensor>()>& work) const = 0;
  /// Adds the backend for this device's tensors to a process group that has Gloo for tensors of the host.
  virtual void connect(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const c10::intrusive_ptr<c10d::Store>& store,
                       std::chrono::milliseconds timeout) const = 0;
  /// Returns the transports of this rank over all groups of connect(); empty if unknown.
  virtual NcclTransport transport() const = 0;
};

/// Returns what the build and the machine offer (cuda_device.cpp; cuda_absent.cpp in a build without CUDA).
Machine find_machine(const Environment& environment);

const Device& cpu_device();

/// Returns the device of a plan, with its GPU bound to the calling thread and its libraries configured by the settings (TF32,
/// deterministic kernels). Requires plan_device().
std::unique_ptr<Device> make_device(const DevicePlan& plan, const Settings& settings, const Machine& machine);
std::unique_ptr<Device> make_cuda_device(const DevicePlan& plan, const Settings& settings, const Machine& machine);

}  // namespace hpcbench::train

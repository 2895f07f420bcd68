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

/// How long a piece of work in a side stream took by the device's clock, and how much of that the computing stream waited.
struct SpanTimes {
  double total_s = 0;
  double exposed_s = 0;
};

/// A piece of work in a side stream.
class Span {
 public:
  virtual ~Span() = default;
  /// What is enqueued for computing from now on begins after this work has ended. The host does not wait.
  virtual void hold_computing() = 0;
  /// Absent until it has ended and hold_computing() has let through.
  virtual std::optional<SpanTimes> times() const = 0;
};

/// A queue of device work beside the one in which the model is computed.
class SideStream {
 public:
  virtual ~SideStream() = default;
  /// Calls `work`; what it enqueues stands in this stream, and begins when what has been enqueued for computing so far, and
  /// earlier work of this stream, has ended. The tensors that it uses come from the computing stream and must be held until
  /// hold_computing() of the result was called.
  virtual std::shared_ptr<Span> enqueue(const std::function<void()>& work) = 0;
};

/// A stretch of the computing stream, by the device's clock.
class Lap {
 public:
  virtual ~Lap() = default;
  /// What is enqueued from now on is no part of it.
  virtual void end() = 0;
  /// Absent until the device has come to the end.
  virtual std::optional<double> seconds() const = 0;
};

/// Device work that was captured, to be done again and again without the host.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
  /// Enqueues it. When it has run, results() have new values.
  virtual void replay() = 0;
  /// What the capturing call returned: the same tensors after each replay. From the first replay on.
  const std::vector<at::Tensor>& results() const { return results_; }

 protected:
  std::vector<at::Tensor> results_;
};

/// What is a device's own business. The CPU's is always there; the CUDA one is compiled where LibTorch has CUDA
/// (HPCBENCH_CUDA). Nothing here or behind it needs a header of CUDA.
class Device {
 public:
  virtual ~Device() = default;
  /// Where a process's tensors are made; of dp the first of its devices.
  virtual at::Device place() const = 0;
  bool is_cuda() const { return place().is_cuda(); }
  /// Names and values for run_start (docs/events.md), of a GPU: model, uuid, memory, place on the bus, driver, modes; of a CPU
  /// the instructions that LibTorch's operators and bf16 products use. What is unknown is absent.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
  /// Of the libraries that the device brings: cuda, cudnn, nccl.
  virtual std::vector<std::pair<std::string, std::string>> versions() const = 0;
  /// Of the GPU; empty for a CPU. See gpu_claim().
  virtual std::string uuid() const = 0;
  /// Waits until the device has done what was enqueued.
  virtual void synchronise() const = 0;
  /// The most that tensors held of the device's memory at one time, summed over the process's devices; absent on a CPU, where
  /// max_rss_bytes tells.
  virtual std::optional<std::int64_t> max_bytes() const = 0;
  /// What the process's GPUs have used up to now, by their own counters, of whose difference an energy is made. Absent on a
  /// CPU, where a counter is missing, and of a MIG instance: the counter is its GPU's.
  virtual std::optional<double> energy_j() const = 0;
  /// Makes the storage of `flat` this large, or gives its memory back (0). Tensors that share it see the new memory.
  virtual void resize(const at::Tensor& flat, std::int64_t bytes) const = 0;
  /// A stream of its own; null where work is done when the call returns.
  virtual std::unique_ptr<SideStream> make_stream() const = 0;
  /// Begins with what is enqueued for computing from now on; null where work is done when the call returns: the host's clock
  /// tells.
  virtual std::unique_ptr<Lap> begin_lap() const = 0;
  /// Calls `work` once: what it enqueues for computing is captured and not done, memory that it takes is kept for the replays.
  /// `work` may not wait for the device, and reads what differs between replays from tensors that are there before. A device
  /// that captures nothing calls `work` at each replay, and copies what it returns.
  virtual std::unique_ptr<CapturedWork> capture(const std::function<std::vector<at::Tensor>()>& work) const = 0;
  /// Adds to a process group that has Gloo for tensors of the host what carries this device's tensors.
  virtual void connect(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const c10::intrusive_ptr<c10d::Store>& store,
                       std::chrono::milliseconds timeout) const = 0;
  /// What connect(), of all groups, has connected this rank by; empty where nothing says.
  virtual NcclTransport transport() const = 0;
};

/// What the build and the machine offer (cuda_device.cpp; cuda_absent.cpp in a build without CUDA).
Machine find_machine(const Environment& environment);

const Device& cpu_device();

/// The device of a plan, its GPU bound to the calling thread, its libraries set up as the settings want it (TF32, deterministic
/// kernels). plan_device() has passed.
std::unique_ptr<Device> make_device(const DevicePlan& plan, const Settings& settings, const Machine& machine);
std::unique_ptr<Device> make_cuda_device(const DevicePlan& plan, const Settings& settings, const Machine& machine);

}  // namespace hpcbench::train

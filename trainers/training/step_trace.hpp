#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/settings.hpp"
#include "base/world.hpp"

namespace hpcbench::train {

/// Traces the steps of the setting `trace` by LibTorch's profiler: operators, and on GPUs kernels and copies, each with its
/// time, in OUTPUT/trace/rank-R.json, which Perfetto and chrome://tracing show. Our own kernels for CPUs are no operators and
/// are missing in it. Around traced steps the host waits for the GPUs, and they take longer themselves.
class StepTrace {
 public:
  /// InputError if the training has fewer steps (`total`) than the traced ones. Makes the folder.
  StepTrace(const Settings& settings, const World& world, std::int64_t total);
  /// Discards an unfinished trace.
  ~StepTrace();
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;

  /// Enclose step `number`. The last traced step waits for the process's GPUs, and writes.
  void before(std::int64_t number);
  void after(std::int64_t number);
  /// Called after the last step of this process. Writes the trace so far if an early stop came before the last traced step;
  /// warns if the training was resumed after it, or stopped before the first.
  void finish();

 private:
  void wait_for_gpus() const;
  void write();

  std::optional<StepRange> steps_;
  int gpus_ = 0;  // of this process
  std::filesystem::path file_;
  bool running_ = false;
  StepRange traced_ = {0, 0};  // by this process
  bool speaks_ = false;
};

}  // namespace hpcbench::train

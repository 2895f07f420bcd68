#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// What gpu.csv files say of a run; absent where no sample has it.
struct GpuSummary {
  std::optional<double> utilization_percent;  // mean over all samples of all gpus
  std::optional<double> memory_peak_bytes;    // of the fullest gpu
  std::optional<double> energy_wh;            // trapezoids between a gpu's samples, summed over gpus
  std::vector<std::string> warnings;
};

/// Reads what `nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used,power.draw --format=csv -l N` wrote, one file
/// a node. Columns are found by their names; `[N/A]` is no value. Total.
class GpuSampleReader {
 public:
  GpuSampleReader();
  ~GpuSampleReader();
  /// One file after the other; each is a node of its own.
  void begin(const std::string& file);
  void feed(std::string_view piece);
  void end();
  GpuSummary finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Of an attempt's folder: gpu.csv of the first node, gpu.N.csv of node N. Absent where there are none; what cannot be read is
/// a warning.
std::optional<GpuSummary> read_gpu_samples(const std::string& folder);

/// `2025/11/12 09:46:30.648` as seconds; only differences mean something.
std::optional<double> parse_gpu_timestamp(std::string_view text);

}  // namespace hpcbench

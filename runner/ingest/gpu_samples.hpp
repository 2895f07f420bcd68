#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpcbench {

/// What gpu.csv files say of a run; absent where no sample has it.
struct GpuSummary {
  int gpus = 0;                               // that have samples
  std::optional<double> utilization_percent;  // mean over all samples of all gpus
  std::optional<double> memory_peak_bytes;    // of the fullest gpu
  std::optional<double> energy_wh;            // trapezoids between a gpu's samples, summed over gpus
  // Of samples in which the gpu was at work (utilisation above 0).
  std::optional<double> sm_clock_mhz;          // mean
  std::optional<double> power_capped_percent;  // of them, in which the clock was lower for the power limit
  std::optional<double> slowed_percent;        // or for heat, or a power brake of the machine
  std::optional<double> temperature_c;         // of the hottest gpu, at any time
  std::optional<double> ecc_errors;            // uncorrected, from a gpu's first sample to its last, summed over gpus
  std::vector<std::string> warnings;
};

/// The metrics that it gives a run, by name.
std::vector<std::pair<std::string, std::optional<double>>> gpu_metrics(const GpuSummary& summary);

/// Reads what `nvidia-smi --query-gpu=FIELDS --format=csv -l N` wrote, one file a node: timestamp, index, utilization.gpu,
/// memory.used, power.draw, clocks.sm, temperature.gpu, clocks_event_reasons.active (or clocks_throttle_reasons.active) and
/// ecc.errors.uncorrected.volatile.total, as far as they are there. Columns are found by their names; `[N/A]` is no value.
/// Total.
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
std::optional<GpuSummary> read_gpu_samples(const std::string& attempt_folder, const std::string& run_dir);

/// The ranks' processes in monitor.csv (monitor.R.csv of rank R), summed over files; absent without a sample.
struct LoadSummary {
  std::optional<double> cpu_percent;     // mean; 100: one core is busy
  std::optional<double> rss_peak_bytes;  // resident memory of all processes in the sample with the most
  std::vector<std::string> warnings;     // about files that cannot be read
};

/// Reads those files of an attempt's folder; nullopt without files.
std::optional<LoadSummary> read_load_samples(const std::string& attempt_folder);

/// `2025/11/12 09:46:30.648` as seconds; only differences mean something.
std::optional<double> parse_gpu_timestamp(std::string_view text);

}  // namespace hpcbench

#include "ingest/gpu_samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "attempt_folder.hpp"

using namespace hpcbench;

namespace {

constexpr const char* kGpuHeader = "timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]\n";

GpuSummary read_gpu(const std::string& text) {
  GpuSampleReader reader;
  reader.begin("gpu.csv");
  reader.feed(text);
  reader.end();
  return reader.finish();
}

}  // namespace

TEST_CASE("gpu samples: mean utilisation, peak memory, energy by trapezoids") {
  // Gpu 0: 100 W to 200 W over 10 s, then 200 W for 10 s: 1500 + 2000 J; gpu 1: 50 W for 20 s: 1000 J. 4500 J = 1.25 Wh.
  const GpuSummary summary = read_gpu(std::string(kGpuHeader) +
                                      "2025/12/31 23:59:50.000, 0, 10 %, 1000 MiB, 100.00 W\n"
                                      "2025/12/31 23:59:50.500, 1, 20 %, 2000 MiB, 50.00 W\n"
                                      "2026/01/01 00:00:00.000, 0, 30 %, 1500 MiB, 200.00 W\n"
                                      "2026/01/01 00:00:10.000, 0, 40 %, 500 MiB, 200.00 W\n"
                                      "2026/01/01 00:00:10.500, 1, 50 %, 2000 MiB, 50.00 W\n");
  CHECK(summary.utilization_percent == 30.0);
  CHECK(summary.memory_peak_bytes == 2000.0 * 1024 * 1024);
  REQUIRE(summary.energy_wh);
  CHECK(*summary.energy_wh == doctest::Approx(1.25).epsilon(1e-12));
  CHECK(summary.warnings.empty());
}

TEST_CASE("gpu samples: what is not available, and what is broken") {
  const GpuSummary summary = read_gpu(std::string(kGpuHeader) +
                                      "2025/11/12 09:00:00.000, 0, [N/A], 10 MiB, [Not Supported]\n"
                                      "2025/11/12 09:00:10.000, 0, 5 %, many, 3.00 W\n"
                                      "2025/11/12 09:00:05.000, 0, 7 %, 20 MiB, 3.00 W\n"
                                      "Failed to initialize NVML: Driver/library version mismatch\n"
                                      "2025/11/12 09:00, 0, 9 %, 30 MiB, 3.00 W\n");
  CHECK(summary.utilization_percent == 7.0);
  CHECK(summary.memory_peak_bytes == 30.0 * 1024 * 1024);
  CHECK_FALSE(summary.energy_wh);
  CHECK(summary.warnings ==
        std::vector<std::string>{
            "gpu.csv:3: no memory: many", "gpu.csv:4: the time goes back: not in the energy",
            "gpu.csv:5: 1 cells under a header of 5: Failed to initialize NVML: Driver/library version mismatch",
            "gpu.csv:6: no power at a time: 2025/11/12 09:00, 3.00 W"});
  CHECK(read_gpu("bash: nvidia-smi: command not found\n").warnings ==
        std::vector<std::string>{"gpu.csv:1: no header of nvidia-smi: bash: nvidia-smi: command not found"});
  CHECK(*parse_gpu_timestamp("2024/03/01 00:00:00.250") - *parse_gpu_timestamp("2024/02/28 23:59:59.000") == 86401.25);
}

TEST_CASE("gpu samples: clock and what lowers it of gpus at work, the highest temperature, errors since the first sample") {
  const std::string rows =
      "2025/11/12 09:00:00.000, 0, GPU-1, 0 %, 10 MiB, 100.00 W, 345 MHz, 40, 0x0000000000000001, 2\n"
      "2025/11/12 09:00:01.000, 0, GPU-1, 90 %, 10 MiB, 600.00 W, 1900 MHz, 70, 0x0000000000000004, 2\n"
      "2025/11/12 09:00:02.000, 0, GPU-1, 90 %, 10 MiB, 600.00 W, 1500 MHz, 91, 0x0000000000000024, 5\n"
      "2025/11/12 09:00:00.000, 1, GPU-2, 99 %, 10 MiB, 600.00 W, 1980 MHz, [N/A], [Not Supported], [N/A]\n"
      "2025/11/12 09:00:03.000, 0, GPU-1, 90 %, 10 MiB, 600.00 W, 1500 MHz, 90, 0x0000000000000080, 6\n"
      "2025/11/12 09:00:04.000, 0, GPU-1, 90 %, 10 MiB, 600.00 W, fast, hot, 4, some\n";
  for (const std::string names : {"clocks.current.sm [MHz], temperature.gpu, clocks_event_reasons.active",
                                  "clocks.current.sm [MHz], temperature.gpu, clocks_throttle_reasons.active"}) {
    const GpuSummary summary = read_gpu("timestamp, index, uuid, utilization.gpu [%], memory.used [MiB], power.draw [W], " +
                                        names + ", ecc.errors.uncorrected.volatile.total\n" + rows);
    CHECK(summary.sm_clock_mhz == (1900 + 1500 + 1980 + 1500) / 4.0);
    CHECK(summary.temperature_c == 91);
    CHECK(*summary.power_capped_percent == doctest::Approx(200 / 3.0));
    CHECK(*summary.slowed_percent == doctest::Approx(200 / 3.0));
    CHECK(summary.ecc_errors == 4);
    CHECK(summary.warnings ==
          std::vector<std::string>{"gpu.csv:7: no temperature: hot", "gpu.csv:7: no number of errors: some",
                                   "gpu.csv:7: no clock: fast", "gpu.csv:7: no reasons for the clock: 4",
                                   "gpu.csv: in 2 of 3 samples of gpus at work the clock was lowered for heat or by a power "
                                   "brake: look at the node's cooling and power",
                                   "gpu.csv: 4 memory errors that were not corrected"});
  }
  const GpuSummary older = read_gpu(std::string(kGpuHeader) + "2025/11/12 09:00:00.000, 0, 50 %, 10 MiB, 360.00 W\n");
  CHECK_FALSE(older.sm_clock_mhz);
  CHECK_FALSE(older.slowed_percent);
  CHECK_FALSE(older.ecc_errors);
}

TEST_CASE("gpu.csv of all nodes becomes metrics of the attempt, energy by sample where there are samples") {
  AttemptFolder folder;
  const std::string rows =
      "2025/11/12 09:00:00.000, 0, 50 %, 10 MiB, 360.00 W\n2025/11/12 09:00:10.000, 0, 50 %, 10 MiB, 360.00 W\n";
  folder.run_json().finished(R"("exit_code":0)").file("gpu.csv", kGpuHeader + rows).file("gpu.1.csv", kGpuHeader + rows);
  folder.file("events.jsonl", "{\"v\":1,\"event\":\"epoch\",\"epoch\":1,\"samples\":500,\"tokens\":9}\n");
  const AttemptRecord record = folder.read();
  CHECK(record.metrics.at("energy_wh") == 2.0);
  CHECK(record.metrics.at("energy_wh_per_sample") == 0.004);
  CHECK(record.metrics.at("gpu_utilization_percent") == 50);
  CHECK(record.metrics.at("tokens") == 9);
  CHECK(record.places.at("energy_wh") == "gpu.csv");
  CHECK(record.warnings.empty());
}

TEST_CASE("monitor.csv: the mean load and the largest memory, summed over ranks; a missing GPU tool is a warning") {
  AttemptFolder folder;
  folder.run_json().finished(R"("exit_code":0)");
  folder.file("monitor.csv",
              "time_s,processes,cpu_percent,rss_bytes\n1.0,2,50.0,1000\n2.0,2,150.5,3000\n3.0,1,10.0,2000\n4.0,1,1");
  folder.file("monitor.1.csv", "time_s,processes,cpu_percent,rss_bytes\n1.0,1,10.0,500\n");
  folder.file("monitor.2.csv", "time_s,processes,cpu_percent,rss_bytes\n");
  const AttemptRecord record = folder.read();
  CHECK(record.metrics.at("cpu_percent") == doctest::Approx((50 + 150.5 + 10) / 3 + 10));
  CHECK(record.metrics.at("rss_peak_bytes") == 3500);
  const auto warns_of_tool = [&] {
    const std::vector<std::string> warnings = folder.read().warnings;
    return std::any_of(warnings.begin(), warnings.end(),
                       [](const std::string& warning) { return warning.starts_with("monitor: nvidia-smi was not found"); });
  };
  CHECK(warns_of_tool());
  folder.file("gpu.csv", kGpuHeader);
  CHECK_FALSE(warns_of_tool());
}

#include "ingest/gpu_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "base/written_number.hpp"
#include "ingest/csv_text.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/metric_scan.hpp"

namespace hpcbench {

namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kSecondsPerDay = 86400;
constexpr std::size_t kMostGpus = 4096;
constexpr std::size_t kGpuWarnings = 10;

/// Days since 1970-01-01 of a date of the Gregorian calendar (H. Hinnant, chrono-Compatible Low-Level Date Algorithms).
long long days_from_civil(long long year, int month, int day) {
  year -= month <= 2 ? 1 : 0;
  const long long era = (year >= 0 ? year : year - 399) / 400;
  const long long year_of_era = year - era * 400;
  const long long day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const long long day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

struct GpuUnit {
  std::string_view word;
  double factor;
};

/// `98 %`, `1234 MiB`, `250.12 W`: a number and one of these units.
std::optional<double> amount_in(std::string_view cell, std::initializer_list<GpuUnit> units) {
  cell = trim(cell);
  for (const auto& [word, factor] : units) {
    if (!cell.ends_with(word)) continue;
    const std::optional<double> number = parse_plain_number(trim(cell.substr(0, cell.size() - word.size())));
    if (number && *number >= 0) return *number * factor;
  }
  return std::nullopt;
}

/// Why a clock is lower than it could be: bits of NVML's nvmlClocksEventReasons (NVML API reference).
constexpr std::uint64_t kPowerCapped = 0x4;                  // SwPowerCap
constexpr std::uint64_t kSlowed = 0x8 | 0x20 | 0x40 | 0x80;  // HwSlowdown, Sw- and HwThermalSlowdown, HwPowerBrakeSlowdown

/// `0x0000000000000004`
std::optional<std::uint64_t> bits_in(std::string_view cell) {
  cell = trim(cell);
  if (!cell.starts_with("0x")) return std::nullopt;
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(cell.data() + 2, cell.data() + cell.size(), bits, 16);
  return error == std::errc() && end == cell.data() + cell.size() ? std::optional(bits) : std::nullopt;
}

bool is_not_available(std::string_view cell) {
  cell = trim(cell);
  return cell.empty() || (cell.starts_with('[') && cell.ends_with(']')) || cell == "N/A";
}

}  // namespace

std::optional<double> parse_gpu_timestamp(std::string_view text) {
  const std::string zero_ended(trim(text));
  long long year = 0;
  int month = 0, day = 0, hour = 0, minute = 0, used = 0;
  if (zero_ended.size() > 40 ||
      std::sscanf(zero_ended.c_str(), "%4lld/%2d/%2d %2d:%2d:%n", &year, &month, &day, &hour, &minute, &used) != 5 || used == 0)
    return std::nullopt;
  const std::optional<double> second = parse_plain_number(std::string_view(zero_ended).substr(static_cast<std::size_t>(used)));
  const bool sound = second && year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour >= 0 && hour < 24 &&
                     minute >= 0 && minute < 60 && *second >= 0 && *second < 61;
  if (!sound) return std::nullopt;
  return static_cast<double>(days_from_civil(year, month, day)) * kSecondsPerDay + hour * kSecondsPerHour + minute * 60 +
         *second;
}

std::vector<std::pair<std::string, std::optional<double>>> gpu_metrics(const GpuSummary& summary) {
  return {{"gpu_utilization_percent", summary.utilization_percent},
          {"gpu_memory_peak_bytes", summary.memory_peak_bytes},
          {"energy_wh", summary.energy_wh},
          {"gpu_sm_clock_mhz", summary.sm_clock_mhz},
          {"gpu_temperature_c", summary.temperature_c},
          {"gpu_power_capped_percent", summary.power_capped_percent},
          {"gpu_slowed_percent", summary.slowed_percent},
          {"gpu_ecc_errors", summary.ecc_errors}};
}

struct GpuSampleReader::Impl {
  struct Power {
    double time_s = 0;
    double watts = 0;
  };

  Impl()
      : csv([this](long long line, std::vector<std::string>& cells) { take_row(line, cells); },
            [this](long long line, const std::string& text) { warn(line, text); }) {}

  void warn(long long line, const std::string& text) {
    ++warnings;
    if (warnings <= kGpuWarnings) summary.warnings.push_back(printable(fmt::format("{}:{}: {}", file, line, text)));
  }

  /// `utilization.gpu [%]` is found by its beginning.
  std::optional<std::size_t> column(const std::vector<std::string>& cells, std::string_view name) const {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string_view cell = trim(cells[i]);
      if (cell == name || (cell.starts_with(name) && cell.substr(name.size()).starts_with(" ["))) return i;
    }
    return std::nullopt;
  }

  void take_row(long long line, std::vector<std::string>& cells) {
    if (const auto time = column(cells, "timestamp")) {
      columns = cells.size();
      timestamp = time;
      index = column(cells, "index");
      utilization = column(cells, "utilization.gpu");
      memory = column(cells, "memory.used");
      power = column(cells, "power.draw");
      clock = column(cells, "clocks.current.sm");
      if (!clock) clock = column(cells, "clocks.sm");
      temperature = column(cells, "temperature.gpu");
      reasons = column(cells, "clocks_event_reasons.active");
      if (!reasons) reasons = column(cells, "clocks_throttle_reasons.active");
      ecc = column(cells, "ecc.errors.uncorrected.volatile.total");
      return;
    }
    if (columns == 0 || cells.size() != columns) {
      const std::string text = printable(std::string_view(cells.front()).substr(0, 60));
      warn(line, columns == 0 ? "no header of nvidia-smi: " + text
                              : fmt::format("{} cells under a header of {}: {}", cells.size(), columns, text));
      return;
    }
    take_sample(line, cells);
  }

  void take_sample(long long line, const std::vector<std::string>& cells) {
    if (gpus.size() < kMostGpus) gpus.emplace(file, gpu_of(cells));
    const auto percent = value_in(line, cells, utilization, "utilization", {{"%", 1}});
    if (percent) {
      utilization_sum += *percent;
      ++utilization_count;
    }
    if (const auto bytes =
            value_in(line, cells, memory, "memory", {{"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}}))
      summary.memory_peak_bytes = std::max(summary.memory_peak_bytes.value_or(0), *bytes);
    if (power && !is_not_available(cells[*power])) take_power(line, cells);
    if (const auto celsius = value_in(line, cells, temperature, "temperature", {{"", 1}}))
      summary.temperature_c = std::max(summary.temperature_c.value_or(0), *celsius);
    if (const auto errors = value_in(line, cells, ecc, "number of errors", {{"", 1}})) take_errors(cells, *errors);
    if (percent && *percent > 0) take_busy(line, cells);
  }

  std::string gpu_of(const std::vector<std::string>& cells) const { return index ? std::string(trim(cells[*index])) : ""; }

  /// Absent, with a warning where the cell should have had one.
  std::optional<double> value_in(long long line, const std::vector<std::string>& cells, const std::optional<std::size_t>& place,
                                 std::string_view what, std::initializer_list<GpuUnit> units) {
    if (!place || is_not_available(cells[*place])) return std::nullopt;
    const std::optional<double> value = amount_in(cells[*place], units);
    if (!value) warn(line, fmt::format("no {}: {}", what, printable(std::string_view(cells[*place]).substr(0, 60))));
    return value;
  }

  /// A sample of a gpu at work.
  void take_busy(long long line, const std::vector<std::string>& cells) {
    if (const auto mhz = value_in(line, cells, clock, "clock", {{"MHz", 1}})) {
      clock_sum += *mhz;
      ++clock_count;
    }
    if (!reasons || is_not_available(cells[*reasons])) return;
    const std::optional<std::uint64_t> bits = bits_in(cells[*reasons]);
    if (!bits) return warn(line, "no reasons for the clock: " + printable(std::string_view(cells[*reasons]).substr(0, 60)));
    ++reasons_count;
    if ((*bits & kPowerCapped) != 0) ++power_capped;
    if ((*bits & kSlowed) != 0) ++slowed;
  }

  /// The counter goes up until the driver is loaded again.
  void take_errors(const std::vector<std::string>& cells, double errors) {
    const std::string gpu = gpu_of(cells);
    const auto known = last_errors.find(gpu);
    if (known == last_errors.end() && last_errors.size() >= kMostGpus) return;
    const double before = known == last_errors.end() ? errors : known->second;
    summary.ecc_errors = summary.ecc_errors.value_or(0) + std::max(0.0, errors - before);
    last_errors[gpu] = errors;
  }

  void take_power(long long line, const std::vector<std::string>& cells) {
    const std::optional<double> watts = amount_in(cells[*power], {{"mW", 1e-3}, {"kW", 1e3}, {"W", 1}});
    const std::optional<double> time_s = parse_gpu_timestamp(cells[*timestamp]);
    if (!watts || !time_s) {
      warn(line, "no power at a time: " + printable((cells[*timestamp] + ", " + cells[*power]).substr(0, 60)));
      return;
    }
    const std::string gpu = gpu_of(cells);
    const auto known = last.find(gpu);
    if (known == last.end() && last.size() >= kMostGpus) return;
    if (known != last.end()) {
      const double step_s = *time_s - known->second.time_s;
      if (step_s < 0) {
        warn(line, "the time goes back: not in the energy");
      } else {
        summary.energy_wh = summary.energy_wh.value_or(0) + step_s * (known->second.watts + *watts) / 2 / kSecondsPerHour;
      }
    }
    last[gpu] = {*time_s, *watts};
  }

  CsvReader csv;
  std::string file;
  std::size_t columns = 0;
  std::optional<std::size_t> timestamp, index, utilization, memory, power, clock, temperature, reasons, ecc;
  std::set<std::pair<std::string, std::string>> gpus;
  std::map<std::string, Power> last;          // by gpu, of this file
  std::map<std::string, double> last_errors;  // likewise
  double utilization_sum = 0, clock_sum = 0;
  long long utilization_count = 0, clock_count = 0;
  long long reasons_count = 0, power_capped = 0, slowed = 0;  // samples of gpus at work
  std::size_t warnings = 0;
  GpuSummary summary;
};

GpuSampleReader::GpuSampleReader() : impl_(std::make_unique<Impl>()) {}
GpuSampleReader::~GpuSampleReader() = default;

void GpuSampleReader::begin(const std::string& file) {
  impl_->file = file;
  impl_->columns = 0;
  impl_->last.clear();
  impl_->last_errors.clear();
  impl_->warnings = 0;
}

void GpuSampleReader::feed(std::string_view piece) { impl_->csv.feed(piece); }

void GpuSampleReader::end() {
  impl_->csv.finish();
  if (impl_->warnings > kGpuWarnings)
    impl_->summary.warnings.push_back(fmt::format("{}: {} more like these", impl_->file, impl_->warnings - kGpuWarnings));
}

GpuSummary GpuSampleReader::finish() {
  GpuSummary& summary = impl_->summary;
  const auto mean = [](double sum, long long count) {
    return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
  };
  summary.gpus = static_cast<int>(impl_->gpus.size());
  summary.utilization_percent = mean(impl_->utilization_sum, impl_->utilization_count);
  summary.sm_clock_mhz = mean(impl_->clock_sum, impl_->clock_count);
  constexpr double kPercent = 100;
  summary.power_capped_percent = mean(kPercent * static_cast<double>(impl_->power_capped), impl_->reasons_count);
  summary.slowed_percent = mean(kPercent * static_cast<double>(impl_->slowed), impl_->reasons_count);
  if (impl_->slowed > 0) {
    summary.warnings.push_back(
        fmt::format("gpu.csv: in {} of {} samples of gpus at work the clock was lowered for heat or by a "
                    "power brake: look at the node's cooling and power",
                    impl_->slowed, impl_->reasons_count));
  }
  if (summary.ecc_errors.value_or(0) > 0)
    summary.warnings.push_back(fmt::format("gpu.csv: {:.0f} memory errors that were not corrected", *summary.ecc_errors));
  return std::move(summary);
}

std::optional<GpuSummary> read_gpu_samples(const std::string& attempt_folder, const std::string& run_dir) {
  std::vector<std::string> files;
  for (const std::string& folder : {attempt_folder, run_dir}) {
    if (!files.empty()) break;  // those of `monitor` count before a program's own
    files = expand_glob("gpu.csv", folder, "");
    for (std::string& file : expand_glob("gpu.[0-9]*.csv", folder, "")) files.push_back(std::move(file));
  }
  if (files.empty()) return std::nullopt;
  GpuSampleReader reader;
  std::vector<std::string> warnings;
  for (const std::string& file : files) {
    const std::string name = std::filesystem::path(file).filename().string();
    reader.begin(name);
    const auto problem = read_lines(file, [&](std::string_view piece) {
      reader.feed(piece);
      return true;
    });
    reader.end();
    if (problem) warnings.push_back(fmt::format("{}: {}", name, *problem));
  }
  GpuSummary summary = reader.finish();
  summary.warnings.insert(summary.warnings.begin(), warnings.begin(), warnings.end());
  return summary;
}

std::optional<LoadSummary> read_load_samples(const std::string& attempt_folder) {
  std::vector<std::string> files = expand_glob("monitor.csv", attempt_folder, "");
  for (std::string& file : expand_glob("monitor.[0-9]*.csv", attempt_folder, "")) files.push_back(std::move(file));
  if (files.empty()) return std::nullopt;
  LoadSummary summary;
  for (const std::string& file : files) {
    double sum = 0, peak = 0;
    long long samples = 0;
    const auto problem = read_lines(file, [&](std::string_view piece) {
      for (const std::string& line : split(piece, '\n')) {
        const std::vector<std::string> cells = split(line, ',');
        const bool whole = cells.size() == 4;
        const std::optional<double> cpu_percent = whole ? parse_plain_number(cells[2]) : std::nullopt;
        const std::optional<double> rss_bytes = whole ? parse_plain_number(cells[3]) : std::nullopt;
        if (!cpu_percent || !rss_bytes) continue;  // the header, or a line that is not whole
        ++samples;
        sum += *cpu_percent;
        peak = std::max(peak, *rss_bytes);
      }
      return true;
    });
    if (problem) summary.warnings.push_back(fmt::format("{}: {}", std::filesystem::path(file).filename().string(), *problem));
    if (samples == 0) continue;
    summary.cpu_percent = summary.cpu_percent.value_or(0) + sum / static_cast<double>(samples);
    summary.rss_peak_bytes = summary.rss_peak_bytes.value_or(0) + peak;
  }
  return summary;
}

}  // namespace hpcbench

#include <algorithm>
#include <array>
#include <cmath>

#include "report/samples.hpp"

namespace hpcbench {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kTera = 1e12;

/// A metric and the field for its median.
struct PhaseField {
  const char* metric;
  std::optional<double> Phases::*field;
};
constexpr std::array kPhaseFields = {
    PhaseField{"setup_s", &Phases::setup_s},           PhaseField{"data_s", &Phases::data_s},
    PhaseField{"train_s", &Phases::train_s},           PhaseField{"eval_s", &Phases::eval_s},
    PhaseField{"checkpoint_s", &Phases::checkpoint_s}, PhaseField{"communication_s", &Phases::communication_s},
};

/// Returns the median of `value_of` over the runs that succeeded.
template <class ValueOf>
std::optional<double> median_over(const Sample& sample, const ValueOf& value_of) {
  std::vector<double> values;
  for (const AttemptRecord* run : sample.runs) {
    if (run->state != State::succeeded) continue;
    if (const std::optional<double> value = value_of(*run); value && std::isfinite(*value)) values.push_back(*value);
  }
  return median_of(std::move(values));
}

std::optional<double> number_of(const AttemptRecord& run, const char* fact) {
  const auto found = run.facts.find(fact);
  return found == run.facts.end() ? std::nullopt : Value::from_plain(found->second).number();
}

std::optional<double> train_time(const AttemptRecord& run) {
  const auto train_s = metric_value(run, "train_s");
  return train_s && *train_s > 0 ? train_s : std::nullopt;
}

/// Returns the rate that the program reports, else `amount` / train_s.
std::optional<double> rate_of(const AttemptRecord& run, const char* rate, const char* amount) {
  if (const auto said = metric_value(run, rate)) return said;
  const auto count = metric_value(run, amount);
  const auto train_s = train_time(run);
  return count && train_s ? std::optional(*count / *train_s) : std::nullopt;
}

/// Returns the floating point operations of a training run over all its ranks: the program's own number; else for a
/// transformer, 6 for each parameter of its linear layers and token, and 12 x layers x hidden size x length for the attention
/// of each token (Chowdhery et al. 2022, appendix B); else 6 for each parameter and token (Kaplan et al. 2020).
std::optional<double> operations_of(const AttemptRecord& run) {
  if (const auto said = metric_value(run, "flop")) return said;
  const auto samples = metric_value(run, "samples");
  std::optional<double> tokens = metric_value(run, "tokens");
  if (const auto length = number_of(run, "max_length"); !tokens && samples && length) tokens = *samples * *length;
  if (!tokens) return std::nullopt;
  const auto layers = number_of(run, "layers");
  const auto hidden = number_of(run, "hidden_size");
  const auto intermediate = number_of(run, "intermediate_size");
  if (layers && hidden && intermediate && samples && *samples > 0) {
    const double parameters = *layers * (4 * *hidden * *hidden + 2 * *hidden * *intermediate);
    const double length = *tokens / *samples;
    return *tokens * (6 * parameters + 12 * *layers * *hidden * length);
  }
  const auto parameters = number_of(run, "parameters");
  return parameters ? std::optional(6 * *parameters * *tokens) : std::nullopt;
}

void count_gpu_hours(Sample& sample) {
  if (sample.row.gpus == 0) return;
  for (const AttemptRecord* run : sample.runs) {
    const auto wall_s = run->metrics.find("wall_s");
    if (wall_s == run->metrics.end() || !std::isfinite(wall_s->second)) continue;
    const double hours = sample.row.gpus * wall_s->second / kSecondsPerHour;
    sample.row.work.gpu_hours_of[run->state] += hours;
    sample.row.work.gpu_hours = sample.row.work.gpu_hours.value_or(0) + hours;
  }
}

}  // namespace

void measure_parts(Sample& sample, const ReportSettings& settings, const std::vector<std::string>& metric_columns) {
  Row& row = sample.row;
  for (const auto& [metric, field] : kPhaseFields) {
    row.times.phases.*field = median_over(sample, [&](const AttemptRecord& run) { return metric_value(run, metric); });
  }
  for (const std::string& name : metric_columns) {
    const auto value = median_over(sample, [&](const AttemptRecord& run) { return metric_value(run, name); });
    if (value) row.metrics[name] = *value;
  }
  row.work.samples_per_s = median_over(sample, [](const auto& run) { return rate_of(run, "samples_per_s", "samples"); });
  row.work.tokens_per_s = median_over(sample, [](const auto& run) { return rate_of(run, "tokens_per_s", "tokens"); });
  row.work.rates_written = std::all_of(sample.measured.begin(), sample.measured.end(), [&](const AttemptRecord* run) {
    return (!row.work.samples_per_s || metric_value(*run, "samples_per_s")) &&
           (!row.work.tokens_per_s || metric_value(*run, "tokens_per_s"));
  });
  count_gpu_hours(sample);
  if (!settings.peak_tflops || row.gpus == 0) return;
  const double peak = *settings.peak_tflops * kTera * row.gpus;
  row.work.mfu = median_over(sample, [&](const AttemptRecord& run) -> std::optional<double> {
    const auto operations = operations_of(run);
    const auto train_s = train_time(run);
    return operations && train_s ? std::optional(*operations / *train_s / peak) : std::nullopt;
  });
}

}  // namespace hpcbench

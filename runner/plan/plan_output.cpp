#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "plan/diff.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kShownRows = 40;
constexpr std::size_t kShownOrphans = 5;

using TextRow = std::vector<std::string>;

std::string hours_text(double hours) {
  if (hours >= 100) return fmt::format("{:.0f}", hours);
  return hours >= 1 ? fmt::format("{:.1f}", hours) : fmt::format("{:.3f}", hours);
}

/// One line a value, whatever it holds.
std::string cell_text(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return text;
}

/// Places in `names` of those that are among `varied`.
std::vector<std::size_t> places_of(const std::vector<std::string>& varied, const std::vector<std::string>& names) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(varied.begin(), varied.end(), names[i]) != varied.end()) places.push_back(i);
  }
  return places;
}

/// The column of a configuration's size: its GPUs, or its ranks in a study without GPUs that counts them; else nullptr.
const char* size_heading(const Experiment& experiment) {
  if (experiment.has_gpus) return "gpus";
  return experiment.scale_by() == ScaleBy::ranks ? "ranks" : nullptr;
}

std::string configuration_table(const Experiment& experiment, const Plan& plan, const PlanDiff& diff) {
  const std::vector<int>& looks = experiment.report.looks;
  const char* const size = size_heading(experiment);
  const std::vector<std::size_t> columns = places_of(plan.varied, plan.axes);
  std::vector<TextRow> rows = {{"config_id"}};
  for (const std::size_t column : columns) rows.front().push_back(cell_text(plan.axes[column]));
  const std::vector<std::size_t> derived = places_of(plan.varied_derived, plan.derived);
  for (const std::size_t column : derived) rows.front().push_back(cell_text(plan.derived[column]));
  if (size != nullptr) rows.front().emplace_back(size);
  for (const char* name : {"runs", "new", "kept", "orphaned"}) rows.front().emplace_back(name);
  const std::size_t shown = std::min(kShownRows, plan.configurations.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Configuration& configuration = plan.configurations[i];
    TextRow row = {configuration.id};
    for (const std::size_t column : columns) row.push_back(cell_text(configuration.values[column].text()));
    for (const std::size_t column : derived) row.push_back(cell_text(configuration.derived[column].text()));
    const RunCounts& counts = diff.rows[i];
    if (size != nullptr) row.push_back(std::to_string(experiment.has_gpus ? configuration.gpus() : configuration.ranks()));
    row.push_back((looks.empty() ? "" : fmt::format("{} to ", looks.front())) + std::to_string(plan.repeats));
    for (const long long number : {counts.fresh, counts.kept, counts.orphaned}) row.push_back(std::to_string(number));
    rows.push_back(std::move(row));
  }
  std::string out = aligned_rows(rows);
  if (shown < plan.configurations.size()) out += fmt::format("... {} more\n", plan.configurations.size() - shown);
  return out;
}

/// `16 to ` where rows may end at their first look.
std::string least_runs(const std::vector<int>& looks, long long configurations) {
  return looks.empty() ? "" : fmt::format("{} to ", configurations * looks.front());
}

std::string totals_line(const Plan& plan, const std::vector<int>& looks) {
  const auto configurations = static_cast<long long>(plan.configurations.size());
  std::string out = counted(configurations, "configuration", "configurations") + ", " + least_runs(looks, configurations) +
                    counted(configurations * plan.repeats, "run", "runs");
  if (plan.warmups > 0) out += ", " + counted(configurations * plan.warmups, "warm-up", "warm-ups");
  if (plan.excluded > 0) out += ", " + counted(plan.excluded, "point", "points") + " excluded";
  const std::optional<double> hours = hours_at_most(plan, plan.cost_unit);
  const char* const unit = to_string(plan.cost_unit);
  if (hours && !looks.empty()) {
    const double least = *hours * (looks.front() + plan.warmups) / (plan.repeats + plan.warmups);
    return out + fmt::format(", {} to {} {} at most", hours_text(least), hours_text(*hours), unit);
  }
  return out + (hours ? fmt::format(", {} {} at most", hours_text(*hours), unit)
                      : fmt::format(", {} without a limit (resources.time is not set)", unit));
}

/// How many instances each preparation has: `prepare: build 4 times, data once`.
std::string preparations_line(const Experiment& experiment, const Plan& plan) {
  const std::vector<long long> counts = count_instances(experiment, plan);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string often = counts[i] == 1 ? "once" : fmt::format("{} times", counts[i]);
    parts.push_back(experiment.preparations[i].name + ' ' + often);
  }
  return parts.empty() ? "" : "prepare: " + join(parts, ", ") + '\n';
}

void write_preparations(JsonWriter& json, const Experiment& experiment, const Plan& plan) {
  const std::vector<long long> counts = count_instances(experiment, plan);
  if (counts.empty()) return;
  json.key("prepare").begin_object();
  for (std::size_t i = 0; i < counts.size(); ++i) json.member(experiment.preparations[i].name, counts[i]);
  json.end();
}

/// What makes the number or the cost of runs another than the table says: looks, segments, a budget.
std::string lines_of_rounds(const Experiment& experiment, CostUnit unit) {
  std::string out;
  if (experiment.repeat_rule) {
    const RepeatRule& rule = *experiment.repeat_rule;
    out += fmt::format(
        "looks: at {} runs of a row, until the half width of its {} is at most {:.3g} %: {:g} % over {} looks; "
        "new are the runs to the next look\n",
        fmt::join(experiment.report.looks, ", "), rule.of == RepeatRule::Of::speedup ? "speedup" : "median", 100 * rule.until,
        100 * experiment.report.confidence, experiment.report.looks.size());
  }
  if (experiment.continuation) {
    out += fmt::format("continue: a run has at most {}: up to so many times these {}\n",
                       counted(experiment.continuation->max, "segment", "segments"), to_string(unit));
  }
  if (experiment.budget) out += fmt::format("budget: {} {}\n", plain_number(experiment.budget->hours), to_string(unit));
  return out;
}

void write_looks(JsonWriter& json, const Experiment& experiment) {
  if (experiment.repeat_rule) json.member("looks", experiment.report.looks).member("until", experiment.repeat_rule->until);
  if (experiment.budget) json.member(fmt::format("budget_{}", key_of(experiment.budget->unit)), experiment.budget->hours);
}

std::string orphans_line(const PlanDiff& diff) {
  if (diff.orphan_ids.empty()) return "";
  const auto shown = static_cast<std::ptrdiff_t>(std::min(kShownOrphans, diff.orphan_ids.size()));
  const std::vector<std::string> ids(diff.orphan_ids.begin(), diff.orphan_ids.begin() + shown);
  return fmt::format("no longer asked for, kept on disk: {}{}\n", join(ids, " "),
                     diff.orphan_ids.size() > kShownOrphans ? " ..." : "");
}

void write_row(JsonWriter& json, const Experiment& experiment, const Plan& plan, std::size_t index, const RunCounts& counts) {
  const Configuration& configuration = plan.configurations[index];
  json.begin_object().member("config_id", configuration.id).key("axes").begin_object();
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    if (experiment.shows_axis(plan.axes[i])) json.member(plan.axes[i], configuration.values[i]);
  }
  json.end();
  if (!plan.derived.empty()) {
    json.key("derived").begin_object();
    for (std::size_t i = 0; i < plan.derived.size(); ++i) json.member(plan.derived[i], configuration.derived[i]);
    json.end();
  }
  if (const char* const size = size_heading(experiment))
    json.member(size, size == std::string_view("gpus") ? configuration.gpus() : configuration.ranks());
  json.member("repeats", plan.repeats).member("new", counts.fresh).member("kept", counts.kept);
  json.member("orphaned", counts.orphaned).end();
}

}  // namespace

std::string plan_text(const Experiment& experiment, const Plan& plan, const PlanDiff& diff) {
  std::string out = fmt::format("{}: {}\n\n", experiment.name, totals_line(plan, experiment.report.looks));
  out += configuration_table(experiment, plan, diff);
  out += fmt::format("\n+{} new  ={} kept  -{} orphaned (runs)\n", diff.total.fresh, diff.total.kept, diff.total.orphaned);
  out += lines_of_rounds(experiment, plan.cost_unit);
  out += preparations_line(experiment, plan);
  out += orphans_line(diff);
  for (const std::string& note : plan.notes) out += "note: " + note + '\n';
  return out;
}

std::string plan_json(const Experiment& experiment, const Plan& plan, const PlanDiff& diff) {
  const auto configurations = static_cast<long long>(plan.configurations.size());
  JsonWriter json;
  json.begin_object().member("schema", 1).member("experiment", experiment.name).member("configurations", configurations);
  json.member("runs", configurations * plan.repeats).member("excluded", plan.excluded);
  if (experiment.has_gpus) json.member("gpu_hours", hours_at_most(plan, CostUnit::gpu_hours));
  json.member("node_hours", hours_at_most(plan, CostUnit::node_hours)).member("new", diff.total.fresh);
  json.member("kept", diff.total.kept).member("orphaned", diff.total.orphaned);
  write_looks(json, experiment);
  write_preparations(json, experiment, plan);
  json.break_line(0).key("rows").begin_array();
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    write_row(json.break_line(0), experiment, plan, i, diff.rows[i]);
    // Growing step by step would copy many rows several times; later ones may be somewhat longer than the first.
    if (i == 0) json.reserve(plan.configurations.size() * (json.size() + 16));
  }
  json.break_line(0).end();
  return json.break_line(0).member("notes", plan.notes).end().take() + "\n";
}

}  // namespace hpcbench

#include "base/settings.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.hpp"
#include "base/task_settings.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

const SettingRow& find_row(const Assignment& assignment) {
  std::vector<std::string> names;
  for (const SettingRow& row : setting_rows()) {
    if (assignment.name == row.name) return row;
    names.push_back(row.name);
  }
  throw InputError(concat("error: ", assignment.where, ": there is no such setting", did_you_mean(assignment.name, names),
                          "; there are: ", join(names, ", ")));
}

void set_named(Settings& settings, const std::vector<Assignment>& assignments, const std::string& name) {
  for (const Assignment& assignment : assignments) {
    if (assignment.name == name) find_row(assignment).set(settings, assignment.text, assignment.where);
  }
}

/// batch_size may be a default of the task; global_batch replaces it.
void drop_default_batch(Settings& settings, const std::vector<Assignment>& assignments) {
  const bool given =
      std::any_of(assignments.begin(), assignments.end(), [](const Assignment& each) { return each.name == "batch_size"; });
  if (settings.global_batch && !given) settings.batch_size.reset();
}

}  // namespace

const TaskSettings* find_task_settings(const std::string& name) {
  for (const TaskSettings& task : task_settings()) {
    if (task.name == name) return &task;
  }
  return nullptr;
}

const std::vector<std::string>& task_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> all;
    for (const TaskSettings& task : task_settings()) all.push_back(task.name);
    return all;
  }();
  return kNames;
}

void refuse_task(const std::string& name) {
  throw InputError(concat("error: there is no task `", name, "`", did_you_mean(name, task_names()),
                          "; there are: ", join(task_names(), ", ")));
}

Settings make_settings(const std::vector<Assignment>& assignments) {
  Settings settings;
  settings.task = task_settings().front().name;
  set_named(settings, assignments, "task");
  const TaskSettings* const task = find_task_settings(settings.task);
  if (!task) refuse_task(settings.task);
  task->set_defaults(settings);
  if (!task->preset.empty()) set_named(settings, assignments, task->preset);
  task->apply_preset(settings);
  for (const Assignment& assignment : assignments) {
    const SettingRow& row = find_row(assignment);
    if (!row.task.empty() && row.task != settings.task) {
      throw InputError(concat("error: ", assignment.where, " is a setting of the task ", row.task, "; ", settings.task,
                              " does not know it"));
    }
    row.set(settings, assignment.text, assignment.where);
  }
  drop_default_batch(settings, assignments);
  return settings;
}

std::int64_t batch_per_process(const Settings& settings, const World& world) {
  constexpr std::int64_t kDefaultBatch = 64;
  return settings.global_batch ? *settings.global_batch / (world.size * settings.accumulate)
                               : settings.batch_size.value_or(kDefaultBatch);
}

std::string setting_text(const SettingValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* count = std::get_if<std::int64_t>(&value)) return std::to_string(*count);
  const auto* number = std::get_if<double>(&value);
  if (!number) return "";
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, *number).ptr};
}

std::map<std::string, std::string> deciding_settings(const Settings& settings) {
  std::map<std::string, std::string> deciding;
  for (const SettingRow& row : setting_rows()) {
    if (!row.decides || row.is_path || (!row.task.empty() && row.task != settings.task)) continue;
    const SettingValue value = row.get(settings);
    if (!std::holds_alternative<std::monostate>(value)) deciding[row.name] = setting_text(value);
  }
  return deciding;
}

std::string to_string(const StepRange& steps) {
  const std::string first = std::to_string(steps.first);
  return steps.last == steps.first ? first : first + "-" + std::to_string(steps.last);
}

double learning_rate(const Settings& settings) {
  if (settings.lr) return *settings.lr;
  switch (settings.optimizer) {
    case OptimizerKind::sgd:
      return 0.05;
    case OptimizerKind::adadelta:
      return 0.1;
    case OptimizerKind::adamw:
      return 0.001;
  }
  return 0;
}

double weight_decay(const Settings& settings) {
  return settings.weight_decay.value_or(settings.optimizer == OptimizerKind::adamw ? 0.01 : 0.0);
}

FsdpWrap fsdp_wrap(const Settings& settings) {
  return settings.wrap.value_or(settings.flavour == Flavour::reference ? FsdpWrap::none : FsdpWrap::layers);
}

int device_count(const Settings& settings) {
  return settings.strategy == "dp" ? settings.devices.value_or(settings.gpus.value_or(1)) : 1;
}

int last_epoch(const Settings& settings) {
  return settings.epochs.value_or(settings.max_steps ? std::numeric_limits<int>::max() : 1);
}

bool keeps_last(const Settings& settings) {
  return settings.checkpoint == Checkpoints::last || settings.checkpoint == Checkpoints::both;
}

bool keeps_best(const Settings& settings) {
  return settings.checkpoint == Checkpoints::best || settings.checkpoint == Checkpoints::both;
}

std::optional<std::filesystem::path> output_folder(const Settings& settings) {
  return settings.output ? std::optional<std::filesystem::path>(*settings.output) : settings.run_folder;
}

std::optional<std::filesystem::path> event_file(const Settings& settings, int rank) {
  if (settings.events) return rank == 0 ? *settings.events : concat(*settings.events, ".", rank);
  if (!settings.run_folder) return std::nullopt;
  return *settings.run_folder / (rank == 0 ? "events.jsonl" : concat("events.", rank, ".jsonl"));
}

std::filesystem::path log_file(const Settings& settings, int rank) {
  if (!settings.run_folder) return {};
  return *settings.run_folder / (rank == 0 ? "train.log" : concat("train.", rank, ".log"));
}

}  // namespace hpcbench::train

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/settings.hpp"

namespace hpcbench::train {

/// What a task adds to the settings. It stands in the task's folder and needs no LibTorch; functions that are not given do
/// nothing.
struct TaskSettings {
  std::string name;
  /// The settings that it alone knows; Settings::own() has their values.
  std::vector<SettingRow> (*rows)() = [] { return std::vector<SettingRow>(); };
  /// For --help, of settings that all tasks have: the setting, and what the task means by it or has as its default.
  std::vector<std::pair<std::string, std::string>> notes = {};
  /// Of --help: what may stand behind `hpcbench-train run`.
  std::vector<std::string> examples = {};
  /// What it uses where nothing is said.
  void (*set_defaults)(Settings& settings) = [](Settings&) {};
  /// The name of the one of its settings that chooses other defaults, and what these are once it is set; empty: none.
  std::string preset = {};
  void (*apply_preset)(Settings& settings) = [](Settings&) {};
  bool has_bf16 = false;
  /// InputError for settings that contradict each other.
  void (*check)(const Settings& settings) = [](const Settings&) {};
  /// Whether it has kernels of its own for GPUs, which do what these settings ask for. Whether they take its model's size, it
  /// says later (Task::choose_kernels()).
  bool (*has_gpu_kernels)(const Settings& settings) = [](const Settings&) { return false; };
  /// InputError for what neither LibTorch's operators (`kernels: torch`) nor a GPU can do.
  void (*check_torch_kernels)(const Settings& settings) = [](const Settings&) {};
  /// Whether LibTorch's operators, and on a GPU our own kernels beside them, may draw dropout from the device's generator.
  bool (*can_draw_on_device)(const Settings& settings) = [](const Settings&) { return true; };
};

/// The table of tasks, whose first is the default; tasks/task_settings.cpp has it.
const std::vector<TaskSettings>& task_settings();

/// Null for a task that there is not.
const TaskSettings* find_task_settings(const std::string& name);

}  // namespace hpcbench::train

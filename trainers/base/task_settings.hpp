#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/settings.hpp"

namespace hpcbench::train {

/// A task's part of the settings, defined in the task's folder without LibTorch; functions that are not given do nothing.
struct TaskSettings {
  std::string name;
  /// The settings of this task alone; Settings::own() has their values.
  std::vector<SettingRow> (*rows)() = [] { return std::vector<SettingRow>(); };
  /// For --help, on settings that all tasks have: the setting, and the task's meaning or default.
  std::vector<std::pair<std::string, std::string>> notes = {};
  /// For --help: examples of arguments behind `hpcbench-train run`.
  std::vector<std::string> examples = {};
  /// Sets the task's defaults.
  void (*set_defaults)(Settings& settings) = [](Settings&) {};
  /// The name of one of its settings that selects other defaults, and the function that sets them; empty: none.
  std::string preset = {};
  void (*apply_preset)(Settings& settings) = [](Settings&) {};
  bool has_bf16 = false;
  /// InputError for settings that contradict each other.
  void (*check)(const Settings& settings) = [](const Settings&) {};
  /// Returns whether it has GPU kernels that implement these settings. Task::choose_kernels() later checks the model's size.
  bool (*has_gpu_kernels)(const Settings& settings) = [](const Settings&) { return false; };
  /// InputError for settings that neither LibTorch's operators (`kernels: torch`) nor a GPU support.
  void (*check_torch_kernels)(const Settings& settings) = [](const Settings&) {};
  /// Returns whether LibTorch's operators, and our own GPU kernels beside them, may draw dropout from the device's generator.
  bool (*can_draw_on_device)(const Settings& settings) = [](const Settings&) { return true; };
};

/// Returns the table of tasks, beginning with the default; tasks/task_settings.cpp defines it.
const std::vector<TaskSettings>& task_settings();

/// Returns null for an unknown task.
const TaskSettings* find_task_settings(const std::string& name);

}  // namespace hpcbench::train

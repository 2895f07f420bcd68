#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/world.hpp"

namespace hpcbench::train {

enum class Precision { fp32, fp64 };
enum class OptimizerKind { sgd, adadelta, adamw };

/// Everything that a run can be told. The names are those of the options (`--train-share`) and, with underscores, of the keys
/// under `settings` in run.json (`train_share`).
struct Settings {
  std::string task = "mnist_rnn";
  std::string strategy = "baseline";
  std::string data = "data/mnist";
  int epochs = 1;
  std::optional<std::int64_t> max_steps;     // optimiser steps of the whole run
  std::optional<std::int64_t> batch_size;    // per process
  std::optional<std::int64_t> global_batch;  // over all processes; not together with batch_size
  std::optional<double> train_share;
  OptimizerKind optimizer = OptimizerKind::adadelta;
  std::optional<double> lr;  // absent: the optimiser's own default, see learning_rate()
  double gamma = 0.7;
  double momentum = 0;
  std::optional<double> weight_decay;  // absent: 0, for adamw 0.01
  Precision precision = Precision::fp32;
  bool shuffle = true;
  bool eval = true;
  std::uint64_t seed = 1;
  int hidden = 64;
  bool batch_norm = true;
  double dropout = 1;  // factor on the model's dropout rates
  std::int64_t log_every = 50;
  double timeout_s = 120;
  double bucket_cap_mb = 25;
  bool bind = true;
  std::optional<int> gpus;                             // of run.json, to be written into run_start
  std::optional<std::filesystem::path> events_folder;  // the folder of HPCBENCH_RUN
};

/// One setting: how it is called, explained and read.
struct SettingRow {
  const char* name;        // with underscores
  const char* value_name;  // in --help
  const char* help;
  void (*set)(Settings&, const std::string& text, const std::string& where);
};

/// The table of all settings, in the order of --help.
const std::vector<SettingRow>& setting_rows();

/// Sets one setting from text; `where` ("--lr", "`lr` in run.json") begins the error. InputError for an unknown name, too.
void apply_setting(Settings& settings, const std::string& name, const std::string& text, const std::string& where);

/// Takes over `settings` and `gpus` of a run.json. Keys that belong to the runner are passed over; an unknown key is an
/// InputError with advice. DataError if the file cannot be read or is no JSON. A run.json without `task` (of a foreign command)
/// gives only the folder for events.
void apply_run_file(Settings& settings, const std::filesystem::path& path);

/// Refuses settings that contradict each other or the number of processes (InputError).
void check_settings(const Settings& settings, const World& world);

/// Samples of one optimiser step of one process. check_settings() has passed.
std::int64_t batch_per_process(const Settings& settings, const World& world);

double learning_rate(const Settings& settings);
double weight_decay(const Settings& settings);
const char* to_string(Precision precision);
const char* to_string(OptimizerKind kind);

}  // namespace hpcbench::train

#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/world.hpp"

namespace hpcbench::train {

enum class Precision { fp32, bf16, fp64 };  // bf16: linears in bfloat16, parameters and the rest in fp32
enum class OptimizerKind { sgd, adadelta, adamw };
enum class Schedule { constant, linear };
enum class LossAverage { rank_mean, global };
enum class AccumulateBy { real, nominal };
enum class Order { strided, batches };
/// The source of dropout's random bits: a hash of seed, step and place, or the device's generator.
enum class DropoutDraw { hash, device };
enum class Checkpoints { none, last, best, both };
/// The format of the last state: whole tensors in one file, or a file for each rank's own part.
enum class CheckpointFormat { whole, sharded };
/// The variant of a strategy. `faithful`: what Lightning's strategy of that name does by default; `tuned`: the fastest.
enum class Flavour { tuned, reference };
/// fsdp: the model's units, or one unit for all of it.
enum class FsdpWrap { layers, none };
/// automatic: a GPU if the build has CUDA and one is visible, else the CPU.
enum class DeviceChoice { automatic, cpu, cuda };
/// own: the trainer's kernels, for CPUs; torch: LibTorch's operators, on any device; automatic: own on a CPU, torch on a GPU.
enum class KernelChoice { automatic, own, torch };

/// How ranks exchange tensors on CPUs: by Gloo's sockets, or by memory that the ranks of one host share.
enum class ExchangeChoice { gloo, shared_memory };
enum class GradientCompression { bf16, fp16 };

/// Optimiser steps, both ends included; the first step is 1.
struct StepRange {
  std::int64_t first = 1, last = 1;
};

/// Returns the name of an enumerator, by its position.
template <class Enum, std::size_t N>
const char* name_at(Enum value, const char* const (&names)[N]) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "";
}

const char* to_string(Precision value);
const char* to_string(OptimizerKind value);
const char* to_string(Schedule value);
const char* to_string(LossAverage value);
const char* to_string(AccumulateBy value);
const char* to_string(Order value);
const char* to_string(DropoutDraw value);
const char* to_string(Checkpoints value);
const char* to_string(CheckpointFormat value);
const char* to_string(Flavour value);
const char* to_string(FsdpWrap value);
const char* to_string(DeviceChoice value);
const char* to_string(KernelChoice value);
const char* to_string(ExchangeChoice value);
const char* to_string(GradientCompression value);
/// Returns the range as text: `5-7`, or `5`.
std::string to_string(const StepRange& steps);

/// All settings of a run. The names are those of the options (`--train-share`) and, with underscores, of the keys under
/// `settings` in run.json (`train_share`). A task may have other default values.
struct Settings {
  std::string task;
  std::string strategy = "baseline";
  std::string data;

  // Amount and order of training.
  std::optional<int> epochs;                 // nullopt: 1, or as many as max_steps needs; see last_epoch()
  std::optional<std::int64_t> max_steps;     // optimiser steps of the whole run
  std::optional<std::int64_t> batch_size;    // per process and micro-batch
  std::optional<std::int64_t> global_batch;  // of an optimiser step over all processes; not together with batch_size
  std::int64_t accumulate = 1;               // micro-batches of an optimiser step
  AccumulateBy accumulate_by = AccumulateBy::real;
  LossAverage loss_average = LossAverage::rank_mean;
  std::optional<double> train_share;
  bool shuffle = true;
  Order order = Order::strided;
  std::uint64_t seed = 1;

  // Updates of parameters.
  OptimizerKind optimizer = OptimizerKind::adadelta;
  std::optional<double> lr;  // nullopt: the optimiser's own default, see learning_rate()
  double gamma = 1;          // factor on the learning rate after each epoch
  double momentum = 0;
  std::optional<double> weight_decay;  // nullopt: 0, for adamw 0.01
  bool decay_bias = true;              // weight decay also on biases and normalisations
  Schedule schedule = Schedule::constant;
  std::optional<std::int64_t> warmup_steps;
  std::optional<double> warmup_share;
  double clip = 0;  // maximum global norm of the gradient; 0: unlimited
  Precision precision = Precision::fp32;

  std::optional<double> dropout;            // its meaning depends on the task
  std::optional<DropoutDraw> dropout_bits;  // nullopt: device on a GPU, else hash; in a run: nullopt for hash

  // The task's own settings, a struct (base/task_settings.hpp): as set, or its defaults.
  template <class T>
  T& own() {
    if (!std::any_cast<T>(&of_task)) of_task.emplace<T>();
    return *std::any_cast<T>(&of_task);
  }
  template <class T>
  const T& own() const {
    static const T kDefaults{};
    const T* const set = std::any_cast<T>(&of_task);
    return set ? *set : kDefaults;
  }
  std::any of_task;

  // Evaluation and output.
  bool eval = true;
  std::optional<int> patience;
  Checkpoints checkpoint = Checkpoints::none;
  std::int64_t checkpoint_every = 0;  // steps; 0: after each epoch
  CheckpointFormat checkpoint_format = CheckpointFormat::whole;
  std::optional<std::string> resume;
  std::optional<std::string> save;
  std::optional<std::string> output;
  std::optional<std::string> events;
  bool tensorboard = false;
  std::int64_t log_every = 50;
  std::optional<StepRange> trace;

  // Use of the machine.
  DeviceChoice device = DeviceChoice::automatic;   // in a run: the result of plan_device()
  KernelChoice kernels = KernelChoice::automatic;  // likewise
  std::optional<bool> tf32;                        // of matrix products and cuDNN; nullopt: LibTorch's default
  std::optional<bool> deterministic;               // operators of a GPU; nullopt: true
  bool cuda_graphs = false;                        // baseline on a GPU: passes of one shape are captured and replayed
  double timeout_s = 120;
  double bucket_cap_mb = 25;
  ExchangeChoice exchange = ExchangeChoice::gloo;
  std::optional<GradientCompression> gradient_compression;  // of ddp; nullopt: gradients are summed in their own type
  Flavour flavour = Flavour::tuned;
  std::optional<FsdpWrap> wrap;  // nullopt: layers, for flavour faithful none
  bool reshard_after_forward = true;
  std::optional<int> shard_size;  // of fsdp; nullopt: all ranks
  std::optional<int> devices;     // of dp; nullopt: gpus, else 1
  bool bind = true;
  std::optional<int> gpus;  // of run.json, to be written into run_start
  std::optional<std::filesystem::path>
      run_folder;  // HPCBENCH_RUN_DIR, else the folder of HPCBENCH_RUN; nullopt without HPCBENCH_RUN
};

/// A setting's value in events and checkpoints; monostate: not set.
using SettingValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// Returns the value as text; for a number the shortest form that reads back as the same number.
std::string setting_text(const SettingValue& value);

/// One setting: its name, help, reader and printer.
struct SettingRow {
  std::string name;        // with underscores
  std::string value_name;  // in --help; "BOOL" may be left out on the command line
  std::string help;
  std::string task;      // the only task that has it; empty: all
  bool decides = true;   // affects what is computed: written into run_start, and the same in a resumed run
  bool is_path = false;  // the path may differ in a resumed run
  std::function<void(Settings&, const std::string& text, const std::string& where)> set;
  std::function<SettingValue(const Settings&)> get;
};

/// Returns the table of all settings, in the order of --help.
const std::vector<SettingRow>& setting_rows();

/// Returns the settings that affect what is computed, as text, by name: those of the task that are set. Without paths, which
/// may differ between nodes and in a resumed run.
std::map<std::string, std::string> deciding_settings(const Settings& settings);

/// A requested setting; `where` ("--lr", "`lr` in run.json") begins the error.
struct Assignment {
  std::string name;
  std::string text;
  std::string where;
};

/// Returns the defaults of the requested task and preset, overridden by the assignments in their order. InputError for an
/// unknown task, a wrong name or value, or a setting that the task does not have.
Settings make_settings(const std::vector<Assignment>& assignments);

/// Returns the tasks that have defaults.
const std::vector<std::string>& task_names();
/// InputError with the list of existing tasks.
[[noreturn]] void refuse_task(const std::string& name);

/// The content of a run.json.
struct RunFile {
  std::filesystem::path folder;  // for events
  std::optional<int> gpus;
  std::vector<Assignment> settings;
};

/// Reads a run.json and ignores keys of the runner. DataError if the file cannot be read or is no JSON, InputError for invalid
/// values. A run.json without `task` (of a foreign command) gives only the folder and gpus.
RunFile read_run_file(const std::filesystem::path& path);

/// InputError for settings that contradict each other or the number of processes.
void check_settings(const Settings& settings, const World& world);

/// Returns the number of samples in one micro-batch of one process. Requires check_settings().
std::int64_t batch_per_process(const Settings& settings, const World& world);

double learning_rate(const Settings& settings);
double weight_decay(const Settings& settings);
FsdpWrap fsdp_wrap(const Settings& settings);
/// Returns the number of models that a process trains: its devices for dp, else 1.
int device_count(const Settings& settings);
/// Returns the number of the last epoch that may begin; without `epochs` but with max_steps, as many as needed.
int last_epoch(const Settings& settings);
bool keeps_last(const Settings& settings);
bool keeps_best(const Settings& settings);

/// Returns the folder of checkpoint/, tensorboard/, trace/ and predictions.json: `output`, else the folder of run.json.
std::optional<std::filesystem::path> output_folder(const Settings& settings);
/// Returns the event file of one rank: `events` (rank r > 0: followed by `.r`), else events.jsonl or events.R.jsonl in the
/// folder of run.json.
std::optional<std::filesystem::path> event_file(const Settings& settings, int rank);
/// Returns the file for one rank's messages (base/log.hpp): train.log or train.R.log in the folder of run.json; empty: none.
std::filesystem::path log_file(const Settings& settings, int rank);

}  // namespace hpcbench::train

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
/// What draws dropout: a hash of seed, step and place, or the device's generator.
enum class DropoutDraw { hash, device };
enum class Checkpoints { none, last, best, both };
/// Of the last state: whole tensors in one file, or a file of each rank's own part.
enum class CheckpointFormat { whole, sharded };
/// Of a strategy. `faithful`: what Lightning's strategy of that name does by default; `tuned`: what is fastest.
enum class Flavour { tuned, reference };
/// fsdp: units as the model has them, or one for all of it.
enum class FsdpWrap { layers, none };
/// automatic: a GPU where the build has CUDA and one is visible, else the CPU.
enum class DeviceChoice { automatic, cpu, cuda };
/// own: the trainer's kernels, for CPUs; torch: LibTorch's operators, on any device; automatic: own on a CPU, torch on a GPU.
enum class KernelChoice { automatic, own, torch };

/// What carries the tensors that ranks exchange on CPUs: Gloo's sockets, or memory that the ranks of one host share.
enum class ExchangeChoice { gloo, shared_memory };
enum class GradientCompression { bf16, fp16 };

/// Optimiser steps, both ends included, the first one is 1.
struct StepRange {
  std::int64_t first = 1, last = 1;
};

/// The name at the place of an enumerator.
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
/// `5-7`, or `5`.
std::string to_string(const StepRange& steps);

/// Everything that a run can be told. The names are those of the options (`--train-share`) and, with underscores, of the keys
/// under `settings` in run.json (`train_share`). A task may have other values where nothing is said.
struct Settings {
  std::string task;
  std::string strategy = "baseline";
  std::string data;

  // How much, in which order.
  std::optional<int> epochs;                 // absent: 1, or as many as max_steps needs; see last_epoch()
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

  // How parameters move.
  OptimizerKind optimizer = OptimizerKind::adadelta;
  std::optional<double> lr;  // absent: the optimiser's own default, see learning_rate()
  double gamma = 1;          // factor on the learning rate after each epoch
  double momentum = 0;
  std::optional<double> weight_decay;  // absent: 0, for adamw 0.01
  bool decay_bias = true;              // weight decay also on biases and normalisations
  Schedule schedule = Schedule::constant;
  std::optional<std::int64_t> warmup_steps;
  std::optional<double> warmup_share;
  double clip = 0;  // greatest global norm of the gradient; 0: none
  Precision precision = Precision::fp32;

  std::optional<double> dropout;            // as the task understands it
  std::optional<DropoutDraw> dropout_bits;  // absent: device on a GPU, else hash; in a run: absent for hash

  // What the task alone knows, a struct of its own (base/task_settings.hpp): what it was set to, or its defaults.
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

  // What is evaluated, kept and written.
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

  // How the machine is used.
  DeviceChoice device = DeviceChoice::automatic;   // in a run: what plan_device() made of it
  KernelChoice kernels = KernelChoice::automatic;  // likewise
  std::optional<bool> tf32;                        // of matrix products and cuDNN; absent: as LibTorch has them
  std::optional<bool> deterministic;               // operators of a GPU; absent: true
  bool cuda_graphs = false;                        // baseline on a GPU: passes of one shape are captured and replayed
  double timeout_s = 120;
  double bucket_cap_mb = 25;
  ExchangeChoice exchange = ExchangeChoice::gloo;
  std::optional<GradientCompression> gradient_compression;  // of ddp; absent: gradients are summed in their own type
  Flavour flavour = Flavour::tuned;
  std::optional<FsdpWrap> wrap;  // absent: layers, for flavour faithful none
  bool reshard_after_forward = true;
  std::optional<int> shard_size;  // of fsdp; absent: all ranks
  std::optional<int> devices;     // of dp; absent: gpus, else 1
  bool bind = true;
  std::optional<int> gpus;  // of run.json, to be written into run_start
  std::optional<std::filesystem::path>
      run_folder;  // HPCBENCH_RUN_DIR, else the folder of HPCBENCH_RUN; absent without HPCBENCH_RUN
};

/// A setting's value as events and checkpoints say it; monostate: not set.
using SettingValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// The value as text; a number's shortest form that reads back as the same number.
std::string setting_text(const SettingValue& value);

/// One setting: how it is called, explained, read and said.
struct SettingRow {
  std::string name;        // with underscores
  std::string value_name;  // in --help; "BOOL" may be left out on the command line
  std::string help;
  std::string task;      // the only task that knows it; empty: all
  bool decides = true;   // what is computed: written into run_start, and the same in a run that is resumed
  bool is_path = false;  // what it names may lie elsewhere in a run that is resumed
  std::function<void(Settings&, const std::string& text, const std::string& where)> set;
  std::function<SettingValue(const Settings&)> get;
};

/// The table of all settings, in the order of --help.
const std::vector<SettingRow>& setting_rows();

/// The settings that decide what is computed, as text, by name: those of the task that are set. Without paths, which may differ
/// from node to node and in a run that is resumed.
std::map<std::string, std::string> deciding_settings(const Settings& settings);

/// A setting that somebody asked for; `where` ("--lr", "`lr` in run.json") begins the error.
struct Assignment {
  std::string name;
  std::string text;
  std::string where;
};

/// The defaults of the task and the preset that are asked for, and above them the assignments in their order. InputError for
/// an unknown task, a name or value that is wrong, or a setting that the task does not know.
Settings make_settings(const std::vector<Assignment>& assignments);

/// The tasks that there are defaults for.
const std::vector<std::string>& task_names();
/// InputError with the list of those there are.
[[noreturn]] void refuse_task(const std::string& name);

/// What a run.json gives.
struct RunFile {
  std::filesystem::path folder;  // for events
  std::optional<int> gpus;
  std::vector<Assignment> settings;
};

/// Reads a run.json. Keys that belong to the runner are passed over. DataError if the file cannot be read or is no JSON,
/// InputError for values that are none. A run.json without `task` (of a foreign command) gives only the folder and gpus.
RunFile read_run_file(const std::filesystem::path& path);

/// Refuses settings that contradict each other or the number of processes (InputError).
void check_settings(const Settings& settings, const World& world);

/// Samples of one micro-batch of one process. check_settings() has passed.
std::int64_t batch_per_process(const Settings& settings, const World& world);

double learning_rate(const Settings& settings);
double weight_decay(const Settings& settings);
FsdpWrap fsdp_wrap(const Settings& settings);
/// How many models a process trains: for dp its devices, else 1.
int device_count(const Settings& settings);
/// The number of the last epoch that may be begun; without `epochs` but with max_steps as many as it takes.
int last_epoch(const Settings& settings);
bool keeps_last(const Settings& settings);
bool keeps_best(const Settings& settings);

/// Where checkpoint/, tensorboard/, trace/ and predictions.json go: `output`, else the folder of run.json.
std::optional<std::filesystem::path> output_folder(const Settings& settings);
/// The event file of one rank: `events` (rank r > 0: with `.r` behind), else events.jsonl or events.R.jsonl in the folder of
/// run.json.
std::optional<std::filesystem::path> event_file(const Settings& settings, int rank);
/// What one rank says to people (base/log.hpp): train.log or train.R.log in the folder of run.json; empty: nowhere.
std::filesystem::path log_file(const Settings& settings, int rank);

}  // namespace hpcbench::train

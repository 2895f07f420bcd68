#include "training/run_facts.hpp"

#include <ATen/Parallel.h>
#include <sys/resource.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/log.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

/// For people: explains a name that belongs to another system. ZeRO's stage 2 is the default of Lightning's `deepspeed`.
std::string strategy_title(const std::string& name) { return name == "deepspeed" ? "deepspeed (zero2)" : name; }

double seconds(const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; }

/// Returns the seconds since this process was started, by the kernel's clock; nullopt if /proc does not report it.
std::optional<double> process_age_s() {
  std::ifstream stat("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(stat)), {});
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string skipped;
  constexpr int kFieldsBeforeStart = 19;  // after the name: state is field 3, starttime field 22
  for (int field = 0; field < kFieldsBeforeStart; ++field) fields >> skipped;
  double start_ticks = 0;
  double uptime_s = 0;
  if (!(fields >> start_ticks) || !(std::ifstream("/proc/uptime") >> uptime_s)) return std::nullopt;
  return uptime_s - start_ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void add_settings(Event& event, const Settings& settings) {
  for (const SettingRow& row : setting_rows()) {
    // These are printed separately, or follow from others.
    const bool apart = row.name == "task" || row.name == "strategy" || row.name == "batch_size" || row.name == "global_batch";
    if (apart || !row.decides || (!row.task.empty() && row.task != settings.task)) continue;
    const SettingValue value = row.get(settings);
    if (const auto* count = std::get_if<std::int64_t>(&value)) {
      event.add(row.name, *count);
    } else if (const auto* number = std::get_if<double>(&value)) {
      event.add(row.name, *number);
    } else if (!std::holds_alternative<std::monostate>(value)) {
      event.add(row.name, setting_text(value));
    }
  }
}

/// Adds Slurm's facts about the job, as far as they are known.
void add_slurm(Event& event) {
  constexpr std::pair<const char*, const char*> kFacts[] = {{"slurm_job_id", "SLURM_JOB_ID"},
                                                            {"slurm_array_task_id", "SLURM_ARRAY_TASK_ID"},
                                                            {"slurm_nodelist", "SLURM_JOB_NODELIST"},
                                                            {"slurm_partition", "SLURM_JOB_PARTITION"}};
  for (const auto& [field, name] : kFacts) {
    if (const auto value = process_environment(name)) event.add(field, *value);
  }
}

/// Returns how OpenMP's threads wait for each other: the user's setting for the whole study, else OpenMP's default; never
/// dependent on the current load.
std::string thread_wait() {
  for (const char* name : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}) {
    if (const auto value = process_environment(name)) return concat(name, "=", *value);
  }
  return "default";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> recorded_environment(const char* const* variables) {
  constexpr const char* kPrefixes[] = {"NCCL_",
                                       "TORCH_NCCL_",
                                       "GLOO_",
                                       "OMP_",
                                       "GOMP_",
                                       "MKL_",
                                       "ONEDNN_",
                                       "DNNL_",
                                       "ATEN_CPU_CAPABILITY=",
                                       "CUBLAS_WORKSPACE_CONFIG=",
                                       "CUDA_VISIBLE_DEVICES=",
                                       "CUDA_LAUNCH_BLOCKING=",
                                       "CUDA_DEVICE_MAX_CONNECTIONS=",
                                       "CUDA_MODULE_LOADING=",
                                       "PYTORCH_",
                                       "NVIDIA_TF32_OVERRIDE="};
  std::vector<std::pair<std::string, std::string>> found;
  for (; variables && *variables; ++variables) {
    const std::string_view text = *variables;
    const std::size_t equals = text.find('=');
    const bool recorded =
        std::any_of(std::begin(kPrefixes), std::end(kPrefixes), [&](const char* prefix) { return text.starts_with(prefix); });
    if (recorded && equals != std::string_view::npos) found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::sort(found.begin(), found.end());
  return found;
}

void write_run_start(Events& events, const Settings& settings, const World& world, const Task& task, const RunFacts& facts) {
  const BatchShape shape = batch_shape(settings, world);
  const std::int64_t global_batch = shape.batch * shape.world_size * shape.accumulate;
  const std::int64_t steps = total_steps(settings, world, task.train_samples());
  std::vector<std::pair<std::string, std::string>> versions = {{"hpcbench", HPCBENCH_VERSION}, {"torch", TORCH_VERSION}};
  versions.insert(versions.end(), facts.device_versions.begin(), facts.device_versions.end());
  Event event("run_start");
  event.add("task", settings.task)
      .add("strategy", settings.strategy)
      .add("world_size", world.size)
      .add("gpus", settings.gpus.value_or(world.size * device_count(settings)))
      .add("batch_size", shape.batch)
      .add("global_batch", global_batch)
      .add("total_steps", steps)
      .add("train_samples", task.train_samples())
      .add("validation_samples", task.validation_samples());
  add_settings(event, settings);
  event.add("threads", at::get_num_threads())
      .add("thread_wait", thread_wait())
      .add("bound", facts.bound ? 1 : 0)
      .add("versions", versions)
      .add("device", std::string(to_string(settings.device)))
      .add("kernels", std::string(to_string(settings.kernels)));
  if (settings.device == DeviceChoice::cuda) event.add("cuda_graphs", std::string(settings.cuda_graphs ? "true" : "false"));
  event.add("host", world.host).add("local_rank", world.local_rank).add("hosts", facts.hosts);
  for (const auto& [name, value] : facts.device) event.add(name, value);
  if (!facts.environment.empty()) event.add("environment", facts.environment);
  if (const auto model = task.facts(); !model.empty()) event.add("model_facts", model);
  add_slurm(event);
  events.write(event);
  if (world.rank != 0) return;
  log_info(concat(settings.task, ", ", strategy_title(settings.strategy), " on ", world.size,
                  world.size == 1 ? " process" : " processes", " of ", at::get_num_threads(),
                  at::get_num_threads() == 1 ? " thread" : " threads",
                  settings.device == DeviceChoice::cuda ? " and a GPU: " : ": ", task.train_samples(), " training and ",
                  task.validation_samples(), " validation samples, global batch ", global_batch, ", ",
                  to_string(settings.precision), ", seed ", settings.seed));
  std::vector<Note> notes = task.notes();
  if (!facts.advice.empty()) notes.push_back({"hidden_peers", facts.advice});
  for (const Note& note : notes) {
    log_info("note: " + note.text);
    events.write(Event("warning").add("code", note.code).add("text", note.text));
  }
}

namespace {

/// Adds the amount and time of the strategy's communication, and its maximum memory of each kind.
void add_statistics(Event& event, const StrategyStatistics& statistics, const RunFacts& facts) {
  if (!statistics.measured) return;
  const Traffic& traffic = statistics.traffic;
  if (traffic.exposed_s > 0) {
    event.add("communication_s", traffic.exposed_s + traffic.hidden_s)
        .add("communication_exposed_s", traffic.exposed_s)
        .add("communication_hidden_s", traffic.hidden_s);
  }
  std::int64_t sent = traffic.bytes_sent;
  if (facts.socket_bytes_before && facts.socket_bytes_after) {
    const std::int64_t by_sockets = *facts.socket_bytes_after - *facts.socket_bytes_before;
    event.add("socket_bytes_sent", by_sockets);
    if (sent == 0) sent = by_sockets;
  }
  event.add("bytes_sent", sent)
      .add("peak_parameter_bytes", statistics.memory.peak(Held::parameters))
      .add("peak_gradient_bytes", statistics.memory.peak(Held::gradients))
      .add("peak_optimizer_bytes", statistics.memory.peak(Held::optimizer))
      .add("peak_communication_bytes", statistics.memory.peak(Held::communication))
      .add("units", statistics.units)
      .add("compute_s", statistics.step_s - traffic.exposed_s);
  // Counted only if LibTorch's CPU allocator holds the tensors.
  if (!facts.max_device_bytes) event.add("peak_activation_bytes", statistics.peak_activation_bytes);
  if (statistics.overlapped_steps > 0) event.add("overlapped_steps", statistics.overlapped_steps);
  if (statistics.graph_steps) event.add("graph_steps", *statistics.graph_steps);
  if (statistics.compute_mean_s > 0) {
    event.add("compute_max_s", statistics.compute_max_s)
        .add("compute_mean_s", statistics.compute_mean_s)
        .add("imbalance", statistics.compute_max_s / statistics.compute_mean_s);
  }
  if (statistics.steps > 0) event.add("bytes_sent_per_step", static_cast<double>(sent) / static_cast<double>(statistics.steps));
}

}  // namespace

void write_run_end(Events& events, const TrainingResult& result, const RunFacts& facts, const World& world,
                   const StrategyStatistics& statistics) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Event event("run_end");
  event.add("train_s", result.train_s)
      .add("train_eval_s", result.train_s + result.eval_s)
      .add("setup_s", facts.setup_s)
      .add("data_s", facts.data_s)
      .add("eval_s", result.eval_s)
      .add("checkpoint_s", result.checkpoint_s)
      .add("max_rss_bytes", std::int64_t{usage.ru_maxrss} * 1024)
      .add("user_s", seconds(usage.ru_utime))
      .add("sys_s", seconds(usage.ru_stime));
  if (facts.max_device_bytes) event.add("max_device_bytes", *facts.max_device_bytes);
  if (facts.gpu_energy_j) event.add("gpu_energy_j", *facts.gpu_energy_j);
  if (const auto age_s = process_age_s()) event.add("real_s", *age_s);
  add_statistics(event, statistics, facts);
  events.write(event);
  if (world.rank == 0) log_info(concat("trained in ", decimals(result.train_s, 3), " s (", result.steps, " steps)"));
}

}  // namespace hpcbench::train

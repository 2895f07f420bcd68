#include "launch/rank.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/process.hpp"
#include "launch/first_host.hpp"
#include "launch/free_port.hpp"
#include "launch/launch.hpp"
#include "launch/merged_output.hpp"
#include "launch/monitor.hpp"
#include "launch/oom_count.hpp"
#include "launch/own_binding.hpp"
#include "launch/rank_environment.hpp"
#include "launch/supervisor.hpp"
#include "runfiles/job_files.hpp"
#include "runfiles/rank_report.hpp"
#include "runfiles/run_info.hpp"
#include "runfiles/try_mark.hpp"

namespace hpcbench {

namespace {

constexpr const char* kTellsAll = "proctrack/linuxproc";  // others signal the step's direct children, or their groups

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The first of these variables that is a number from 0 up.
std::optional<int> first_number(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const std::string text = variable(name);
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (!text.empty() && error == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  }
  return std::nullopt;
}

/// Which rank this is, by the words of whoever started it. mpirun comes first: in a job of Slurm its processes see SLURM_PROCID
/// of the batch step, too.
struct RankPlace {
  int rank = 0, ranks = 1;
  int local_rank = 0, local_ranks = 1;
  int node_rank = 0;
};

RankPlace place_of_this_rank() {
  RankPlace place;
  place.rank = first_number({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}).value_or(0);
  place.ranks = first_number({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}).value_or(1);
  place.local_ranks =
      first_number({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"})
          .value_or(place.ranks);
  place.ranks = std::max(place.ranks, place.rank + 1);
  place.local_ranks = std::max(place.local_ranks, 1);
  const bool by_mpirun = first_number({"OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID"}).has_value();
  place.local_rank = first_number({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", by_mpirun ? "" : "SLURM_LOCALID"})
                         .value_or(place.rank % place.local_ranks);
  place.node_rank = (by_mpirun ? std::nullopt : first_number({"SLURM_NODEID"})).value_or(place.rank / place.local_ranks);
  return place;
}

/// Where ranks meet, if nobody has said: the first host of the step, and a port that all ranks of a job come to by themselves.
void add_meeting_place(EnvironmentChanges& changes) {
  constexpr int kLowestPort = 15000;  // up to where the kernel begins to hand ports out
  constexpr int kPorts = 17000;
  if (variable("MASTER_ADDR").empty()) {
    changes["MASTER_ADDR"] = first_host(variable("SLURM_STEP_NODELIST")).value_or("127.0.0.1");
  } else {
    changes.erase("MASTER_ADDR");
  }
  const int job = first_number({"SLURM_JOB_ID"}).value_or(0);
  changes["MASTER_PORT"] = std::to_string(kLowestPort + job % kPorts);
  if (!variable("MASTER_PORT").empty()) changes.erase("MASTER_PORT");
}

EnvironmentChanges variables_of(const RankPlace& place, int port) {
  EnvironmentChanges changes = rank_variables({place.ranks, place.local_ranks, port}, place.rank);
  changes["LOCAL_RANK"] = std::to_string(place.local_rank);
  changes["NODE_RANK"] = changes["GROUP_RANK"] = std::to_string(place.node_rank);
  for (const char* const ours : {"HPCBENCH_TOKEN", "HPCBENCH_TRY", "HPCBENCH_GRACE", kTrackerVariable, kBindingsVariable})
    changes[ours] = std::nullopt;
  return changes;
}

/// The folder of run.json; empty: there is none, and output is passed through.
std::string job_folder() {
  const std::string run = variable("HPCBENCH_RUN");
  return run.empty() ? "" : std::filesystem::path(run).parent_path().string();
}

/// Without a run.json, the defaults.
RunInfo read_run() {
  const std::string run = variable("HPCBENCH_RUN");
  return parse_run_json(run.empty() ? "" : read_file_if_there(run).value_or(""));
}

/// Programs under podman are no children of ours.
bool usage_is_known(const RunInfo& run) { return run.container_runtime != "podman"; }

/// The names of the variables that the experiment sets.
std::vector<std::string> own_variables(const RunInfo& run) {
  std::vector<std::string> names;
  for (const auto& [name, value] : run.environment) names.push_back(name);
  return names;
}

/// Whether this process starts all ranks for a person, or another program, and no job waits for their reports.
bool is_foreground(const RankRequest& request) { return request.here && variable("HPCBENCH_TRY").empty(); }

ProcessSpec rank_spec(const RankRequest& request, int rank, EnvironmentChanges changes, const RunInfo& run) {
  changes.insert(request.environment.begin(), request.environment.end());
  ProcessSpec spec;
  spec.rank = rank;
  spec.argv = request.command;
  spec.environment = changed_environment(own_environment(), changes);
  if (run.container_runtime == "apptainer")
    spec.environment = changed_environment(spec.environment, apptainer_variables(spec.environment, own_variables(run)));
  spec.isolated = !is_foreground(request);
  if (const std::string folder = job_folder(); !folder.empty()) {
    spec.stdout_path = folder + "/" + rank_file("stdout", rank, ".log");
    spec.stderr_path = folder + "/" + rank_file("stderr", rank, ".log");
    spec.append = true;  // to what modules and setup have said
  }
  return spec;
}

/// All ranks here, one after the other as nodes count them. `port`: where they meet, if nobody has said.
std::vector<ProcessSpec> specs_here(const RankRequest& request, const RunInfo& run, std::optional<FreePort>& port) {
  const int ranks = *request.here;
  const int per_node = std::clamp(request.per_node.value_or(ranks), 1, ranks);
  if (variable("MASTER_PORT").empty()) port = find_free_port();
  std::vector<ProcessSpec> specs;
  for (int rank = 0; rank < ranks; ++rank) {
    EnvironmentChanges changes =
        variables_of({rank, ranks, rank % per_node, per_node, rank / per_node}, port ? port->number() : 0);
    for (const char* const key : {"MASTER_ADDR", "MASTER_PORT"}) {
      if (!variable(key).empty()) changes.erase(key);
    }
    specs.push_back(rank_spec(request, rank, changes, run));
  }
  return specs;
}

std::vector<ProcessSpec> specs_of(const RankRequest& request, const RankPlace& place, const RunInfo& run,
                                  std::optional<FreePort>& port) {
  if (request.here) return specs_here(request, run, port);
  EnvironmentChanges changes = variables_of(place, 0);
  add_meeting_place(changes);
  return {rank_spec(request, place.rank, changes, run)};
}

MonitorRequest monitor_request(const RankRequest& request, const RankPlace& place, const RunInfo& run) {
  MonitorRequest monitor{.interval_s = request.monitor_s, .folder = job_folder(), .rank = place.rank};
  monitor.environment = own_environment();
  monitor.ranks_are_children = usage_is_known(run);
  if (run.gpus > 0 && place.local_rank == 0) monitor.node_rank = place.node_rank;
  // A rank that srun started may have a part of the node's GPUs. Beside other runs, only the run's own are sampled.
  monitor.visible_gpus_only = request.here || !variable(kBindingsVariable).empty();
  return monitor;
}

/// The output of ranks above 0 goes to one file; absent where there are none here.
std::unique_ptr<MergedOutput> merge_outputs(std::vector<ProcessSpec>& specs) {
  if (job_folder().empty() || specs.back().rank == 0) return nullptr;
  auto merged = std::make_unique<MergedOutput>(job_folder() + "/" + kMergedOutput);
  for (ProcessSpec& spec : specs) {
    if (spec.rank > 0) merge_output(spec, *merged);
  }
  return merged;
}

/// The name of the step that this rank belongs to: `12.0`.
std::string step_name() {
  const std::string job = variable("SLURM_JOB_ID");
  const std::string step = variable("SLURM_STEP_ID");
  return job.empty() || step.empty() ? "processes" : job + "." + step;
}

/// In a block whose runs go on side by side: what the ranks here may use, and until when.
class NotedBinding {
 public:
  NotedBinding(const std::vector<ProcessSpec>& specs, bool uses_gpus) : path_(variable(kBindingsVariable)) {
    if (path_.empty() || job_folder().empty()) return;
    RankBinding binding = own_binding(uses_gpus);
    binding.run = run_ = attempt_path(job_folder());
    for (const ProcessSpec& spec : specs) {
      binding.rank = spec.rank;
      ranks_.push_back(spec.rank);
      note_binding(path_, binding);
    }
  }
  void end() const {
    for (const int rank : ranks_) note_binding_end(path_, run_, rank, monotonic_s());
  }

 private:
  std::string path_, run_;
  std::vector<int> ranks_;
};

void report(const Supervision& supervision, const std::optional<StartError>& error, bool oom_kill, const RunInfo& run) {
  const std::string folder = variable("HPCBENCH_TRY");
  if (folder.empty()) return;
  for (const ProcessEnd& end : supervision.processes) {
    RankReport report{end, oom_kill, std::nullopt, std::nullopt};
    report.end.usage_known = usage_is_known(run);
    if (error && error->rank == end.rank) report.error = error->text;
    // Now: what srun will say in this file is not the program's.
    if (end.exit_code != run.success_exit_code && !job_folder().empty()) report.tail = output_tail(job_folder(), end.rank);
    write_rank_report(folder, report, supervision.first_failed_rank == end.rank);
  }
}

/// In a job of Slurm whoever asks us to end kills us, too, when the grace is over; on this machine `launch` says how long it
/// is.
double ending_grace(bool in_step) {
  if (!in_step) return kEndingGraceS;
  const std::string said = variable("HPCBENCH_GRACE");
  return said.empty() ? std::numeric_limits<double>::infinity() : std::strtod(said.c_str(), nullptr);
}

/// The exit code for what started this rank, which ends the others once one of them fails: unlike the job's, it is 0 for one
/// that is to be continued, and as the rank's own end has it after a time limit or a request to end.
int status_for_starter(const Supervision& supervision, const std::optional<StartError>& error, const SupervisionRules& rules) {
  if (error) return kExitCannotStart;
  const int good = rules.good_exit_code;
  for (const ProcessEnd& end : supervision.processes) {
    if (supervision.first_failed_rank && end.rank != *supervision.first_failed_rank) continue;
    if (end.signal) return kSignalExitBase + *end.signal;
    if (end.exit_code == rules.saved_exit_code) continue;
    if (*end.exit_code != good) return *end.exit_code == 0 ? 1 : *end.exit_code;
  }
  return 0;
}

/// Says which of several ranks failed first.
int status_in_foreground(const Supervision& supervision, const std::optional<StartError>& error,
                         const SupervisionRules& rules) {
  if (supervision.cancelled_by) return kSignalExitBase + *supervision.cancelled_by;
  const ProcessEnd* const failed = supervision.first_failed_rank ? deciding_process(supervision) : nullptr;
  if (failed != nullptr && !error && supervision.processes.size() > 1) {
    const std::string how =
        failed->signal ? fmt::format("signal {}", *failed->signal) : fmt::format("exit code {}", *failed->exit_code);
    const std::size_t ranks = supervision.processes.size();
    std::fputs(fmt::format("error: rank {} of {} failed first: {}\n", failed->rank, ranks, how).c_str(), stderr);
  }
  return status_for_starter(supervision, error, rules);
}

}  // namespace

int run_rank(const RankRequest& request) {
  if (request.command.empty() || request.command[0].empty()) throw InputError("error: rank: no command to start");
  const bool in_step = !is_foreground(request);
  // Before the try is begun: from then on a signal must not end us without a report.
  Supervisor supervisor(in_step ? Supervisor::Place::step : Supervisor::Place::foreground);
  if (in_step) {
    for (const int ignored : {SIGHUP, SIGXFSZ, SIGPIPE}) ::signal(ignored, SIG_IGN);
  }
  const std::string folder = variable("HPCBENCH_TRY");
  if (!folder.empty() && !begin_try(folder, step_name())) {
    std::fputs("hpcbench: rank: this try was closed before it began; leaving\n", stderr);
    return kSignalExitBase + SIGTERM;
  }
  const RankPlace place = request.here ? RankPlace() : place_of_this_rank();
  const RunInfo run = read_run();
  const SupervisionRules rules{.time_limit_s = std::nullopt,
                               .grace_s = ending_grace(in_step),
                               .good_exit_code = run.success_exit_code,
                               .saved_exit_code = run.saved_exit_code(),
                               .end = {},
                               .tells_all = variable(kTrackerVariable) == kTellsAll ? "slurmstepd" : "",
                               .was_asked = {}};
  const Monitor monitor(monitor_request(request, place, run));
  const std::optional<long long> oom_kills = read_oom_kill_count();
  std::optional<StartError> error;
  std::optional<FreePort> port;
  std::vector<ProcessSpec> specs = specs_of(request, place, run, port);
  const std::unique_ptr<MergedOutput> merged = run.merged_output ? merge_outputs(specs) : nullptr;
  if (merged) merged->start();
  const NotedBinding binding(specs, run.gpus > 0);
  const Supervision supervision = supervisor.run(specs, rules, error);
  binding.end();
  if (merged) merged->finish();
  const std::optional<long long> oom_kills_after = read_oom_kill_count();
  if (error) std::fputs(fmt::format("hpcbench: rank {}: {}\n", error->rank, error->text).c_str(), stderr);
  report(supervision, error, oom_kills && oom_kills_after && *oom_kills_after > *oom_kills, run);
  if (!in_step) return status_in_foreground(supervision, error, rules);
  return status_for_starter(supervision, error, rules);
}

int launch_ranks(int ranks, const std::vector<std::string>& command) {
  RankRequest request{.command = command, .here = ranks, .per_node = {}, .monitor_s = 0, .environment = {}};
  // It names the processes of a run, and tells programs of it.
  if (const std::string run = variable("HPCBENCH_RUN"); !run.empty()) request.environment["HPCBENCH_RUN"] = run;
  constexpr const char* kThreads = "OMP_NUM_THREADS";
  if (std::getenv(kThreads) == nullptr)
    request.environment[kThreads] = std::to_string(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN) / ranks));
  for (const char* const of_run : {"HPCBENCH_RUN", "HPCBENCH_TRY", "MASTER_ADDR", "MASTER_PORT"}) ::unsetenv(of_run);
  return run_rank(request);
}

}  // namespace hpcbench

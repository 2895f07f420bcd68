#include "study/preflight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/process.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "study/needs.hpp"

namespace hpcbench {

namespace {

bool will_run(const Study& study, std::size_t index, const PlanDiff& diff, const std::vector<AttemptKey>& retried) {
  if (diff.rows[index].fresh > 0) return true;
  const std::string& id = study.selected().configurations[index].id;
  return std::any_of(retried.begin(), retried.end(), [&](const AttemptKey& key) { return key.config_id == id; });
}

/// Where the file says `nodes`; the file where it does so in a zip block or a point of `include`.
std::string place_of_nodes(const Experiment& experiment) { return experiment.place_of_key("matrix.nodes"); }

std::string missing_needs(const Study& study) {
  Findings findings;
  examine_needs(study, findings);
  std::string text;
  for (const Finding& finding : findings) {
    if (finding.kind != Finding::Kind::problem) continue;
    text += "\n  " + finding.text + (finding.advice.empty() ? "" : ": " + finding.advice);
  }
  return text;
}

constexpr const char* kNodesAdvice =
    "choose a cluster with --site, or one node with --only nodes=1; --simulate-nodes runs all ranks on this machine, and every "
    "table says so";

std::optional<double> hours_of_all_segments(const Study& study, CostUnit unit) {
  std::optional<double> hours = hours_at_most(study.selected(), unit);
  if (hours && study.experiment.continuation) *hours *= study.experiment.continuation->max;
  return hours;
}

/// Whether this call costs no more than the limit in this unit, or somebody agrees.
bool is_within(const Study& study, const RunOptions& options, CostUnit unit) {
  const std::optional<double>& limit = study.experiment.limits.cost.of(unit);
  if (!limit || (unit == CostUnit::gpu_hours && !study.experiment.has_gpus)) return true;
  std::optional<double> hours = hours_of_all_segments(study, unit);
  if (unit == study.plan.cost_unit) {
    const double of_file = study.experiment.budget ? study.experiment.budget->hours : HUGE_VAL;
    const double most = std::min(of_file, options.at_most_hours.value_or(HUGE_VAL));
    if (most < HUGE_VAL) hours = std::min(hours.value_or(most), most);
  }
  if (hours && *hours <= *limit) return true;
  const std::string amount = hours ? fmt::format("{} {}", plain_number(*hours), to_string(unit)) : "runs without a time limit";
  return confirm(fmt::format("This asks for {}; the limit is {} {}. Go on?", amount, plain_number(*limit), to_string(unit)),
                 options.yes);
}

bool lacks_gpu_tool(const Study& study) {
  const std::vector<Configuration>& all = study.selected().configurations;
  const auto has_gpus = [](const Configuration& configuration) { return configuration.gpus_per_node > 0; };
  return study.experiment.executor == "local" && study.experiment.monitor_s.value_or(0) > 0 && study.experiment.has_gpus &&
         std::any_of(all.begin(), all.end(), has_gpus) && !find_program("nvidia-smi");
}

}  // namespace

std::optional<std::size_t> find_simulated(const Study& study) {
  if (study.experiment.executor != "local") return std::nullopt;
  const std::vector<Configuration>& all = study.selected().configurations;
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Configuration& configuration) { return configuration.nodes > 1; });
  if (found == all.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
}

std::optional<std::string> own_thread_count() {
  const char* const value = std::getenv(kThreadsVariable);
  if (value == nullptr || *value == '\0' || std::string_view(value).find_first_not_of("0123456789,") != std::string_view::npos)
    return std::nullopt;
  return value;
}

std::optional<std::string> note_of_threads(const Study& study) {
  const std::vector<Configuration>& all = study.selected().configurations;
  const auto names_it = [](const std::string& text) { return text.find(kThreadsVariable) != std::string::npos; };
  const auto is_open = [&](const Configuration& configuration) {
    const Work& work = *configuration.work;
    return !work.sets_threads() && std::none_of(work.command.begin(), work.command.end(), names_it) &&
           std::none_of(work.setup.begin(), work.setup.end(), names_it);
  };
  if (!study.experiment.runs_anything() || own_thread_count() || std::none_of(all.begin(), all.end(), is_open))
    return std::nullopt;
  return "note: OMP_NUM_THREADS is 1 in the runs, as nothing sets it: `resources: {cpus_per_task: N}`, `environment` or the "
         "calling shell can";
}

void require_ready(const Study& study, const PlanDiff& diff, const std::vector<AttemptKey>& retried,
                   const RunOptions& options) {
  const std::vector<Configuration>& all = study.selected().configurations;
  int nodes = 1;
  bool anything = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!will_run(study, i, diff, retried)) continue;
    anything = true;
    nodes = std::max(nodes, all[i].nodes);
  }
  if (!anything) return;
  const bool refused = study.experiment.executor == "local" && nodes > 1 && !options.simulate_nodes;
  const std::string missing = options.keep_going ? "" : missing_needs(study);
  if (!missing.empty()) {
    throw UnavailableError(fmt::format(
        "error: nothing was started: what the runs need is not there (`--keep-going` starts them in any case){}{}", missing,
        refused
            ? fmt::format("\n  nodes: {} needs more than the executor local, which is this machine: {}", nodes, kNodesAdvice)
            : ""));
  }
  if (refused) {
    throw InputError(fmt::format("{}: error: `nodes: {}` with the executor local, which is this machine alone\n  = {}",
                                 place_of_nodes(study.experiment), nodes, kNodesAdvice));
  }
}

void require_options(const Study& study, const RunOptions& options) {
  if (const auto& retired = study.experiment.retired) {
    throw InputError(
        fmt::format("{}: error: `{}` was retired\n  = {}", describe(retired->place), retired->path, retired->advice));
  }
  if (study.experiment.executor != "local") return;
  if (options.detach) {
    throw InputError(
        fmt::format("{}: error: --detach needs the executor slurm: local jobs are started by `hpcbench run` itself; use `nohup "
                    "hpcbench run ... &`",
                    study.experiment.path));
  }
  if (study.experiment.packs_runs()) {
    throw InputError(fmt::format(
        "{}: error: `side_by_side` is for jobs of Slurm, which gives runs cores of their own; the executor is local\n  = runs "
        "follow one another here with --set allocation.side_by_side=1",
        study.experiment.place_of_key("allocation.side_by_side")));
  }
  if (options.slots > 1 && study.experiment.in_blocks()) {
    throw InputError(
        fmt::format("error: --slots {}: with `allocation: {{per: block}}` one run follows another; leave --slots out, or say "
                    "--set allocation.per=run",
                    options.slots));
  }
}

void require_studies(const std::vector<Study>& studies, const RunOptions& options) {
  std::string problems;
  std::set<std::string> folders;
  for (const Study& study : studies) {
    try {
      require_program(study);
      check_study(study);
      require_options(study, options);
      if (!folders.insert(study.results).second) {
        throw InputError(
            fmt::format("{}: error: another file of this call has the results folder {}, too: name each file once, and "
                        "give each study an `experiment` of its own",
                        study.experiment.path, study.results));
      }
    } catch (const InputError& error) {
      problems += (problems.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!problems.empty()) throw InputError(problems);
}

bool announce(const Study& study, const PlanDiff& diff, const OutcomeCounts& counts, const RunOptions& options) {
  const CostUnit unit = study.plan.cost_unit;
  const std::optional<double> hours = hours_of_all_segments(study, unit);
  const char* const most = study.experiment.repeat_rule ? "at most " : "";
  const bool all_decided = study.experiment.repeat_rule && diff.total.fresh == 0;
  const long long to_run = all_decided ? 0 : counts.asked - counts.ended;
  say(fmt::format("{}: {} x {}{}: {} done, {}{} to run{}{}", study.experiment.name,
                  counted(static_cast<long long>(study.selected().configurations.size()), "configuration", "configurations"),
                  most, counted(study.selected().repeats, "repeat", "repeats"), counts.ended, most, to_run,
                  diff.total.orphaned > 0 ? fmt::format("; {} no longer asked for", diff.total.orphaned) : "",
                  hours ? fmt::format("; at most {} {} in all", plain_number(*hours), to_string(unit)) : ""));
  for (const std::string& note : study.selected().notes) say("note: " + note);
  if (const auto note = note_of_threads(study); note && diff.total.fresh > 0) say(*note);
  if (lacks_gpu_tool(study)) {
    say(fmt::format("note: {}: nvidia-smi is not on PATH, so `monitor` samples processors and memory, not gpus",
                    study.experiment.place_of_key("monitor")));
  }
  return diff.total.fresh == 0 || std::all_of(std::begin(kCostUnits), std::end(kCostUnits),
                                              [&](CostUnit each) { return is_within(study, options, each); });
}

}  // namespace hpcbench

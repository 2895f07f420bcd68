#include "study/preflight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.hpp"
#include "study/needs.hpp"

namespace hpcbench {

namespace {

bool will_run(const Study& study, std::size_t index, const PlanDiff& diff, const std::vector<AttemptKey>& retried) {
  if (diff.rows[index].fresh > 0) return true;
  const std::string& id = study.selected().configurations[index].id;
  return std::any_of(retried.begin(), retried.end(), [&](const AttemptKey& key) { return key.config_id == id; });
}

/// Where the file says `nodes`; the file where it does so in a zip block or a point of `include`.
std::string place_of_nodes(const Experiment& experiment) {
  const auto place = experiment.origins.find("matrix.nodes");
  return place == experiment.origins.end() ? experiment.path : place->second;
}

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

}  // namespace

std::optional<std::size_t> find_simulated(const Study& study) {
  if (study.experiment.executor != "local") return std::nullopt;
  const std::vector<Configuration>& all = study.selected().configurations;
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Configuration& configuration) { return configuration.nodes > 1; });
  if (found == all.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
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
  if (study.experiment.executor != "local") return;
  if (options.detach) {
    throw InputError(
        fmt::format("{}: error: --detach needs the executor slurm: local jobs are started by `hpcbench run` itself; use `nohup "
                    "hpcbench run ... &`",
                    study.experiment.path));
  }
  if (study.experiment.packs_runs()) {
    const auto place = study.experiment.origins.find("allocation.side_by_side");
    throw InputError(fmt::format(
        "{}: error: `side_by_side` is for jobs of Slurm, which gives runs cores of their own; the executor is local\n  = runs "
        "follow one another here with {}--set allocation.side_by_side=1",
        place == study.experiment.origins.end() ? study.experiment.path : place->second,
        study.experiment.calibrates() ? "--set allocation.calibrate=false " : ""));
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

}  // namespace hpcbench

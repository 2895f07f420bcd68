#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/executor_kind.hpp"
#include "base/glob.hpp"
#include "render/attempt.hpp"
#include "render/input_decks.hpp"

namespace hpcbench {

/// One attempt with its placeholders filled in: what run.json and job.sh are two views of.
struct ResolvedRun {
  const Experiment& experiment;
  const Plan& plan;
  const Configuration& configuration;
  const RenderContext& context;
  AttemptKey key;
  std::string batch;
  std::string folder;              // absolute, the attempt's
  std::string workdir;             // absolute
  Bindings axes;                   // of the configuration
  Bindings derived;                // its computed values
  Bindings bindings;               // all that a placeholder may name
  std::vector<std::string> argv;   // with `shell`: one text for `bash -c`
  std::vector<std::string> setup;  // values in it are words of the shell
  std::optional<Container> container;
  std::vector<FilledDeck> decks;
  long long seed = 0;
  Segment segment;
  std::string resume_from;  // absolute, the program's folder that it continues from; empty: it begins

  const Work& work() const { return *configuration.work; }
  bool workdir_is_attempt() const { return experiment.workdir == "attempt"; }
  /// Whether mpirun starts the ranks. On this machine only those that an axis counts, which are no gpus': processes of MPI that
  /// another program starts are each alone.
  bool by_mpirun() const {
    return experiment.launcher == "mpirun" && work().launch == Launch::rank &&
           (executor_kind(context.executor).steps || configuration.ranks_per_node);
  }
  bool is_shell() const { return work().shell && !work().trainer; }
};

ResolvedRun resolve_run(const Experiment& experiment, const Plan& plan, std::size_t configuration, RunName run, int attempt,
                        const std::string& batch, const RenderContext& context, const Segment& segment = {});

/// Variables beside `environment`: with `continue`, which segment of its run the program is; and the caller's OMP_NUM_THREADS
/// where neither `environment` nor `cpus_per_task` is given.
std::vector<std::pair<std::string, std::string>> added_variables(const ResolvedRun& run);

/// Where its metrics find files outside of its folder: the job keeps copies of them.
std::vector<OutsideGlob> outside_globs(const ResolvedRun& run);

/// How job.sh starts a program in the run's container.
struct ContainerWords {
  std::vector<std::string> prefix;        // what stands before the program; words of the shell
  std::vector<std::string> srun_options;  // words of the shell
  std::optional<std::string> gpu_option;  // what the prefix's `${gpus[@]}` holds on nodes with GPUs
};
/// InputError where a folder of the run cannot be named in the options of the runtime.
ContainerWords container_words(const ResolvedRun& run);

/// docs/run-directory.md, run.json.
std::string run_json_text(const ResolvedRun& run);

/// job.sh from the context's template.
std::string job_script_text(const ResolvedRun& run);

}  // namespace hpcbench

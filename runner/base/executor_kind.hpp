#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// Capabilities of an executor that plans, scripts and reports depend on. Each executor has one row; submit/executor.hpp is its
/// interface.
struct ExecutorKind {
  std::string_view name;          // as in `executor:`, in run.json and in reports
  bool runs_here = false;         // jobs are processes of the machine on which `hpcbench run` is called
  bool steps = false;             // jobs start ranks as steps, by srun, on one node or several
  bool blocks = false;            // a job may execute several runs, also side by side
  bool preparation_jobs = false;  // preparations may have jobs of their own
  bool accounting = false;        // accounting has figures of jobs that have ended
  bool shows_queue = false;       // `status` shows what jobs wait for
  bool described = false;         // a site file describes the batch system
};

const std::vector<ExecutorKind>& executor_kinds();
/// Returns the row of this name. Names of no executor, which imported results may have, get the row of `local`.
const ExecutorKind& executor_kind(std::string_view name);
/// Returns the names of all executors: `local`, `slurm` ...
std::vector<std::string> executor_names();

}  // namespace hpcbench

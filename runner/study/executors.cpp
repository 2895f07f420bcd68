#include "study/executors.hpp"

#include <cstdlib>

#include "base/clock.hpp"
#include "base/host.hpp"
#include "submit/local_executor.hpp"
#include "submit/slurm/slurm_executor.hpp"

namespace hpcbench {

double slurm_tool_timeout_s() {
  const char* const said = std::getenv("HPCBENCH_SLURM_TIMEOUT");
  const double seconds = said == nullptr ? 0 : std::atof(said);
  return seconds > 0 ? seconds : SlurmSettings().tool_timeout_s;
}

std::unique_ptr<Executor> choose_executor(const Study& study, int slots, std::function<void(const std::string&)> note) {
  if (study.experiment.executor != "slurm") {
    return std::make_unique<LocalExecutor>(slots, program_folder() + "/hpcbench");
  }
  static ProcessToolRunner tools;
  SlurmSettings settings;
  settings.experiment = study.experiment.name;
  settings.results = study.results;
  settings.max_queued = study.experiment.site.max_queued;
  settings.max_running = study.experiment.site.max_running;
  settings.tool_timeout_s = slurm_tool_timeout_s();
  return std::make_unique<SlurmExecutor>(settings, tools, system_clock(), std::move(note));
}

}  // namespace hpcbench

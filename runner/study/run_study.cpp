#include "study/run_study.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/host.hpp"
#include "study/preflight.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

std::string stopped_text(const Study& study, const std::string& why, const std::string& left) {
  return fmt::format("stopped: {}. {}. Correct the cause, then `{}` runs them all; --keep-going runs them even if they fail",
                     why, left, study.command("retry"));
}

RenderContext make_render_context(const Study& study) {
  RenderContext context;
  context.results = study.results;
  context.call_folder = fs::current_path().string();
  context.trainer = trainer_program();
  context.hpcbench = study.experiment.site.hpcbench.value_or(program_folder() + "/hpcbench");
  context.executor = study.experiment.executor;
  context.job_template_name = study.experiment.site.template_path.value_or("job.sh.mustache");
  context.job_template = load_template(context.job_template_name);
  if (executor_kind(context.executor).steps) context.array_template = load_template("slurm_array.sh.mustache");
  context.provenance = find_provenance(context.call_folder);
  context.omp_num_threads = own_thread_count();
  if (study.experiment.is_trainer() && ::access(context.trainer.c_str(), X_OK) != 0) {
    throw UnavailableError(
        fmt::format("error: {} is not there: `pip install 'hpcbench-runner[trainer]'` brings it, or scripts/setup.sh (without "
                    "--runner-only) builds it",
                    context.trainer));
  }
  return context;
}

void require_program(const Study& study) {
  if (study.experiment.runs_anything()) return;
  throw InputError(
      fmt::format("error: {}: there is nothing to run: it has neither `trainer` nor `command`\n  = `hpcbench report {}` "
                  "takes in what `import` names",
                  study.experiment.path, study.experiment.path));
}

}  // namespace hpcbench

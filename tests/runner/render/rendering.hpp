#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "fakes/example_experiment.hpp"
#include "fakes/temporary_folder.hpp"
#include "render/attempt.hpp"

namespace hpcbench {

/// A folder of results, the context of a call in it, and attempts on disk that bash can run.
class RenderedFolder {
 public:
  RenderedFolder() {
    context.results = folder / "results/example";
    context.call_folder = folder / "call";
    context.trainer = "/opt/bin/hpcbench-train";
    context.hpcbench = program_folder() + "/hpcbench";
    context.executor = "local";
    context.job_template = read_file(HPCBENCH_SOURCE_DIR "/templates/job.sh.mustache");
    context.provenance = {.hpcbench_version = "0.3.0", .commit = std::nullopt, .dirty = std::nullopt};
    context.intended_unix_s = 1763650000;
    make_folders(context.call_folder);
  }

  /// Renders r01/a1 of a configuration and writes its folder.
  RenderedAttempt write(const Experiment& experiment, std::size_t configuration = 0) const {
    const RenderedAttempt attempt =
        render_attempt(experiment, make_plan(experiment), configuration, {RunKind::repeat, 1}, 1, "00112233445566aa", context);
    make_folders(attempt.folder);
    write_file(attempt.folder + "/run.json", attempt.run_json, Durability::none);
    write_file(attempt.folder + "/job.sh", attempt.job_sh, Durability::none);
    return attempt;
  }

  /// The exit status of the attempt as a job with a token, or, where it is empty, of job.sh by hand, in the call's folder.
  int run(const RenderedAttempt& attempt, const std::string& token) const {
    const std::string job = token.empty() ? "unset HPCBENCH_TOKEN; bash " + shell_quote(attempt.folder + "/job.sh")
                                          : "HPCBENCH_TOKEN=" + shell_quote(token) + " " + shell_quote(context.hpcbench) +
                                                " launch " + shell_quote(attempt.folder);
    const std::string command =
        "cd " + shell_quote(context.call_folder) + " && { " + job + "; } 2>>" + shell_quote(folder / "job.err");
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// The exit status of job.sh as the launcher calls it: in the attempt's own folder.
  int run_script(const RenderedAttempt& attempt) const {
    const std::string quoted = shell_quote(attempt.folder);
    make_folders(attempt.folder + "/try1");
    make_folders(attempt.folder + "/out");
    const std::string command = "cd " + shell_quote(context.call_folder) + " && HPCBENCH_RUN=" + quoted +
                                "/run.json HPCBENCH_RUN_DIR=" + quoted + "/out HPCBENCH_TRY=" + quoted + "/try1 bash " +
                                quoted + "/job.sh >>" + quoted + "/stdout.log 2>>" + shell_quote(folder / "job.err");
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// The one folder manual-* of the call's folder.
  std::string manual_folder() const {
    std::string found;
    for (const auto& entry : std::filesystem::directory_iterator(context.call_folder)) {
      if (entry.path().filename().string().starts_with("manual-")) found = entry.path().string();
    }
    return found;
  }

  TemporaryFolder folder;
  RenderContext context;
};

/// One configuration that runs this command.
inline Experiment command_experiment(std::vector<std::string> command, int processes = 1) {
  Experiment experiment;
  experiment.name = "example";
  experiment.path = "example.yaml";
  experiment.matrix = {{"gpus_per_node", {Value::from_integer(processes)}}};
  experiment.work.command = std::move(command);
  return experiment;
}

inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace hpcbench

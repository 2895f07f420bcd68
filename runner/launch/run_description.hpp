#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// What run.json says about starting a run; docs/run-directory.md describes the fields.
struct RunDescription {
  std::vector<std::string> argv;  // as it is executed: with `bash -c` around it where set-up lines or `shell` ask for that
  int nodes = 1;
  int processes = 1;
  int cpus_per_task = 1;
  std::string workdir;
  std::optional<double> time_s;
  int good_exit_code = 0;
};

/// InputError `error: PATH: ...` says what is wrong with `text`.
RunDescription parse_run_description(const std::string& text, const std::string& path);

/// The text of `bash -c` that loads `modules`, runs the author's lines `setup` and then becomes `"$@"`, or goes on with
/// `shell_text`.
std::string setup_script(const std::vector<std::string>& modules, const std::vector<std::string>& setup,
                         const std::optional<std::string>& shell_text);

}  // namespace hpcbench

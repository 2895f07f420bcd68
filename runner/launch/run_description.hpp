#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// What run.json says about starting a run; docs/run-directory.md describes the fields.
struct RunDescription {
  std::vector<std::string> argv;      // the program and its arguments; with `shell` none
  std::optional<std::string> script;  // text for `bash -c`: modules, set-up lines, then `exec "$@"` or the text of `shell`
  int nodes = 1;
  int processes = 1;
  int cpus_per_task = 1;
  std::string workdir;
  std::optional<double> time_s;
  int good_exit_code = 0;
};

/// InputError `error: PATH: ...` says what is wrong with `text`.
RunDescription parse_run_description(const std::string& text, const std::string& path);

/// What is executed: `argv`, with `bash -c` and `script` before it if there is one.
std::vector<std::string> executed_argv(const RunDescription& run);

/// Names `to` wherever `argv` and `script` name the folder `from`: a run by hand must not write where the measured one did.
void move_folder(RunDescription& run, const std::string& from, const std::string& to);

/// The text of `bash -c` that loads `modules`, runs the author's lines `setup` and then becomes `"$@"`, or goes on with
/// `shell_text`.
std::string setup_script(const std::vector<std::string>& modules, const std::vector<std::string>& setup,
                         const std::optional<std::string>& shell_text);

}  // namespace hpcbench

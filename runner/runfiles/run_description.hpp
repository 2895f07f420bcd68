#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// Where the set-up shell writes what it hands over: above the descriptors that people choose.
inline constexpr int kHandOverFd = 99;

/// What run.json (runfiles/run_info.hpp) says about starting a run, ready for it; docs/run-directory.md describes the fields.
struct RunDescription {
  std::vector<std::string> argv;                   // the program and its arguments; with `shell` none
  std::optional<std::string> shell_text;           // text for `bash -c`
  std::optional<std::string> setup;                // text for `bash -c`, once before all processes; absent: nothing to set up
  std::map<std::string, std::string> environment;  // of the run: values by name
  bool merged_output = false;                      // of ranks above 0
  double monitor_s = 0;                            // between samples of the load; 0: none
  bool script = false;                             // its job.sh is to be run, which does all of this
  int gpus = 1;
  int nodes = 1;
  int processes = 1;
  int cpus_per_task = 1;
  std::string workdir;
  std::optional<double> time_s;
  int good_exit_code = 0;
  std::optional<double> warn_s = {};        // before the time limit; absent: nothing warns the program of it
  std::optional<int> saved_exit_code = {};  // of a process that is to be continued
  bool shares_numa = false;                 // with runs side by side in its block
};

/// InputError `error: PATH: ...` says what is wrong with `text`, a run.json.
RunDescription describe_run(const std::string& text, const std::string& path);

/// What each process executes: `argv`, or a shell with `shell_text`.
std::vector<std::string> executed_argv(const RunDescription& run);

/// Names `to` wherever the texts of `run` name the folder `from`: a run by hand must not write where the measured one did.
void move_folder(RunDescription& run, const std::string& from, const std::string& to);

/// The text of `bash -c` that loads `modules`, runs the author's lines `setup`, and writes what they left to kHandOverFd
/// (launch/hand_over.hpp). As in a job of Slurm, what they set is exported if `export_all`, and leaving early fails
/// whatever the exit code, `good_exit_code` too.
std::string setup_script(const std::vector<std::string>& modules, const std::vector<std::string>& setup, bool export_all,
                         int good_exit_code);

}  // namespace hpcbench

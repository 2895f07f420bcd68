#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "fakes/temporary_folder.hpp"
#include "launch/launch.hpp"

namespace hpcbench {

/// What a process of our own ended with: its exit code, or 128 + its signal.
inline int end_of_process(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Calls `function` in a process of its own, as the program `hpcbench launch` would. Exceptions are exit codes, as in main.
inline pid_t start_process_with(const std::function<int()>& function) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  try {
    ::_exit(function());
  } catch (const InputError&) {
    ::_exit(2);
  } catch (const UnavailableError&) {
    ::_exit(3);
  } catch (...) {
    ::_exit(4);
  }
}

inline int in_a_process(const std::function<int()>& function) { return end_of_process(start_process_with(function)); }

/// Looks again until it holds. False after a minute.
inline bool wait_until(const std::function<bool()>& holds) {
  for (int i = 0; i < 6000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

inline bool is_there(const std::string& path) { return std::filesystem::exists(path); }
/// A process that runs, or ended and was not waited for.
inline bool has_process(int pid) { return ::kill(pid, 0) == 0; }
inline char process_state(int pid) {
  const std::string stat = read_file_if_there("/proc/" + std::to_string(pid) + "/stat").value_or("x) X");
  return stat[stat.rfind(')') + 2];
}

/// The least of a job.sh that runs what run.json says: templates/job.sh.mustache without what these tests do not need.
inline std::string job_script_of(const nlohmann::json& run) {
  const int processes = run["processes"].is_number_integer() ? run["processes"].get<int>() : 1;
  const int nodes = run["nodes"].get<int>();
  const bool shell = run.value("shell", false);
  const nlohmann::json environment = run.value("environment", nlohmann::json::object());
  const nlohmann::json cpus = run["resources"].value("cpus_per_task", nlohmann::json(1));
  std::string script = "export WORLD_SIZE=" + std::to_string(processes) + " OMP_NUM_THREADS=" + cpus.dump() + "\n";
  for (const auto& [name, value] : environment.items())
    script += "export " + name + "=" + shell_quote(value.get<std::string>()) + "\n";
  if (shell) script += "set -a\n";
  script += "cd -- " + shell_quote(run["workdir"].get<std::string>()) + " || exit 126\n";
  for (const auto& name : run.value("modules", nlohmann::json::array()))
    script += "module load " + shell_quote(name.get<std::string>()) + " || exit\n";
  for (const auto& line : run.value("setup", nlohmann::json::array())) script += line.get<std::string>() + "\n";
  const int per_node = processes % nodes == 0 ? processes / nodes : processes;
  script += "exec " + shell_quote(program_folder() + "/hpcbench") + " rank -n " + std::to_string(processes) +
            " --per-node=" + std::to_string(per_node) + " --";
  std::vector<std::string> words;
  if (run["argv"].is_string()) words = {run["argv"].get<std::string>()};
  if (run["argv"].is_array()) words = run["argv"].get<std::vector<std::string>>();
  if (shell) words = {"bash", "-c", join(words, " "), "bash"};
  for (const std::string& word : words) script += " " + shell_quote(word);
  return script + " </dev/null\n";
}

/// An attempt's folder with a run.json and a job.sh of the least that a job needs.
class JobFolder {
 public:
  explicit JobFolder(const std::vector<std::string>& argv, const nlohmann::json& more = nlohmann::json::object()) {
    nlohmann::json run{{"schema", 1},    {"argv", argv},      {"nodes", 1},
                       {"processes", 1}, {"workdir", path()}, {"resources", {{"cpus_per_task", 1}}}};
    run.update(more);
    write_file(path() + "/run.json", run.dump(), Durability::none);
    write_file(path() + "/job.sh", job_script_of(run), Durability::none);
  }

  std::string path() const { return folder_.path().string(); }
  std::string operator/(const std::string& name) const { return folder_ / name; }
  std::string text(const std::string& name) const { return read_file(folder_ / name); }
  nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(text(name)); }

  pid_t start(double grace_s = kEndingGraceS) const {
    return start_process_with([&] { return launch_attempt(path(), "0123456789abcdef", "", grace_s); });
  }
  /// The job's exit status.
  int run(double grace_s = kEndingGraceS) const { return end_of_process(start(grace_s)); }
  /// finished.json of a run.
  nlohmann::json finish(double grace_s = kEndingGraceS) const {
    run(grace_s);
    return json("finished.json");
  }

 private:
  TemporaryFolder folder_;
};

/// A job of `processes` ranks of one bash text.
inline JobFolder bash_job(const std::string& text, int processes = 1, nlohmann::json more = nlohmann::json::object()) {
  more["processes"] = processes;
  return JobFolder({"bash", "-c", text}, more);
}

}  // namespace hpcbench

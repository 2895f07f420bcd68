#include "submit/job_processes.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <ctime>
#include <string_view>
#include <vector>

#include "base/container_monitor.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr int kLeftoverLooks = 200;
constexpr long kLeftoverPauseNs = 10'000'000;  // 200 looks, 10 ms apart: two seconds

int pidfd_of(int pid) {
#ifdef SYS_pidfd_open
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
#else
  static_cast<void>(pid);
  return -1;
#endif
}

bool signal_through(int pidfd, int signal) {
#ifdef SYS_pidfd_send_signal
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
#else
  static_cast<void>(pidfd);
  static_cast<void>(signal);
  return false;
#endif
}

/// The numbers of all processes of this host.
std::vector<int> all_processes() {
  std::vector<int> pids;
  DIR* const folder = ::opendir("/proc");
  if (folder == nullptr) return pids;
  while (const dirent* const entry = ::readdir(folder)) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    int pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  ::closedir(folder);
  return pids;
}

/// A file of /proc/PID as its NUL-separated parts.
std::vector<std::string> process_words(int pid, const char* file) { return split(process_text(pid, file), '\0'); }

bool is_of_this_user(int pid) {
  struct stat status {};
  return ::stat(("/proc/" + std::to_string(pid)).c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

/// EXPERIMENT/CONFIG_ID/RUN/ATTEMPT of an attempt's folder: a container may see it at another place.
std::string own_part(const std::string& folder) {
  std::size_t begin = folder.size();
  for (int part = 0; part < 4 && begin != std::string::npos && begin > 0; ++part) begin = folder.rfind('/', begin - 1);
  return begin == std::string::npos ? folder : folder.substr(begin);
}

bool launches(int pid, const std::string& folder) {
  const std::vector<std::string> words = process_words(pid, "cmdline");
  const std::string part = own_part(folder);
  bool found = false;
  for (std::size_t i = 0; i + 1 < words.size() && !found; ++i) found = words[i] == "launch" && words[i + 1].ends_with(part);
  if (!found || !is_of_this_user(pid)) return false;
  const std::vector<std::string> environment = process_words(pid, "environ");
  return std::any_of(environment.begin(), environment.end(),
                     [](const std::string& variable) { return variable.starts_with("HPCBENCH_TOKEN="); });
}

bool has_word(const std::vector<std::string>& words, const std::string& wanted) {
  for (const std::string& word : words) {
    if (word == wanted) return true;
  }
  return false;
}

/// What is left of a job, by identity.
std::vector<ProcessIdentity> find_leftovers(const ProcessIdentity& job, const std::string& run_variable) {
  std::vector<ProcessIdentity> named;
  std::vector<ProcessIdentity> session;
  bool session_is_its = false;
  for (const int pid : all_processes()) {
    if (pid == ::getpid()) continue;
    const bool in_session = ::getsid(pid) == job.pid;
    const bool names_run = has_word(process_words(pid, "environ"), run_variable);
    if ((!in_session && !names_run) || !is_of_this_user(pid) || container_part(pid) == ContainerPart::keeper) continue;
    const auto identity = identify_process(pid);
    if (!identity || identity->start_ticks < job.start_ticks) continue;
    session_is_its = session_is_its || (in_session && names_run);
    (names_run ? named : session).push_back(*identity);
  }
  // A session's number is free again once the session is empty: without a member that names the run it may be another's.
  if (session_is_its) named.insert(named.end(), session.begin(), session.end());
  return named;
}

}  // namespace

Descriptor open_process(const ProcessIdentity& process) {
  Descriptor fd(pidfd_of(process.pid));
  // The number may have passed on before it was opened; what is open now stays that process.
  if (fd.get() >= 0 && !is_alive(process).value_or(false)) return Descriptor();
  return fd;
}

bool signal_process(const ProcessIdentity& process, int signal) {
  const Descriptor fd = open_process(process);
  if (fd.get() >= 0) return signal_through(fd.get(), signal);
  return is_alive(process).value_or(false) && ::kill(process.pid, signal) == 0;
}

std::optional<ProcessIdentity> find_launcher(const std::string& folder, const std::optional<ProcessIdentity>& claimed) {
  if (claimed && is_alive(*claimed).value_or(false) && launches(claimed->pid, folder)) return claimed;
  for (const int pid : all_processes()) {
    if (!launches(pid, folder)) continue;
    if (const auto identity = identify_process(pid)) return identity;
  }
  return std::nullopt;
}

void end_leftovers(const ProcessIdentity& job, const std::string& folder) {
  if (job.host != host_name() || job.boot_id != boot_id()) return;
  const std::string run_variable = "HPCBENCH_RUN=" + folder + "/run.json";
  for (int look = 0; look < kLeftoverLooks; ++look) {
    const std::vector<ProcessIdentity> left = find_leftovers(job, run_variable);
    if (left.empty()) return;
    for (const ProcessIdentity& process : left) signal_process(process, SIGKILL);
    const timespec pause{0, kLeftoverPauseNs};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace hpcbench

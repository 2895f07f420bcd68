#include "doctor/doctor_machine.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/module_command.hpp"
#include "base/text.hpp"
#include "doctor/doctor.hpp"
#include "plan/placeholders.hpp"
#include "study/preflight.hpp"

namespace hpcbench {

namespace {

constexpr double kModulePatience = 30;  // seconds

/// Reads `KillUserProcesses=` and `KillExcludeUsers=` of one file; a missing setting keeps its value.
void read_logind(const std::filesystem::path& file, bool& kills, std::vector<std::string>& excluded) {
  for (const std::string& raw : split(read_file_if_there(file).value_or(""), '\n')) {
    const std::string line(trim(raw));
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string value(trim(line.substr(equals + 1)));
    const std::string name(trim(line.substr(0, equals)));
    if (name == "KillUserProcesses") kills = value == "yes" || value == "true" || value == "1" || value == "on";
    if (name == "KillExcludeUsers") excluded = split(value, ' ');
  }
}

}  // namespace

std::string user_name() {
  const passwd* const entry = ::getpwuid(::geteuid());
  return entry == nullptr ? std::to_string(::geteuid()) : entry->pw_name;
}

std::string existing_folder(const std::string& path) {
  std::filesystem::path folder = path;
  std::error_code ignored;
  while (!std::filesystem::exists(folder, ignored) && folder != folder.parent_path()) folder = folder.parent_path();
  return folder.string();
}

bool is_on_network_file_system(const std::string& folder) {
  // linux/magic.h defines some of these: NFS, CIFS, SMB2, AFS, 9p, FUSE, Ceph, Lustre, BeeGFS, GPFS, OCFS2, GFS2.
  constexpr std::array kNetwork = {0x6969L,     0xFF534D42L, 0xFE534D42L, 0x5346414FL, 0x01021997L, 0x65735546L,
                                   0x00C36400L, 0x0BD00BD0L, 0x19830326L, 0x47504653L, 0x7461636FL, 0x01161970L};
  struct statfs answer {};
  if (::statfs(existing_folder(folder).c_str(), &answer) != 0) return true;
  const long type = static_cast<long>(answer.f_type) & 0xFFFFFFFFL;
  return std::find(kNetwork.begin(), kNetwork.end(), type) != kNetwork.end();
}

bool logout_ends_processes(const std::string& root, const std::string& user) {
  namespace fs = std::filesystem;
  if (!fs::exists(root + "/run/systemd/system")) return false;  // systemd does not run this machine
  bool kills = false;
  std::vector<std::string> excluded = {"root"};
  read_logind(root + "/etc/systemd/logind.conf", kills, excluded);
  for (const char* folder : {"/usr/lib/systemd/logind.conf.d", "/run/systemd/logind.conf.d", "/etc/systemd/logind.conf.d"}) {
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::directory_iterator entry(root + folder, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() == ".conf") files.push_back(entry->path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) read_logind(file, kills, excluded);
  }
  const bool lingers = fs::exists(root + "/var/lib/systemd/linger/" + user);
  return kills && !lingers && std::find(excluded.begin(), excluded.end(), user) == excluded.end();
}

void examine_modules(const Study& study, ToolRunner& tools, Findings& findings) {
  std::set<std::pair<std::vector<std::string>, Variables>> known;
  for (const Configuration& configuration : study.selected().configurations) {
    const std::vector<std::string>& modules = configuration.work->modules;
    const Variables& variables = configuration.work->environment;
    if (modules.empty() || !known.emplace(modules, variables).second) continue;
    ToolCall call{{"bash", "-c", std::string(kFindModule) + "\nfor name; do module load \"$name\" || exit; done", "bash"}};
    call.argv.insert(call.argv.end(), modules.begin(), modules.end());
    call.timeout_s = kModulePatience;
    for (const auto& [name, value] : variables) {
      if (placeholders_in(value).empty()) call.environment[name] = value;
    }
    const ToolResult result = tools.run(call);
    if (result.succeeded()) continue;
    note_finding(findings, Finding::Kind::problem,
                 fmt::format("`modules: [{}]` fails here: {}", join(modules, ", "), describe(result)),
                 "mend `modules` (`module avail` lists what there is)");
  }
}

void examine_machine(const Study& study, ToolRunner& tools, Findings& findings) {
  examine_results(study, tools, findings);
  Findings needs;
  examine_needs(study, needs);
  findings.insert(findings.end(), needs.begin(), needs.end());
}

void examine_local(const Study& study, Findings& findings) {
  if (logout_ends_processes("", user_name())) {
    note_finding(findings, Finding::Kind::warning,
                 "systemd ends your processes when you log out (KillUserProcesses=yes): jobs would die",
                 "`loginctl enable-linger` once, or stay logged in (tmux does not help)");
  }
  if (const char* const job = std::getenv("SLURM_JOB_ID")) {
    note_finding(findings, Finding::Kind::warning, fmt::format("this is Slurm's job {}: local jobs end with it", job),
                 "call hpcbench on the login node with a site whose executor is slurm, or ask for enough time");
  }
  if (const auto simulated = find_simulated(study)) {
    note_finding(findings, Finding::Kind::problem,
                 fmt::format("a configuration has {} nodes, and the executor local is this machine alone",
                             study.selected().configurations[*simulated].nodes),
                 "choose a cluster with --site; `hpcbench run --simulate-nodes` runs all ranks here, and every table says so");
  }
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  int most = 0;
  for (const Configuration& configuration : study.selected().configurations)
    most = std::max(most, process_count(configuration) * configuration.work->resources.cpus_per_task);
  if (cores > 0 && most > cores) {
    note_finding(findings, Finding::Kind::warning,
                 fmt::format("a configuration uses {} cores, and this machine has {}", most, cores),
                 "its processes share cores: times say little about scaling");
  }
}

}  // namespace hpcbench

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
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "doctor/doctor.hpp"
#include "plan/placeholders.hpp"
#include "study/preflight.hpp"

namespace hpcbench {

namespace {

constexpr double kModulePatience = 30;  // seconds
constexpr std::array kDataNames = {"data", "dataset", "data_dir", "data_path", "model"};
/// What the trainer's `model` may be instead of a path.
constexpr std::array<std::string_view, 4> kModelSizes = {"tiny", "small", "base", "large"};
/// Folders of scripts/get-data.sh, and the sets that bring them.
constexpr std::array<std::pair<const char*, const char*>, 4> kPublicSets = {
    {{"squad1", "squad1"}, {"squad2", "squad2"}, {"mnist-full", "mnist"}, {"bert-base-uncased", "bert"}}};

void note_finding(Findings& findings, Finding::Kind kind, std::string text, std::string advice = "") {
  const auto same = [&](const Finding& finding) { return finding.kind == kind && finding.text == text; };
  if (std::any_of(findings.begin(), findings.end(), same)) return;
  findings.push_back({kind, std::move(text), std::move(advice)});
}

/// Whether each run has a folder of its own, so that nobody can look into it before.
bool has_own_folder(const Study& study) {
  const std::string said = study.experiment.workdir.value_or("");
  return said == "attempt" || !placeholders_in(said).empty();
}

/// The folder in which commands run, if it is the same for all.
std::string working_folder(const Study& study) {
  const std::string said = study.experiment.workdir.value_or("");
  if (said.empty() || has_own_folder(study)) return std::filesystem::current_path().string();
  return std::filesystem::absolute(said).string();
}

bool is_there(const std::string& folder, const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(folder) / path, ignored);
}

bool is_fixed(const std::string& text) { return placeholders_in(text).empty(); }

/// `elsewhere`: jobs run on other machines, which may have programs of their own.
void examine_program(const Work& work, const std::string& folder, bool own_folder, bool elsewhere, Findings& findings) {
  if (work.shell || work.command.empty() || work.container || !is_fixed(work.command.front())) return;
  const std::string& program = work.command.front();
  const bool is_path = program.find('/') != std::string::npos;
  if (is_path && own_folder && program.front() != '/') return;
  const bool found =
      is_path ? ::access((std::filesystem::path(folder) / program).c_str(), X_OK) == 0 : find_program(program).has_value();
  if (!found) {
    const bool on_nodes = elsewhere && (!is_path || program.front() == '/');
    const bool may_come = !work.modules.empty() || !work.setup.empty() || on_nodes;
    note_finding(findings, may_come ? Finding::Kind::warning : Finding::Kind::problem,
                 is_path ? fmt::format("the program {} is not there, or not executable", program)
                         : fmt::format("the program `{}` is not on PATH", program),
                 on_nodes   ? "all is well if the compute nodes have it"
                 : may_come ? "all is well if `modules` or `setup` bring it"
                            : "install it, mend `command`, or let `setup` or `modules` bring it");
  }
  if (own_folder) return;
  for (std::size_t i = 1; i < work.command.size(); ++i) {
    const std::string& argument = work.command[i];
    const std::string extension = std::filesystem::path(argument).extension().string();
    const bool is_script = extension == ".py" || extension == ".sh" || extension == ".R" || extension == ".jl";
    if (is_script && argument.front() != '-' && is_fixed(argument) && argument.find(' ') == std::string::npos &&
        !is_there(folder, argument)) {
      note_finding(findings, Finding::Kind::problem, fmt::format("the command names {}, which is not in {}", argument, folder),
                   "call hpcbench in the folder of your programs, or set `workdir`");
    }
  }
}

/// `data/squad2`: the set that scripts/get-data.sh brings under that name; empty if it brings none.
std::string public_set(const std::filesystem::path& path) {
  for (const auto& [folder, set] : kPublicSets) {
    if (path.filename() == folder) return set;
  }
  return "";
}

using NamedPaths = std::vector<std::pair<std::string, std::string>>;  // name, path

/// What to do about all that is missing of the trainer: the one command that brings it, if one does.
std::string advice_on_data(const NamedPaths& missing) {
  const std::string parent = std::filesystem::path(missing.front().second).parent_path().string();
  std::string sets;
  for (const auto& [name, path] : missing) {
    const std::string set = public_set(path);
    if (set.empty() || std::filesystem::path(path).parent_path() != parent)
      return "mend the path: it is relative to the folder in which hpcbench is called, or to `workdir`";
    sets += " " + set;
  }
  return fmt::format("`scripts/get-data.sh{}{}` brings {}", parent == "data" ? "" : " --to " + (parent.empty() ? "." : parent),
                     sets, missing.size() == 1 ? "it" : "them");
}

bool may_be_path(const Study& study, const std::string& name, const std::string& text) {
  if (name != "model") return true;
  return study.experiment.is_trainer() && std::find(kModelSizes.begin(), kModelSizes.end(), text) == kModelSizes.end();
}

/// Adds to `missing` what parameters and axes name and is not there; `seen` holds what was looked at before.
void look_for_data(const Study& study, const Bindings& bindings, const std::string& folder, NamedPaths& seen,
                   NamedPaths& missing) {
  for (const char* name : kDataNames) {
    const Value* value = find_binding(bindings, name);
    if (value == nullptr || !value->is_text() || !is_fixed(value->text()) || value->text().empty()) continue;
    const std::pair<std::string, std::string> named = {name, value->text()};
    if (!may_be_path(study, name, named.second) || std::find(seen.begin(), seen.end(), named) != seen.end()) continue;
    seen.push_back(named);
    if (!is_there(folder, named.second)) missing.push_back(named);
  }
}

void note_missing_data(const Study& study, const std::string& folder, const NamedPaths& missing, Findings& findings) {
  const bool surely = study.experiment.is_trainer();
  for (const auto& [name, path] : missing) {
    note_finding(findings, surely ? Finding::Kind::problem : Finding::Kind::warning,
                 fmt::format("{}: {} is not there (seen from {})", name, path, folder),
                 surely
                     ? advice_on_data(missing)
                     : "if it is a path, mend it: it is relative to the folder in which hpcbench is called, or to `workdir`");
  }
}

void examine_work(const Study& study, Findings& findings) {
  const std::string folder = working_folder(study);
  const bool own_folder = has_own_folder(study);
  const Work* last = nullptr;
  NamedPaths seen;
  NamedPaths missing;
  for (const Configuration& configuration : study.selected().configurations) {
    Bindings bindings = study.selected().bindings(configuration);
    bindings.insert(bindings.end(), configuration.work->parameters.begin(), configuration.work->parameters.end());
    look_for_data(study, bindings, folder, seen, missing);
    if (configuration.work.get() != last && !study.experiment.is_trainer())
      examine_program(*configuration.work, folder, own_folder, study.experiment.executor == "slurm", findings);
    last = configuration.work.get();
  }
  note_missing_data(study, folder, missing, findings);
}

void examine_trainer(const Study& study, Findings& findings) {
  if (!study.experiment.is_trainer()) return;
  const std::string trainer = program_folder() + "/hpcbench-train";
  if (::access(trainer.c_str(), X_OK) != 0) {
    note_finding(findings, Finding::Kind::problem, fmt::format("the trainer {} is not there", trainer),
                 "build it with scripts/setup.sh (without --runner-only)");
  }
}

/// `KillUserProcesses=` and `KillExcludeUsers=` of one file; what it does not say stays as it was.
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
  // linux/magic.h has some of these: NFS, CIFS, SMB2, AFS, 9p, FUSE, Ceph, Lustre, BeeGFS, GPFS, OCFS2, GFS2.
  constexpr std::array kNetwork = {0x6969L,     0xFF534D42L, 0xFE534D42L, 0x5346414FL, 0x01021997L, 0x65735546L,
                                   0x00C36400L, 0x0BD00BD0L, 0x19830326L, 0x47504653L, 0x7461636FL, 0x01161970L};
  struct statfs answer {};
  if (::statfs(existing_folder(folder).c_str(), &answer) != 0) return true;
  const long type = static_cast<long>(answer.f_type) & 0xFFFFFFFFL;
  return std::find(kNetwork.begin(), kNetwork.end(), type) != kNetwork.end();
}

bool logout_ends_processes(const std::string& root, const std::string& user) {
  namespace fs = std::filesystem;
  if (!fs::exists(root + "/run/systemd/system")) return false;  // systemd is not what runs this machine
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
  std::vector<std::string> modules;
  for (const Configuration& configuration : study.selected().configurations) {
    for (const std::string& module : configuration.work->modules) {
      if (std::find(modules.begin(), modules.end(), module) == modules.end()) modules.push_back(module);
    }
  }
  for (const std::string& module : modules) {
    const ToolResult result = tools.run({{"bash", "-lc", "module load \"$1\"", "bash", module}, "", kModulePatience});
    if (result.succeeded()) continue;
    note_finding(findings, Finding::Kind::problem, fmt::format("`module load {}` fails here: {}", module, describe(result)),
                 "mend `modules` (`module avail` lists what there is)");
  }
}

void examine_needs(const Study& study, Findings& findings) {
  examine_trainer(study, findings);
  examine_work(study, findings);
  if (study.experiment.prepare.empty()) return;
  for (Finding& finding : findings) {
    if (finding.kind != Finding::Kind::problem) continue;
    finding.kind = Finding::Kind::warning;
    finding.advice = "all is well if `prepare` brings it";
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

#include "spec/starter/launchers.hpp"

#include <algorithm>

#include "spec/fields.hpp"

namespace hpcbench {

namespace {

const std::vector<Launcher>& launchers() {
  static const OptionNames kMpiValues = {"-bind-to",
                                         "-map-by",
                                         "-rank-by",
                                         "-hostfile",
                                         "-machinefile",
                                         "-host",
                                         "-H",
                                         "-x",
                                         "-wdir",
                                         "-wd",
                                         "-rankfile",
                                         "-rf",
                                         "-output-filename",
                                         "-timeout",
                                         "-iface",
                                         "-launcher",
                                         "-bootstrap",
                                         "-genv",
                                         "-f",
                                         "-cpus-per-proc",
                                         "-cpus-per-rank",
                                         "-npersocket"};
  static const std::vector<CountOption> kMpiCounts = {{{"-n", "-np", "-c"}, "ranks"},
                                                      {{"-npernode", "-N", "-ppn", "-perhost"}, "ranks_per_node"}};
  static const std::vector<Launcher> kLaunchers = {
      {{"torchrun", "torch.distributed.run", "torch.distributed.launch"},
       "",
       {{{"-nproc-per-node"}, "gpus_per_node"}, {{"-nnodes"}, "nodes"}},
       {},
       "--nproc_per_node={{gpus_per_node}}",
       true,
       {"-standalone", "-no-python", "-m", "-module", "-run-path", "-use-env", "-use_env"},
       R"(--node_rank="$NODE_RANK" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT")",
       {"-node-rank", "-rdzv-endpoint", "-rdzv-backend", "-master-addr"},
       "node",
       "torchrun starts the processes of its node"},
      {{"accelerate", "accelerate.commands.launch"},
       "launch",
       {{{"-num-processes"}, "gpus"}, {{"-num-machines"}, "nodes"}},
       {},
       "--num_processes={{gpus}}",
       true,
       {"-cpu", "-multi-gpu", "-mps", "-tpu", "-quiet", "-q", "-debug", "-no-python", "-m", "-module", "-use-deepspeed",
        "-use-fsdp", "-use-megatron-lm", "-use-xpu", "-ipex", "-same-network", "-enable-cpu-affinity"},
       R"(--machine_rank="$NODE_RANK" --main_process_ip="$MASTER_ADDR" --main_process_port="$MASTER_PORT")",
       {"-machine-rank", "-main-process-ip"},
       "node",
       "accelerate starts the processes of its node"},
      {{"deepspeed"},
       "",
       {{{"-num-gpus"}, "gpus_per_node"}, {{"-num-nodes"}, "nodes"}},
       {},
       "--num_gpus={{gpus_per_node}}",
       true,
       {"-no-local-rank", "-no-python", "-module", "-force-multi", "-bind-cores-to-rank", "-no-ssh", "-elastic-training"},
       "",
       {},
       "once",
       "deepspeed starts all processes"},
      {{"mpirun", "mpiexec", "orterun", "mpiexec.hydra"},
       "",
       kMpiCounts,
       {"-cpus-per-proc", "-cpus-per-rank"},
       "-n {{ranks}}",
       false,
       kMpiValues,
       "",
       {},
       "once",
       "MPI's launcher starts all processes"},
      {{"srun"},
       "",
       {{{"-n", "-ntasks"}, "ranks"}, {{"-ntasks-per-node"}, "ranks_per_node"}, {{"-N", "-nodes"}, "nodes"}},
       {"-c", "-cpus-per-task"},
       "-n {{ranks}}",
       true,
       {"-l",
        "-label",
        "-u",
        "-unbuffered",
        "-K",
        "-kill-on-bad-exit",
        "-v",
        "-Q",
        "-quiet",
        "-exclusive",
        "-overlap",
        "-exact",
        "-pty",
        "-s",
        "-oversubscribe",
        "-E",
        "-preserve-env",
        "-O",
        "-overcommit",
        "-X",
        "-Z",
        "-no-allocate"},
       "",
       {},
       "once",
       "srun starts all processes: in a job of Slurm"},
  };
  return kLaunchers;
}

/// A program that starts the rest of its line.
struct PrefixProgram {
  std::string_view name;
  OptionNames with_value;    // options that take the next word as their value
  std::size_t operands = 0;  // words before the program that it starts
};

const PrefixProgram* prefix_named(std::string_view program) {
  static const std::vector<PrefixProgram> kPrefixes = {
      {"exec", {"-a"}},
      {"nohup", {}},
      {"setsid", {}},
      {"command", {}},
      {"time", {"-f", "-format", "-o", "-output"}},
      {"env", {"-u", "-unset", "-C", "-chdir"}},
      {"nice", {"-n", "-adjustment"}},
      {"ionice", {"-c", "-class", "-n", "-classdata"}},
      {"taskset", {}, 1},
      {"chrt", {"-T", "-P", "-D"}, 1},
      {"timeout", {"-s", "-signal", "-k", "-kill-after"}, 1},
      {"stdbuf", {"-i", "-input", "-o", "-output", "-e", "-error"}},
      {"numactl",
       {"-i", "-interleave", "-N", "-cpunodebind", "-C", "-physcpubind", "-m", "-membind", "-p", "-preferred", "-w"}},
  };
  const auto found =
      std::find_if(kPrefixes.begin(), kPrefixes.end(), [&](const PrefixProgram& prefix) { return prefix.name == program; });
  return found == kPrefixes.end() ? nullptr : &*found;
}

bool is_assignment(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && is_identifier(word.substr(0, equals));
}

/// The index of the first word that `prefix`, whose name precedes `at`, starts.
std::size_t after_prefix(const PrefixProgram& prefix, const std::vector<std::string>& words, std::size_t at) {
  while (at < words.size() && words[at].starts_with('-')) {
    const bool takes_next = words[at].find('=') == std::string::npos && has_option(prefix.with_value, plain_option(words[at]));
    at += takes_next ? 2 : 1;
  }
  return at + prefix.operands;
}

const Launcher* launcher_named(std::string_view word) {
  const std::string_view program = word.substr(word.rfind('/') + 1);
  for (const Launcher& launcher : launchers()) {
    if (has_option(launcher.programs, program)) return &launcher;
  }
  return nullptr;
}

/// The launcher whose name is at `at`, as a program or as a module of Python.
FoundLauncher launcher_at(const std::vector<std::string>& words, std::size_t at) {
  const bool as_module = words[at].find("python") != std::string::npos && at + 2 < words.size() && words[at + 1] == "-m";
  const Launcher* const launcher = launcher_named(as_module ? words[at + 2] : words[at]);
  const std::size_t next = as_module ? at + 3 : at + 1;
  if (launcher == nullptr) return {};
  if (launcher->subcommand.empty() || as_module) return {launcher, next};
  const bool has_subcommand = next < words.size() && words[next] == launcher->subcommand;
  return has_subcommand ? FoundLauncher{launcher, next + 1} : FoundLauncher{};
}

}  // namespace

bool has_option(const OptionNames& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string plain_option(std::string_view word) {
  std::string name(word.substr(0, word.find('=')));
  if (name.starts_with("--")) name.erase(0, 1);
  if (name.size() > 2) std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

bool is_shell_operator(std::string_view word) {
  static const OptionNames kOperators = {"&&", "||", "|", ";", "&"};
  return has_option(kOperators, word) || word.ends_with(';');
}

FoundLauncher find_launcher(const std::vector<std::string>& words, bool shell, std::size_t from) {
  bool may_start = true;
  for (std::size_t i = from; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (may_start && !is_assignment(word)) {
      const FoundLauncher found = launcher_at(words, i);
      if (found.launcher != nullptr) return found;
      const PrefixProgram* const prefix = prefix_named(std::string_view(word).substr(word.rfind('/') + 1));
      if (prefix != nullptr) {
        i = after_prefix(*prefix, words, i + 1) - 1;
        continue;
      }
      may_start = false;
    }
    if (shell && is_shell_operator(word)) may_start = true;
  }
  return {};
}

}  // namespace hpcbench

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "doctor/doctor.hpp"
#include "doctor/doctor_machine.hpp"
#include "doctor/doctor_quota.hpp"
#include "doctor/doctor_slurm_facts.hpp"
#include "executors/slurm/slurm_limits.hpp"
#include "executors/slurm/slurm_parse.hpp"
#include "plan/select.hpp"
#include "render/attempt.hpp"
#include "render/blocks.hpp"
#include "study/blocks/find_block_times.hpp"

namespace hpcbench {

namespace {

constexpr double kToolPatience = 30;
constexpr std::size_t kMostShapesAsked = 20;  // calls of sbatch --test-only

using Kind = Finding::Kind;

void find(Findings& findings, Kind kind, std::string text, std::string advice = "") {
  findings.push_back({kind, std::move(text), std::move(advice)});
}

ToolResult ask(ToolRunner& tools, std::vector<std::string> argv) { return tools.run({std::move(argv), "", kToolPatience}); }

/// Returns the last line that a tool wrote, which contains the reason.
std::string last_words(const ToolResult& result) {
  std::string words = describe(result);
  for (const std::string& line : split(result.errors, '\n')) {
    if (!trim(line).empty()) words = std::string(trim(line));
  }
  return words;
}

bool examine_tools(Findings& findings) {
  bool all = true;
  for (const char* tool : {"sbatch", "squeue", "scancel", "scontrol"}) {
    if (find_program(tool)) continue;
    all = false;
    find(findings, Kind::problem, fmt::format("{} is not on PATH", tool),
         "load Slurm's module or call hpcbench on a login node; `--set executor=local` runs here without Slurm");
  }
  if (all && !find_program("sacct")) {
    find(findings, Kind::warning, "sacct is not on PATH",
         "without it, jobs that Slurm has forgotten are judged by their files alone; nothing runs twice");
  }
  return all;
}

/// Containers of pyxis need options that its plugin adds to srun.
void examine_pyxis(const Study& study, ToolRunner& tools, Findings& findings) {
  const std::vector<Configuration>& all = study.selected().configurations;
  const bool needed = std::any_of(all.begin(), all.end(), [](const Configuration& configuration) {
    return configuration.work->container && configuration.work->container->runtime == ContainerRuntime::pyxis;
  });
  if (!needed) return;
  const ToolResult help = ask(tools, {"srun", "--help"});
  if (!help.succeeded() || help.output.find("--container-image") != std::string::npos) return;
  find(findings, Kind::problem, "srun has no --container-image here: the plugin pyxis is not loaded",
       "ask the administrators for pyxis, or choose `runtime: apptainer` or `podman` of `container`");
}

void find_silent_controller(const ToolResult& answer, Findings& findings) {
  const std::string words = last_words(answer);
  const bool configuration = words.find("stat file") != std::string::npos || words.find("configuration") != std::string::npos;
  find(findings, Kind::problem, fmt::format("Slurm does not answer: {}", words),
       configuration ? "mend SLURM_CONF, or load Slurm's module"
                     : "wait until `scontrol ping` says UP; `hpcbench run` would wait, too, and lose nothing");
}

/// Returns the partitions that jobs with this `partition` may enter. `whose`: the file that names it.
std::vector<SlurmPartition> chosen_partitions(const std::optional<std::string>& said, const std::string& whose,
                                              const std::vector<SlurmPartition>& known, Findings& findings) {
  std::vector<std::string> names;
  for (const SlurmPartition& partition : known) names.push_back(partition.name);
  std::vector<SlurmPartition> chosen;
  if (!said) {
    for (const SlurmPartition& partition : known) {
      if (partition.is_default) chosen.push_back(partition);
    }
    if (chosen.empty()) {
      find(findings, Kind::problem, "the site names no partition and the cluster has no default one",
           fmt::format("set `partition` in the site's file; there are: {}", join(names, ", ")));
    }
    return chosen;
  }
  for (const std::string& name : split(*said, ',')) {
    const auto at = std::find_if(known.begin(), known.end(), [&](const SlurmPartition& p) { return p.name == name; });
    if (at != known.end()) {
      chosen.push_back(*at);
      continue;
    }
    find(findings, Kind::problem, fmt::format("there is no partition `{}`{}", name, did_you_mean(name, names)),
         fmt::format("set `partition` in {}; there are: {}", whose, join(names, ", ")));
  }
  return chosen;
}

void examine_partition(const SlurmPartition& partition, const Plan& plan, Findings& findings) {
  if (partition.state != "UP" && !partition.state.empty()) {
    find(findings, Kind::problem, fmt::format("partition {} is {}: jobs would wait for ever", partition.name, partition.state),
         "choose another partition, or wait until it is up");
  }
  double longest_s = 0;
  int most_nodes = 0;
  bool unlimited = false;
  for (const Configuration& configuration : plan.configurations) {
    most_nodes = std::max(most_nodes, configuration.nodes);
    longest_s = std::max(longest_s, configuration.work->resources.time_s.value_or(0));
    unlimited = unlimited || !configuration.work->resources.time_s;
  }
  if (partition.max_time_s && longest_s > *partition.max_time_s) {
    find(findings, Kind::problem,
         fmt::format("resources.time is {}, and partition {} ends jobs after {}", human_duration(longest_s), partition.name,
                     human_duration(*partition.max_time_s)),
         "ask for less time, or for another partition");
  }
  const int limit = std::min(partition.max_nodes.value_or(partition.nodes), partition.nodes);
  if (most_nodes > limit) {
    find(
        findings, Kind::problem,
        fmt::format("a configuration has {} nodes, and partition {} gives a job at most {}", most_nodes, partition.name, limit),
        "take those points out (`exclude`, or --only), or choose another partition");
  }
  if (unlimited) {
    find(findings, Kind::warning,
         fmt::format("no resources.time: Slurm ends jobs after partition {}'s default, {}", partition.name,
                     partition.default_time),
         "set resources.time; short jobs also start sooner");
  }
}

/// Compares the GPUs and cores per node that configurations request with the nodes that have them.
void examine_nodes(const std::string& partition, const std::vector<SlurmNode>& nodes, const std::string& type, const Plan& plan,
                   Findings& findings) {
  std::map<std::pair<int, int>, int> shapes;  // GPUs and cores per node -> most nodes
  for (const Configuration& configuration : plan.configurations) {
    const bool gpus = type != "none" && !configuration.work->resources.gres;
    const SlurmShape shape = slurm_shape(configuration);
    int& most = shapes[{gpus ? configuration.gpus_per_node : 0, shape.tasks_per_node * shape.cpus_per_task}];
    most = std::max(most, configuration.nodes);
  }
  for (const auto& [shape, asked] : shapes) {
    const int wanted = std::min(asked, static_cast<int>(nodes.size()));  // another check reports more nodes than exist
    const auto [gpus, cpus] = shape;
    const auto enough = [&](const SlurmNode& node) { return node.gpus >= gpus && (node.cpus == 0 || node.cpus >= cpus); };
    const long fit = std::count_if(nodes.begin(), nodes.end(), enough);
    const long ready = std::count_if(nodes.begin(), nodes.end(), [&](const SlurmNode& n) { return enough(n) && n.takes_jobs; });
    const std::string what = fmt::format("{} GPU{}{} and {} core{}", gpus, gpus == 1 ? "" : "s",
                                         type.empty() || type == "none" ? "" : " of type " + type, cpus, cpus == 1 ? "" : "s");
    if (fit < wanted) {
      int most_gpus = 0;
      for (const SlurmNode& node : nodes) most_gpus = std::max(most_gpus, node.gpus);
      find(findings, Kind::problem,
           fmt::format("{} node{} with {} each: partition {} has {} such node{} (at most {} GPUs a node)", wanted,
                       wanted == 1 ? "" : "s", what, partition, fit, fit == 1 ? "" : "s", most_gpus),
           most_gpus == 0 ? "a cluster without GPUs: say `gres_type: none` in the site's file"
                          : "take those points out (`exclude`, or --only), ask for fewer cores, or choose another partition");
    } else if (ready < wanted) {
      find(findings, Kind::warning,
           fmt::format("{} node{} with {} each: {} of {} such nodes of partition {} take jobs now", wanted,
                       wanted == 1 ? "" : "s", what, ready, fit, partition),
           "jobs wait until nodes come back: `sinfo -R` says why they are gone");
    }
  }
}

/// If the job's node is another machine, files on this machine's own disk are missing there.
void examine_sharing(const std::vector<SlurmNode>& nodes, const Study& study, Findings& findings) {
  const std::string here = host_name();
  const auto short_name = [](const std::string& name) { return name.substr(0, name.find('.')); };
  const bool elsewhere =
      std::any_of(nodes.begin(), nodes.end(), [&](const SlurmNode& node) { return short_name(node.host) != short_name(here); });
  if (!elsewhere) return;
  for (const char* own : {"/tmp/", "/var/tmp/", "/dev/shm/", "/run/"}) {
    if ((study.results_root + "/").starts_with(own)) {
      find(findings, Kind::problem, fmt::format("{} is this machine's own: nodes do not see it", study.results_root),
           "call hpcbench in a folder that all nodes share, or name one with --results");
      return;
    }
  }
  if (!is_on_network_file_system(study.results_root)) {
    find(findings, Kind::warning, fmt::format("{} is on a disk of this machine", study.results_root),
         "make sure that the nodes see the same files under this path, or name a shared folder with --results");
  }
}

std::string accounts_of_user(ToolRunner& tools) {
  const ToolResult result =
      ask(tools, {"sacctmgr", "-n", "-P", "show", "associations", fmt::format("user={}", user_name()), "format=account"});
  std::vector<std::string> accounts;
  for (const std::string& line : split(result.output, '\n')) {
    const std::string account(trim(line));
    if (!account.empty() && std::find(accounts.begin(), accounts.end(), account) == accounts.end()) accounts.push_back(account);
  }
  return result.succeeded() ? join(accounts, ", ") : "";
}

/// Returns the whole refusal of sbatch: the exceeded limit precedes the sentence that it always prints about limits.
std::string words_of_refusal(const ToolResult& result) {
  std::vector<std::string> words;
  for (const std::string& line : split(result.errors, '\n')) {
    std::string_view text = trim(line);
    for (const std::string_view prefix : {"sbatch: error: ", "allocation failure: "}) {
      if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    }
    if (!text.empty()) words.emplace_back(text);
  }
  return words.empty() ? describe(result) : join(words, "; ");
}

std::string advice_on_refusal(const std::string& text, ToolRunner& tools) {
  const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
  if (says("policy")) {
    return fmt::format(
        "{}, or set another `qos` or `account` in the site's file: `sacctmgr show qos` and `sacctmgr show assoc` list limits",
        says("MaxWall") ? "ask for less time (resources.time)" : "ask for less");
  }
  if (says("account")) {
    const std::string accounts = accounts_of_user(tools);
    return "set `account` in the site's file" + (accounts.empty() ? std::string() : "; yours are: " + accounts);
  }
  if (says("qos") || says("QOS")) return "set `qos` in the site's file to one that the account may use (`sacctmgr show assoc`)";
  if (says("time limit")) return "ask for less time (resources.time), or for another partition";
  if (says("eservation")) return "mend `reservation` in the site's file (`scontrol show reservation`)";
  if (says("feature")) return "mend resources.constraint (`sinfo -o '%N %f'` lists what nodes offer)";
  if (says("emory")) return "ask for less memory (resources.mem)";
  return "compare resources and the site's file with `scontrol show partition` and `sinfo -o '%N %c %m %G'`";
}

/// Asks Slurm about a job of each shape; --test-only submits nothing.
void ask_about_jobs(const Study& study, ToolRunner& tools, Findings& findings) {
  std::map<std::vector<std::string>, std::string> shapes;  // options -> configuration
  const bool blocks = study.experiment.in_blocks();
  const BlockTimes times{{}, find_longest_jobs(study.experiment, study.selected(), tools)};
  for (const BlockShape& shape : blocks ? block_shapes(study.experiment, study.selected(), times) : std::vector<BlockShape>()) {
    shapes.try_emplace(shape.options, study.selected().configurations[shape.configuration].id);
  }
  for (const Configuration& configuration : study.selected().configurations) {
    if (blocks) break;
    shapes.try_emplace(slurm_options(study.experiment, configuration), configuration.id);
  }
  std::size_t asked = 0;
  for (const auto& [options, configuration] : shapes) {
    if (asked++ == kMostShapesAsked) break;
    std::vector<std::string> argv = {"sbatch", "--test-only"};
    for (std::string option : options) {
      std::erase(option, '"');  // quotes of an #SBATCH line
      argv.push_back(option);
    }
    argv.insert(argv.end(), {"--wrap", "true"});
    const ToolResult result = ask(tools, argv);
    if (result.succeeded()) continue;
    const std::string words = words_of_refusal(result);
    if (parse_sbatch(result).kind == SbatchAnswer::Kind::limited) {
      find(findings, Kind::warning, fmt::format("Slurm takes no more jobs of yours now: {}", words),
           "ask again when some of them have ended; `hpcbench run` would wait");
      return;  // the answer would be the same for all
    }
    find(findings, Kind::problem, fmt::format("Slurm would refuse configuration {}: {}", configuration, words),
         advice_on_refusal(words, tools));
  }
  if (findings.empty() || findings.back().kind == Kind::fine) {
    find(findings, Kind::fine, fmt::format("Slurm would take jobs of {} shape{}", asked, asked == 1 ? "" : "s"));
  }
}

/// A trainer that was built for the CPU works on the CPU even on nodes with GPUs.
void examine_backends(const Study& study, ToolRunner& tools, Findings& findings) {
  if (!study.experiment.is_trainer() || study.experiment.site.gres_type == "none") return;
  const std::string trainer = trainer_program();
  if (!find_program(trainer)) return;  // another check reports that it is missing
  const ToolResult answer = ask(tools, {trainer, "--version"});
  if (!answer.succeeded()) {
    find(findings, Kind::problem, fmt::format("{} does not start here: {}", trainer, last_words(answer)),
         "build it with scripts/setup.sh on this cluster");
    return;
  }
  const std::vector<std::string> backends = parse_backends(answer.output);
  if (backends.empty() || std::find(backends.begin(), backends.end(), "NCCL") != backends.end()) return;
  find(findings, Kind::warning,
       fmt::format("the trainer has no NCCL and no CUDA ({}): jobs would ask for GPUs and work on the nodes' cores",
                   trim(answer.output)),
       "build it with -DHPCBENCH_CUDA=ON and a CUDA LibTorch, or say `gres_type: none` in the site's file");
}

void examine_launcher(const Study& study, Findings& findings) {
  const bool many = std::any_of(study.selected().configurations.begin(), study.selected().configurations.end(),
                                [](const Configuration& c) { return c.work->launch != Launch::once; });
  if (many && !find_program(study.experiment.launcher)) {
    find(findings, Kind::warning, fmt::format("{} is not on PATH here", study.experiment.launcher),
         "jobs start their processes with it: nodes must have it (`modules` or `setup` may bring it)");
  }
}

/// Returns the configurations of each `partition`: the experiment's, else the site's.
std::map<std::optional<std::string>, Plan> plans_by_partition(const Study& study) {
  std::map<std::optional<std::string>, std::vector<std::size_t>> indices;
  const std::vector<Configuration>& all = study.selected().configurations;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::optional<std::string>& own = all[i].work->partition;
    indices[own ? own : study.experiment.site.partition].push_back(i);
  }
  std::map<std::optional<std::string>, Plan> plans;
  for (const auto& [partition, kept] : indices) plans.emplace(partition, keep_configurations(study.selected(), kept));
  return plans;
}

void examine_partitions(const Study& study, const std::vector<SlurmPartition>& there, ToolRunner& tools, Findings& findings) {
  const std::string type = study.experiment.site.gres_type.value_or("");
  for (const auto& [said, plan] : plans_by_partition(study)) {
    const std::string whose = plan.configurations.front().work->partition ? "the experiment's file" : "the site's file";
    for (const SlurmPartition& partition : chosen_partitions(said, whose, there, findings)) {
      examine_partition(partition, plan, findings);
      const ToolResult nodes = ask(tools, {"sinfo", "-h", "-N", "-p", partition.name, "-o", "%n|%T|%c|%G"});
      const std::vector<SlurmNode> known = parse_nodes(nodes.output, type == "none" ? "" : type);
      if (known.empty()) continue;
      examine_nodes(partition.name, known, type, plan, findings);
      examine_sharing(known, study, findings);
    }
  }
}

}  // namespace

void examine_slurm(const Study& study, ToolRunner& tools, Findings& findings) {
  if (!examine_tools(findings)) return;
  const ToolResult answer = ask(tools, {"scontrol", "-o", "show", "partition"});
  if (!answer.succeeded()) {
    find_silent_controller(answer, findings);
    return;
  }
  const std::size_t before = findings.size();
  examine_partitions(study, parse_partitions(answer.output), tools, findings);
  const bool known_problem = std::any_of(findings.begin() + static_cast<std::ptrdiff_t>(before), findings.end(),
                                         [](const Finding& finding) { return finding.kind == Kind::problem; });
  if (!known_problem) ask_about_jobs(study, tools, findings);  // otherwise it would repeat the problem in fewer words
  examine_backends(study, tools, findings);
  examine_launcher(study, findings);
  examine_pyxis(study, tools, findings);
}

}  // namespace hpcbench

#include "spec/srun_options.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "spec/fields.hpp"
#include "spec/placeholders.hpp"
#include "spec/sbatch_options.hpp"

namespace hpcbench {

namespace {

constexpr const char* kSrunWrites = "hpcbench writes it itself";
constexpr const char* kSrunShape = "it changes how many processes, cores or gpus a run has, and tables would not know";
constexpr const char* kSrunJob = "it is said of the job, and srun starts a step of a job that is there";
constexpr const char* kSrunRanks = "hpcbench relies on one step in which each rank reports its end";
constexpr const char* kSrunOutput = "hpcbench says where output goes, and reads what srun says itself";
constexpr const char* kSrunContainer = "it changes what the processes see";

constexpr const char* kSayNodes = "say it as an axis: matrix: {nodes: [1, 2]}";
constexpr const char* kSayGpus =
    "say it as an axis: matrix: {gpus_per_node: [1, 2]}; `--gpu-bind` says which process sees which gpu";
constexpr const char* kSayTasks = "it follows from `launch` and the axes nodes and gpus_per_node";
constexpr const char* kSayCpus = "say it as `resources: {cpus_per_task: 8}`";
constexpr const char* kSayTime = "say it as `resources: {time: \"02:00:00\"}`";
constexpr const char* kSayJob = "give it to sbatch: `resources: {extra: [...]}`, or by its key in the site's file";
constexpr const char* kSayEnvironment = "say it as `environment: {NAME: value}`";
constexpr const char* kSayContainer = "say it as `container: {image: IMAGE, runtime: pyxis}`";
constexpr const char* kSayOutput = "remove it: each attempt's folder has its stdout.log and stderr.log";
constexpr const char* kRemoveIt = "remove it";

constexpr std::array kSrunOptions = {
    OwnOption{"account", 'A', kSrunJob, "say it in the site's file: `account: NAME`"},
    OwnOption{"async", 0, kSrunRanks, kRemoveIt},
    OwnOption{"begin", 0, kSrunJob, kSayJob},
    OwnOption{"chdir", 'D', kSrunWrites, "say it as `workdir: FOLDER`"},
    OwnOption{"clusters", 'M', kSrunJob, "remove it, and run hpcbench on the cluster that is meant"},
    OwnOption{"constraint", 'C', kSrunJob, "say it as `resources: {constraint: NAME}`"},
    OwnOption{"container", 0, kSrunContainer, kSayContainer},
    OwnOption{"container-id", 0, kSrunContainer, kSayContainer},
    OwnOption{"container-image", 0, kSrunContainer, kSayContainer},
    OwnOption{"container-mounts", 0, kSrunContainer, kSayContainer},
    OwnOption{"container-name", 0, kSrunContainer, kSayContainer},
    OwnOption{"container-workdir", 0, kSrunContainer, kSayContainer},
    OwnOption{"cpus-per-gpu", 0, kSrunShape, kSayCpus},
    OwnOption{"cpus-per-task", 'c', kSrunWrites, kSayCpus},
    OwnOption{"dependency", 'd', kSrunJob, kSayJob},
    OwnOption{"disable-status", 'X', kSrunRanks, kRemoveIt},
    OwnOption{"error", 'e', kSrunOutput, kSayOutput},
    OwnOption{"exclude", 'x', kSrunJob, kSayJob},
    OwnOption{"exclusive", 0, kSrunShape, "say it as `resources: {exclusive: true}`"},
    OwnOption{"export", 0, kSrunWrites, kSayEnvironment},
    OwnOption{"export-file", 0, kSrunWrites, kSayEnvironment},
    OwnOption{"gid", 0, kSrunJob, kRemoveIt},
    OwnOption{"gpus", 'G', kSrunShape, kSayGpus},
    OwnOption{"gpus-per-node", 0, kSrunShape, kSayGpus},
    OwnOption{"gpus-per-socket", 0, kSrunShape, kSayGpus},
    OwnOption{"gpus-per-task", 0, kSrunShape, kSayGpus},
    OwnOption{"gres", 0, kSrunShape, "say it as `resources: {gres: \"gpu:a100:4\"}`, or as `gres_type: a100` of a site"},
    OwnOption{"help", 'h', kSrunRanks, kRemoveIt},
    OwnOption{"het-group", 0, kSrunRanks, kRemoveIt},
    OwnOption{"input", 'i', kSrunOutput, "remove it: processes read /dev/null"},
    OwnOption{"jobid", 0, kSrunJob, kRemoveIt},
    OwnOption{"job-name", 'J', kSrunJob, "remove it: `experiment` names the study, and its jobs after it"},
    OwnOption{"kill-on-bad-exit", 'K', kSrunWrites, "remove it: a rank that fails ends the others"},
    OwnOption{"label", 'l', kSrunOutput, kSayOutput},
    OwnOption{"multi-prog", 0, kSrunRanks, "remove it: `command` is the same for all ranks, which know their RANK"},
    OwnOption{"no-allocate", 'Z', kSrunJob, kRemoveIt},
    OwnOption{"no-kill", 'k', "a run that loses a node would go on with less than was asked for", kRemoveIt},
    OwnOption{"nodefile", 'F', kSrunShape, kSayNodes},
    OwnOption{"nodelist", 'w', kSrunJob, kSayJob},
    OwnOption{"nodes", 'N', kSrunWrites, kSayNodes},
    OwnOption{"ntasks", 'n', kSrunWrites, kSayTasks},
    OwnOption{"ntasks-per-core", 0, kSrunShape, kSayTasks},
    OwnOption{"ntasks-per-gpu", 0, kSrunShape, kSayTasks},
    OwnOption{"ntasks-per-node", 0, kSrunWrites, kSayTasks},
    OwnOption{"ntasks-per-socket", 0, kSrunShape, kSayTasks},
    OwnOption{"open-mode", 0, kSrunOutput, kSayOutput},
    OwnOption{"output", 'o', kSrunOutput, kSayOutput},
    OwnOption{"partition", 'p', kSrunJob, "say it in the site's file: `partition: NAME`"},
    OwnOption{"preserve-env", 'E', kSrunShape, kRemoveIt},
    OwnOption{"pty", 0, kSrunOutput, kRemoveIt},
    OwnOption{"qos", 'q', kSrunJob, "say it in the site's file: `qos: NAME`"},
    OwnOption{"quiet", 'Q', kSrunOutput, kRemoveIt},
    OwnOption{"relative", 'r', kSrunShape, kSayNodes},
    OwnOption{"reservation", 0, kSrunJob, "say it in the site's file: `reservation: NAME`"},
    OwnOption{"test-only", 0, kSrunRanks, "remove it: `hpcbench doctor FILE` asks Slurm and submits nothing"},
    OwnOption{"time", 't', kSrunJob, kSayTime},
    OwnOption{"time-min", 0, kSrunJob, kSayTime},
    OwnOption{"tres-per-task", 0, kSrunShape, kSayGpus},
    OwnOption{"uid", 0, kSrunJob, kRemoveIt},
    OwnOption{"usage", 0, kSrunRanks, kRemoveIt},
    OwnOption{"version", 'V', kSrunRanks, kRemoveIt},
    OwnOption{"wait", 'W', kSrunRanks, "remove it: hpcbench waits until all ranks have ended"},
};

/// Which options there are is checked here, so it cannot depend on a point.
void refuse_named_by_placeholder(const YamlNode& item, const std::string& option, Diagnostics& diagnostics) {
  const std::size_t name = option.find('=');
  for (const Placeholder& placeholder : find_placeholders(option)) {
    if (placeholder.offset > name || placeholder.spread) continue;  // {{*name}} is plain text, or refused where names are known
    diagnostics.add(location_of_placeholder(item, option, placeholder),
                    fmt::format("{{{{{}}}}} cannot be part of an option's name in `srun`", placeholder.name),
                    "write the option's long form, and the placeholder behind `=`: \"--cpu-bind={{bind}}\"");
  }
}

}  // namespace

void check_srun_options(const YamlNode& node, const std::vector<std::string>& options, Diagnostics& diagnostics) {
  static const OptionRules kRules = {
      .tool = "srun", .example = "--cpu-bind=cores", .letters_without_value = "EHkKlOQsuvVXZh", .own = kSrunOptions};
  check_tool_options(kRules, node, options, "srun", diagnostics);
  for (std::size_t i = 0; i < options.size(); ++i) refuse_named_by_placeholder(node.items[i], options[i], diagnostics);
}

}  // namespace hpcbench

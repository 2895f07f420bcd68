#include "spec/srun_options.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "spec/fields.hpp"
#include "spec/placeholders.hpp"
#include "spec/sbatch_options.hpp"
#include "spec/slurm_words.hpp"

namespace hpcbench {

namespace {

using namespace slurm_words;

constexpr const char* kSrunJob = "it is said of the job, and srun starts a step of a job that is there";
constexpr const char* kSrunRanks = "hpcbench relies on one step in which each rank reports its end";
constexpr const char* kSrunOutput = "hpcbench says where output goes, and reads what srun says itself";
constexpr const char* kSrunContainer = "it changes what the processes see";

constexpr const char* kSayGpus =
    "say it as an axis: matrix: {gpus_per_node: [1, 2]}; `--gpu-bind` says which process sees which gpu";
constexpr const char* kSayJob = "give it to sbatch: `resources: {extra: [...]}`, or by its key in the site's file";
constexpr const char* kSayEnvironment = "say it as `environment: {NAME: value}`";
constexpr const char* kSayContainer = "say it as `container: {image: IMAGE, runtime: pyxis}`";

constexpr std::array kSrunOptions = {
    OwnOption{"account", 'A', kSrunJob, kAccount},
    OwnOption{"async", 0, kSrunRanks, kRemove},
    OwnOption{"begin", 0, kSrunJob, kSayJob},
    OwnOption{"chdir", 'D', kWritten, kWorkdir},
    OwnOption{"clusters", 'M', kSrunJob, kCluster},
    OwnOption{"constraint", 'C', kSrunJob, kConstraint},
    OwnOption{"container", 0, kSrunContainer, kSayContainer},
    OwnOption{"container-id", 0, kSrunContainer, kSayContainer},
    OwnOption{"container-image", 0, kSrunContainer, kSayContainer},
    OwnOption{"container-mounts", 0, kSrunContainer, kSayContainer},
    OwnOption{"container-name", 0, kSrunContainer, kSayContainer},
    OwnOption{"container-workdir", 0, kSrunContainer, kSayContainer},
    OwnOption{"cpus-per-gpu", 0, kShape, kCpus},
    OwnOption{"cpus-per-task", 'c', kWritten, kCpus},
    OwnOption{"dependency", 'd', kSrunJob, kSayJob},
    OwnOption{"disable-status", 'X', kSrunRanks, kRemove},
    OwnOption{"error", 'e', kSrunOutput, kOutput},
    OwnOption{"exclude", 'x', kSrunJob, kSayJob},
    OwnOption{"exclusive", 0, kShape, kExclusive},
    OwnOption{"export", 0, kWritten, kSayEnvironment},
    OwnOption{"export-file", 0, kWritten, kSayEnvironment},
    OwnOption{"gid", 0, kSrunJob, kRemove},
    OwnOption{"gpus", 'G', kShape, kSayGpus},
    OwnOption{"gpus-per-node", 0, kShape, kSayGpus},
    OwnOption{"gpus-per-socket", 0, kShape, kSayGpus},
    OwnOption{"gpus-per-task", 0, kShape, kSayGpus},
    OwnOption{"gres", 0, kShape, kGres},
    OwnOption{"help", 'h', kSrunRanks, kRemove},
    OwnOption{"het-group", 0, kSrunRanks, kRemove},
    OwnOption{"input", 'i', kSrunOutput, "remove it: processes read /dev/null"},
    OwnOption{"jobid", 0, kSrunJob, kRemove},
    OwnOption{"job-name", 'J', kSrunJob, kJobName},
    OwnOption{"kill-on-bad-exit", 'K', kWritten, "remove it: a rank that fails ends the others"},
    OwnOption{"label", 'l', kSrunOutput, kOutput},
    OwnOption{"multi-prog", 0, kSrunRanks, "remove it: `command` is the same for all ranks, which know their RANK"},
    OwnOption{"no-allocate", 'Z', kSrunJob, kRemove},
    OwnOption{"no-kill", 'k', kLosesNode, kRemove},
    OwnOption{"nodefile", 'F', kShape, kNodes},
    OwnOption{"nodelist", 'w', kSrunJob, kSayJob},
    OwnOption{"nodes", 'N', kWritten, kNodes},
    OwnOption{"ntasks", 'n', kWritten, kTasks},
    OwnOption{"ntasks-per-core", 0, kShape, kTasks},
    OwnOption{"ntasks-per-gpu", 0, kShape, kTasks},
    OwnOption{"ntasks-per-node", 0, kWritten, kTasks},
    OwnOption{"ntasks-per-socket", 0, kShape, kTasks},
    OwnOption{"open-mode", 0, kSrunOutput, kOutput},
    OwnOption{"output", 'o', kSrunOutput, kOutput},
    OwnOption{"partition", 'p', kSrunJob, kPartition},
    OwnOption{"preserve-env", 'E', kShape, kRemove},
    OwnOption{"pty", 0, kSrunOutput, kRemove},
    OwnOption{"qos", 'q', kSrunJob, kQos},
    OwnOption{"quiet", 'Q', kSrunOutput, kRemove},
    OwnOption{"relative", 'r', kShape, kNodes},
    OwnOption{"reservation", 0, kSrunJob, kReservation},
    OwnOption{"test-only", 0, kSrunRanks, kDoctor},
    OwnOption{"time", 't', kSrunJob, kTime},
    OwnOption{"time-min", 0, kSrunJob, kTime},
    OwnOption{"tres-per-task", 0, kShape, kSayGpus},
    OwnOption{"uid", 0, kSrunJob, kRemove},
    OwnOption{"usage", 0, kSrunRanks, kRemove},
    OwnOption{"version", 'V', kSrunRanks, kRemove},
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

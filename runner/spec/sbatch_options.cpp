#include "spec/sbatch_options.hpp"

#include <array>
#include <string>
#include <vector>

#include "spec/tool_options.hpp"

namespace hpcbench {

namespace {

constexpr const char* kWritten = "hpcbench writes it itself";
constexpr const char* kShape = "it changes how many processes, cores or gpus a run has, and tables would not know";
constexpr const char* kKnownBy = "hpcbench finds its jobs by it";
constexpr const char* kAnswer = "hpcbench reads what sbatch answers";
constexpr const char* kOnce = "a job that Slurm starts again is not the attempt that was submitted";
constexpr const char* kScript = "it changes what the job's script is or where it runs";

constexpr const char* kNodes = "say it as an axis: matrix: {nodes: [1, 2]}";
constexpr const char* kGpus =
    "say it as an axis: matrix: {gpus_per_node: [1, 2]}; `gres_type` of a site says which kind of gpu";
constexpr const char* kTasks = "it follows from `launch` and the axes nodes and gpus_per_node";
constexpr const char* kCpus = "say it as `resources: {cpus_per_task: 8}`";
constexpr const char* kTime = "say it as `resources: {time: \"02:00:00\"}`";
constexpr const char* kRetries = "remove it: `retries` says what is started again, as a new attempt";
constexpr const char* kOutput = "remove it: each attempt's folder has its stdout.log and stderr.log";
constexpr const char* kRemove = "remove it";

constexpr std::array kSbatchOptions = {
    OwnOption{"account", 'A', kWritten, "say it in the site's file: `account: NAME`"},
    OwnOption{"array", 'a', kKnownBy,
              "remove it: runs become one array by themselves; `limits: {max_running: N}` of a site limits it"},
    OwnOption{"chdir", 'D', kScript, "say it as `workdir: FOLDER`"},
    OwnOption{"clusters", 'M', kAnswer, "remove it, and run hpcbench on the cluster that is meant"},
    OwnOption{"constraint", 'C', kWritten, "say it as `resources: {constraint: NAME}`"},
    OwnOption{"container", 0, kScript, "say it as `container: IMAGE`"},
    OwnOption{"container-id", 0, kScript, "say it as `container: IMAGE`"},
    OwnOption{"cpus-per-gpu", 0, kShape, kCpus},
    OwnOption{"cpus-per-task", 'c', kWritten, kCpus},
    OwnOption{"error", 'e', "hpcbench says where output goes", kOutput},
    OwnOption{"exclusive", 0, kWritten, "say it as `resources: {exclusive: true}`"},
    OwnOption{"gid", 0, kKnownBy, kRemove},
    OwnOption{"gpus", 'G', kShape, kGpus},
    OwnOption{"gpus-per-node", 0, kWritten, kGpus},
    OwnOption{"gpus-per-socket", 0, kShape, kGpus},
    OwnOption{"gpus-per-task", 0, kShape, kGpus},
    OwnOption{"gres", 0, kWritten, "say it as `resources: {gres: \"gpu:a100:4\"}`, or as `gres_type: a100` of a site"},
    OwnOption{"help", 'h', kAnswer, kRemove},
    OwnOption{"job-name", 'J', kKnownBy, "remove it: `experiment` names the study, and its jobs after it"},
    OwnOption{"mem", 0, kWritten, "say it as `resources: {mem: 32G}`"},
    OwnOption{"no-kill", 'k', "a run that loses a node would go on with less than was asked for", kRetries},
    OwnOption{"no-requeue", 0, kWritten, "remove it: jobs never go back into the queue"},
    OwnOption{"nodes", 'N', kWritten, kNodes},
    OwnOption{"ntasks", 'n', kShape, kTasks},
    OwnOption{"ntasks-per-gpu", 0, kShape, kTasks},
    OwnOption{"ntasks-per-node", 0, kWritten, kTasks},
    OwnOption{"open-mode", 0, kWritten, kOutput},
    OwnOption{"output", 'o', kWritten, kOutput},
    OwnOption{"parsable", 0, kWritten, kRemove},
    OwnOption{"partition", 'p', kWritten, "say it in the site's file: `partition: NAME`"},
    OwnOption{"qos", 'q', kWritten, "say it in the site's file: `qos: NAME`"},
    OwnOption{"quiet", 'Q', kAnswer, kRemove},
    OwnOption{"requeue", 0, kOnce, kRetries},
    OwnOption{"reservation", 0, kWritten, "say it in the site's file: `reservation: NAME`"},
    OwnOption{"signal", 0, kWritten, "remove it: with `resources.time` the job hears of its limit before it is reached"},
    OwnOption{"test-only", 0, kAnswer, "remove it: `hpcbench doctor FILE` asks Slurm and submits nothing"},
    OwnOption{"time", 't', kWritten, kTime},
    OwnOption{"time-min", 0, kShape, kTime},
    OwnOption{"tres-per-task", 0, kShape, kGpus},
    OwnOption{"uid", 0, kKnownBy, kRemove},
    OwnOption{"usage", 0, kAnswer, kRemove},
    OwnOption{"version", 'V', kAnswer, kRemove},
    OwnOption{"wait", 'W', kAnswer, "remove it: `hpcbench run` waits"},
    OwnOption{"wrap", 0, kScript, "say it as `command` with `shell: true`"},
};

}  // namespace

void check_sbatch_options(const YamlNode& node, const std::vector<std::string>& options, const std::string& what,
                          Diagnostics& diagnostics) {
  static const OptionRules kRules = {
      .tool = "sbatch", .example = "--mail-type=END", .letters_without_value = "hHIkOQsuvVW", .own = kSbatchOptions};
  check_tool_options(kRules, node, options, what, diagnostics);
}

}  // namespace hpcbench

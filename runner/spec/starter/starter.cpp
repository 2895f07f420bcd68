#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "spec/read_experiment.hpp"
#include "spec/starter/command_starter.hpp"

namespace hpcbench {

namespace {

constexpr const char* kHead = R"yaml(# {question} Every key is described in docs/experiment-file.md.
#   hpcbench check FILE     is it right?            hpcbench plan FILE     what would run?
#   hpcbench run FILE       run what is missing     hpcbench report FILE   the table
experiment: {name:<23} # results go to results/{name}
)yaml";

constexpr const char* kWorkers = R"yaml(description: Does a second worker halve the time?

# Any program, as a list of arguments; {{name}} is filled in, and an argument stays one argument. Put quotes around it.
command: [bash, -c, 'seq "$1" | xargs -P "$2" -I{} sleep 0.05', worker, "{{items}}", "{{workers}}"]
launch: once                       # processes of a run: rank = one per gpu (default), node = one per node, once = one

matrix:                            # every combination of these is one configuration
  workers: [1, 2]
  items: [4, 8]
# nodes: [1, 2]                    # how many nodes and gpus a run has are axes, too; 1 where they are not named
# gpus_per_node: [1, 2]
# zip: [{precision: [fp32, bf16], lr: [5e-5, 3e-5]}]       # these vary together
# exclude: [{workers: 2, items: 4}]                        # combinations that are left out
# include: [{workers: 4, items: 8}]                        # further points, every axis named
# parameters: {data: data/small}                           # the same for all: {{data}}

)yaml";

constexpr const char* kSchedule =
    R"yaml(repeats: 6                         # fewer than 6 cannot carry a 95 % interval of a median
# warmups: 1                       # runs before the first repeat that never count
# order: sequential                # default: interleaved, so that slow hours hit all configurations alike
)yaml";

constexpr const char* kMetrics =
    R"yaml(# metrics:                         # numbers that the program prints: group 1 of the pattern
#   - {name: epoch_s, file: stdout.log, pattern: 'Time: +([0-9.]+)', unit: s}
# success: {exit_code: 0, pattern: "Training finished"}
)yaml";

constexpr const char* kStrategies = R"yaml(
matrix:                            # every combination of these is one configuration
  strategy: [baseline, ddp]
  gpus_per_node: [1, 2]
exclude:
  - {strategy: baseline, gpus_per_node: 2}                 # one process is one process

parameters:                        # the same for all
)yaml";

constexpr const char* kMnist = R"yaml(description: an LSTM on MNIST, one process against ddp

trainer: mnist_rnn                 # docs/trainer.md has its settings: they are parameters or axes
)yaml";

constexpr const char* kMnistParameters =
    R"yaml(  data: data/mnist                 # the folder with the IDX files, plain or gzipped
  epochs: 2
  global_batch: 256                # the same work in every row, however many ranks share it

)yaml";

constexpr const char* kBert = R"yaml(description: BERT on SQuAD, one process against ddp

trainer: bert_squad                # docs/bert-squad.md has its settings: they are parameters or axes
)yaml";

constexpr const char* kBertParameters =
    R"yaml(  data: data/squad2-excerpt.json   # a folder with train-v*.json and dev-v*.json, or one file of that layout
  model: tiny                      # random weights; or a folder of Hugging Face's, as data/bert-base-uncased
  train_share: 0.9                 # of one file: the first 90 % of the questions train, the others validate
  max_train_examples: 320
  epochs: 3
  global_batch: 16
  lr: 1.0e-3
  max_length: 128
  doc_stride: 32

)yaml";

constexpr const char* kImport = R"yaml(description: numbers of runs that hpcbench did not start

# Nothing is started: there is no `command`. `hpcbench report FILE` takes in what `import` names (docs/sources.md).
matrix:                            # what tells the runs apart: columns of the tables below, or their `run`
  strategy: [baseline, ddp]
  gpus_per_node: [1, 2]
exclude:
  - {strategy: baseline, gpus_per_node: 2}

import:                            # paths are relative to this file
  - table: runs.csv                # one line a run: strategy,gpus_per_node,train_s,eval/loss
    values: {val_loss: "eval/loss"}                        # metric: the heading of its column, where that is no plain name
#   unit: min                      # of the times in it
# - {files: [old/ddp.out], run: {strategy: ddp, gpus_per_node: 2}}          # these files are one run; metrics read them
# - {run: {strategy: ddp, gpus_per_node: 2}, values: {train_s: 63 min 48 s}, note: table 2}

)yaml";

std::string yaml_list(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(json_quote(word));
  return "[" + join(quoted, ", ") + "]";
}

/// The text, which fails where a program before a `|` fails: bash takes the last one's exit code otherwise.
std::string with_pipefail(const std::string& text) {
  static const RE2 kPipe(R"((^|[^|\\])\|([^|]|$))");
  return RE2::PartialMatch(text, kPipe) && text.find("pipefail") == std::string::npos ? "set -o pipefail; " + text : text;
}

/// A list of arguments, or text for a shell, which keeps all but the numbers of its launcher.
std::string command_keys(const StarterCommand& command) {
  const std::string_view names = "{{name}} is filled in: an axis, a parameter, nodes, gpus_per_node, gpus, repeat, seed";
  if (!command.shell)
    return fmt::format("\n# An argument stays one argument; {}.\ncommand: {}\n", names, yaml_list(command.words));
  return fmt::format(
      "\n# {}, and quoted for the shell.\ncommand: {}\nshell: true                        # `bash -c` reads it\n", names,
      json_quote(with_pipefail(command.words.front())));
}

std::string command_part(const StarterCommand& command) {
  std::string text = command_keys(command) + fmt::format("{:<34} # {}\n", "launch: " + command.launch, command.why);
  text += "\nmatrix:                            # every combination of these is one configuration\n";
  for (const StarterAxis& axis : command.axes) {
    const std::string said = fmt::format("  {}: [{}]", axis.name, join(axis.values, ", "));
    text += axis.about.empty() ? said + '\n' : fmt::format("{:<34} # {}\n", said, axis.about);
  }
  return text + "# parameters: {data: data/small}   # the same for all: {{data}}\n\n";
}

/// Sizes are counted in cores where threads vary.
std::string report_of(const StarterCommand& command) {
  const bool by_gpus = std::any_of(command.axes.begin(), command.axes.end(),
                                   [](const StarterAxis& axis) { return axis.name == "gpus_per_node"; });
  const bool by_cores =
      !by_gpus && !command.threads.empty() && command.cpus_per_task.find(command.threads) != std::string::npos;
  return fmt::format("report: {{metric: wall_s, time_unit: s{}}}\n", by_cores ? ", scale_by: cores" : "");
}

/// The first values of the axes that say how large a run is, and of `strategy`, which baselines do not share with other points;
/// else of the first axis.
std::string baseline_of(const StarterCommand& command) {
  std::vector<std::string> chosen;
  for (const StarterAxis& axis : command.axes) {
    const bool is_size = axis.name == "nodes" || axis.name == "gpus_per_node" || axis.name == "ranks_per_node" ||
                         axis.name == "strategy" || axis.name == command.threads;
    if (is_size && axis.values.size() > 1) chosen.push_back(fmt::format("{}: {}", axis.name, axis.values.front()));
  }
  if (chosen.empty()) chosen.push_back(fmt::format("{}: {}", command.axes.front().name, command.axes.front().values.front()));
  return fmt::format("{:<34} # what speedup is relative to\n", fmt::format("baseline: {{{}}}", join(chosen, ", ")));
}

std::string filled_head(const std::string& question, const std::string& name) {
  return fmt::format(fmt::runtime(kHead), fmt::arg("question", question), fmt::arg("name", name));
}

std::string trainer_part(const std::string& trainer) {
  const bool bert = trainer == "bert_squad";
  return std::string(bert ? kBert : kMnist) + kStrategies + (bert ? kBertParameters : kMnistParameters);
}

}  // namespace

std::string starter_experiment(const StarterOptions& options) {
  const std::string work = "A study of how a program's time depends on what it is given.";
  const std::string profile =
      "\nprofiles:                          # chosen with --profile NAME; single values with --set repeats=3\n";
  if (options.import) {
    return filled_head("A table of results that exist already.", options.name) + kImport +
           "baseline: {strategy: baseline}     # what speedup is relative to\nreport: {metric: train_s, time_unit: s}\n";
  }
  if (options.trainer) {
    return filled_head(work, options.name) + trainer_part(*options.trainer) + kSchedule +
           "resources: {time: 30m}             # a run that takes longer is ended, and its outcome is timeout\n\n"
           "baseline: {strategy: baseline}     # what speedup is relative to\nreport: {metric: train_s, time_unit: s}\n" +
           profile + "  quick: {parameters: {epochs: 1}, repeats: 3}\n";
  }
  if (!options.command.empty()) {
    const StarterCommand command = starter_command(options);
    const std::string cpus = command.cpus_per_task.empty() ? "" : ", cpus_per_task: " + command.cpus_per_task;
    return filled_head(work, options.name) + command_part(command) + kSchedule +
           fmt::format("{:<34} # a run that takes longer is ended, and its outcome is timeout\n\n",
                       fmt::format("resources: {{time: 30m{}}}", cpus)) +
           baseline_of(command) + report_of(command) + kMetrics + profile + "  quick: {repeats: 3}\n";
  }
  return filled_head(work, options.name) + kWorkers + kSchedule +
         "resources: {time: 1m}              # a run that takes longer is ended, and its outcome is timeout\n\n"
         "baseline: {workers: 1}             # what speedup is relative to\nreport: {metric: wall_s, time_unit: s}\n" +
         kMetrics + profile + "  laptop: {matrix: {items: [4]}, repeats: 3}\n";
}

}  // namespace hpcbench

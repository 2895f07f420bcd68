#include "spec/keys/keys.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor_kind.hpp"

namespace hpcbench {

namespace {

constexpr long long kMostRepeats = 100'000;

// What an experiment and its overrides both have.

KeyRow command_row(const char* about) { return {.name = "command", .kind = KeyKind::line_or_texts, .about = about}; }
KeyRow launch_row() {
  return {.name = "launch",
          .kind = KeyKind::choice,
          .about = "processes of a run: one per gpu, one per node (torchrun ...), or one in all (mpirun ...)",
          .initial = "rank",
          .words = {"rank", "node", "once"}};
}
KeyRow parameters_row() {
  return {.name = "parameters", .kind = KeyKind::values, .about = "map of name: value, the same for all points"};
}
KeyRow resources_row(const char* about) {
  return {.name = "resources", .kind = KeyKind::map, .about = about, .section = resources_keys};
}
KeyRow partition_row(const char* initial) {
  return {.name = "partition", .kind = KeyKind::filled_text, .about = "Slurm's partition", .initial = initial};
}
/// The executors, after these words.
std::vector<std::string> executors_or(std::vector<std::string> words) {
  for (const ExecutorKind& kind : executor_kinds()) words.emplace_back(kind.name);
  return words;
}
KeyRow modules_row() {
  return {.name = "modules", .kind = KeyKind::texts_or_none, .about = "list of environment modules, loaded before `setup`"};
}
KeyRow setup_row() {
  return {.name = "setup",
          .kind = KeyKind::texts_or_none,
          .about = "list of shell lines that run once before each run's program, on the job's first node"};
}
KeyRow environment_row() {
  return {.name = "environment", .kind = KeyKind::texts_by_name, .about = "map of variables: {NCCL_DEBUG: INFO}"};
}
KeyRow srun_row() {
  return {.name = "srun", .kind = KeyKind::texts_or_none, .about = "list of further options of srun: [--cpu-bind=cores]"};
}
KeyRow container_row() {
  return {.name = "container",
          .kind = KeyKind::map_or_text,
          .about = "an image for apptainer, or a map",
          .section = container_keys};
}
KeyRow files_row() {
  return {.name = "files",
          .kind = KeyKind::maps_or_none,
          .about = "input decks, written into each attempt's folder with their placeholders filled in",
          .section = deck_keys};
}
/// Retired: refused with advice (retired_keys.hpp).
KeyRow inject_row() { return {.name = "inject", .kind = KeyKind::refused, .about = ""}; }
KeyRow metrics_row(const char* about) {
  return {.name = "metrics", .kind = KeyKind::maps, .about = about, .section = metric_keys};
}
KeyRow success_row() {
  return {.name = "success",
          .kind = KeyKind::map,
          .about = "what a run must do to count as succeeded",
          .initial = "{exit_code: 0}",
          .section = success_keys};
}

}  // namespace

const KeyRow* KeySection::find(std::string_view key) const {
  const auto row = std::find_if(keys.begin(), keys.end(), [&](const KeyRow& each) { return each.name == key; });
  return row == keys.end() ? nullptr : &*row;
}

const KeySection& experiment_keys() {
  static const KeySection kSection = {
      "experiment",
      {{.name = "experiment",
        .kind = KeyKind::plain_name,
        .about = "name of the study and of its folder in results/",
        .required = true},
       {.name = "description", .kind = KeyKind::text, .about = "a text for reports"},
       {.name = "use", .kind = KeyKind::text_or_texts, .about = "files with parts that several experiments share"},
       {.name = "trainer",
        .kind = KeyKind::choice,
        .about = "a task of the built-in trainer",
        .words = {"mnist_rnn", "bert_squad"}},
       command_row("any program, as a list of arguments; with shell: true one text for bash -c"),
       {.name = "shell", .kind = KeyKind::flag, .about = "whether a shell reads `command`", .initial = "false"},
       launch_row(),
       {.name = "matrix",
        .kind = KeyKind::axes,
        .about = "map of axis: list of values, or {from: 1, to: 64, times: 2}; every combination is a point"},
       {.name = "zip", .kind = KeyKind::zipped_axes, .about = "list of maps; the axes of one map vary together"},
       {.name = "exclude", .kind = KeyKind::conditions, .about = "points that match one of these conditions are left out"},
       {.name = "include", .kind = KeyKind::points, .about = "list of further points, each naming every axis"},
       parameters_row(),
       {.name = "derive", .kind = KeyKind::texts_by_name, .about = "map of name: expression, computed for each point"},
       {.name = "require", .kind = KeyKind::texts, .about = "expressions that must hold at every point"},
       {.name = "overrides",
        .kind = KeyKind::maps,
        .about = "list of what is different for some points",
        .section = override_keys},
       {.name = "repeats",
        .kind = KeyKind::integer_or_map,
        .about = "runs of each configuration that count; fewer than 6 carry no 95 % interval of a median; {until: 3 %}: as "
                 "many as it takes",
        .initial = "6",
        .least = 1,
        .most = kMostRepeats,
        .section = repeats_keys},
       {.name = "budget",
        .kind = KeyKind::map,
        .about = "no block is begun that would make the study cost more",
        .section = budget_keys},
       {.name = "warmups",
        .kind = KeyKind::integer,
        .about = "runs before the first repeat that never count",
        .initial = "0",
        .least = 0,
        .most = kMostRepeats},
       {.name = "seed",
        .kind = KeyKind::map,
        .about = "the seed of each run",
        .initial = "{policy: per_repeat, value: 1}",
        .section = seed_keys},
       {.name = "executor",
        .kind = KeyKind::choice,
        .about = "what runs it; auto: slurm where the site says so, else local",
        .initial = "auto",
        .words = executors_or({"auto"})},
       {.name = "order",
        .kind = KeyKind::choice,
        .about = "interleaved: repeat 1 of all configurations in random order, then repeat 2 ...",
        .initial = "interleaved",
        .words = {"interleaved", "sequential"}},
       {.name = "allocation",
        .kind = KeyKind::map,
        .about = "what Slurm is asked for one job of: a run, or a block (one repeat of all configurations)",
        .initial = "{per: run}",
        .section = allocation_keys},
       resources_row("what a run asks for"),
       partition_row("the site's"),
       modules_row(),
       setup_row(),
       environment_row(),
       srun_row(),
       files_row(),
       inject_row(),
       {.name = "prepare",
        .kind = KeyKind::named_maps,
        .about = "a command that runs once before all runs, or a map of preparations (builds ...)",
        .section = preparation_keys},
       container_row(),
       {.name = "launcher",
        .kind = KeyKind::choice,
        .about = "what starts processes on several nodes",
        .initial = "srun",
        .words = {"srun", "mpirun"}},
       {.name = "workdir",
        .kind = KeyKind::filled_text,
        .about = "folder in which processes start; attempt: each attempt's own",
        .initial = "the folder of the call"},
       metrics_row("how to measure a program that writes no events"),
       success_row(),
       {.name = "monitor",
        .kind = KeyKind::duration,
        .about = "interval between samples of the gpus and of the ranks' processor time and memory"},
       {.name = "output",
        .kind = KeyKind::choice,
        .about = "where ranks above 0 write: to files of their own, or merged into ranks.log",
        .initial = "per_rank",
        .words = {"per_rank", "merged"}},
       {.name = "retries",
        .kind = KeyKind::map,
        .about = "new attempts after such outcomes",
        .initial = "{lost: 2, node_failure: 2, preempted: 2, failed: 0}",
        .section = retries_keys},
       {.name = "continue",
        .kind = KeyKind::map,
        .about = "a run that ends so goes on in a further attempt, from what it has saved",
        .section = continue_keys},
       {.name = "baseline",
        .kind = KeyKind::point,
        .about = "a condition with single values: what speedup is relative to; without it there are no speedup columns"},
       {.name = "report", .kind = KeyKind::map, .about = "what the table shows, and how", .section = report_keys},
       {.name = "import", .kind = KeyKind::maps_or_texts, .about = "list of earlier results", .section = import_keys},
       {.name = "limits",
        .kind = KeyKind::map,
        .about = "how large the study may be",
        .initial = "{configurations: 1000000}",
        .section = limits_keys},
       {.name = "profiles", .kind = KeyKind::overlays, .about = "map of name: what is different with --profile NAME"},
       {.name = "sites", .kind = KeyKind::refused, .about = ""},
       {.name = "site", .kind = KeyKind::refused, .about = ""}}};
  return kSection;
}

const KeySection& allocation_keys() {
  static const KeySection kSection = {"allocation",
                                      {{.name = "per",
                                        .kind = KeyKind::choice,
                                        .about = "what one job of Slurm is for",
                                        .initial = "run",
                                        .words = {"run", "block"}},
                                       {.name = "shapes",
                                        .kind = KeyKind::choice,
                                        .about = "whether a block has configurations of different numbers of nodes",
                                        .initial = "separate",
                                        .words = {"separate", "mixed"}},
                                       {.name = "time",
                                        .kind = KeyKind::choice,
                                        .about = "of a block's job: all its runs' limits, or what they need by finished runs",
                                        .initial = "full",
                                        .words = {"full", "auto"}},
                                       {.name = "idle",
                                        .kind = KeyKind::percentage,
                                        .about = "of a mixed block's node time: what smaller runs may leave idle, at most",
                                        .initial = "25 %"},
                                       {.name = "side_by_side",
                                        .kind = KeyKind::integer,
                                        .about = "runs of a block that go on at a time, on cores and GPUs of their own",
                                        .initial = "1",
                                        .least = 1,
                                        .most = 256},
                                       {.name = "numa",
                                        .kind = KeyKind::choice,
                                        .about = "whether runs side by side may share a NUMA node",
                                        .initial = "separate",
                                        .words = {"separate", "shared"}},
                                       {.name = "calibrate", .kind = KeyKind::refused, .about = ""}}};
  return kSection;
}

const KeySection& override_keys() {
  static const KeySection kSection = {
      "override",
      {{.name = "when", .kind = KeyKind::condition, .about = "the points that it is for", .required = true},
       command_row("in place of the file's command or trainer"),
       launch_row(),
       parameters_row(),
       resources_row("in place of the file's, key by key"),
       partition_row(""),
       modules_row(),
       setup_row(),
       environment_row(),
       container_row(),
       files_row(),
       inject_row(),
       metrics_row("in place of the file's"),
       success_row()}};
  return kSection;
}

const KeySection& preparation_keys() {
  static const KeySection kSection = {
      "preparation",
      {{.name = "command", .kind = KeyKind::texts, .about = "list of arguments", .required = true},
       modules_row(),
       environment_row(),
       {.name = "inputs", .kind = KeyKind::texts, .about = "patterns of files: once one changes, what was made is out of date"},
       {.name = "on",
        .kind = KeyKind::choice,
        .about = "login: where `hpcbench run` is called; job: with Slurm in a job of its own",
        .initial = "login",
        .words = {"login", "job"}},
       resources_row("of that job"),
       partition_row("the site's")}};
  return kSection;
}

const KeySection& site_keys() {
  static const KeySection kSection = {
      "site",
      {{.name = "name", .kind = KeyKind::filled_text, .about = "what the machine is called", .initial = "that of the file"},
       {.name = "description", .kind = KeyKind::text, .about = "a text for people"},
       {.name = "profile", .kind = KeyKind::filled_text, .about = "the profile of files that have it, without --profile"},
       {.name = "executor", .kind = KeyKind::choice, .about = "what auto stands for", .words = executors_or({})},
       partition_row(""),
       {.name = "account", .kind = KeyKind::filled_text, .about = "Slurm's account"},
       {.name = "qos", .kind = KeyKind::filled_text, .about = "Slurm's quality of service"},
       {.name = "reservation", .kind = KeyKind::filled_text, .about = "Slurm's reservation"},
       {.name = "gres_type",
        .kind = KeyKind::filled_text,
        .about = "a100: --gres=gpu:a100:N; none: ask for no gpus; without it --gpus-per-node=N"},
       {.name = "template", .kind = KeyKind::filled_text, .about = "the template of the job script in place of ours"},
       {.name = "hpcbench", .kind = KeyKind::filled_text, .about = "the path of hpcbench on the nodes, where it is another"},
       modules_row(),
       setup_row(),
       {.name = "extra", .kind = KeyKind::texts_or_none, .about = "list of further options of sbatch"},
       environment_row(),
       srun_row(),
       {.name = "commands",
        .kind = KeyKind::map,
        .about = "the batch system of the executor commands: its commands and patterns of their output",
        .section = batch_system_keys},
       {.name = "limits", .kind = KeyKind::map, .about = "of this machine", .section = site_limits_keys}}};
  return kSection;
}

}  // namespace hpcbench

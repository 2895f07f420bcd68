#include <string>
#include <string_view>
#include <vector>

#include "base/state.hpp"
#include "spec/keys/keys.hpp"

namespace hpcbench {

namespace {

constexpr long long kMostRuns = 1000;  // of a row whose number of runs is found as it goes
constexpr long long kMostCpus = 10'000;
constexpr long long kMostRetries = 100;
constexpr long long kMostSegments = 1000;
constexpr long long kLargestSeed = 1'000'000'000'000;
constexpr long long kMostConfigurations = 100'000'000;
constexpr long long kMostRunsOfStatistic = 1'000'000;
constexpr long long kMostSkipped = 1'000'000'000;
constexpr long long kMostQueued = 1'000'000;
constexpr long long kMostExitCode = 255;

std::vector<std::string> outcome_names() {
  std::vector<std::string> words;
  for (const State state : kStates) {
    if (is_outcome(state)) words.emplace_back(to_string(state));
  }
  return words;
}

}  // namespace

const KeySection& range_keys() {
  static const KeySection kSection = {
      "range",
      {{.name = "from", .kind = KeyKind::number, .about = "the first value", .required = true},
       {.name = "to", .kind = KeyKind::number, .about = "the last value, which the range must meet", .required = true},
       {.name = "step", .kind = KeyKind::number, .about = "what each value is more than the one before; more than 0"},
       {.name = "times", .kind = KeyKind::number, .about = "what each value is as a multiple of the one before; more than 1"}}};
  return kSection;
}

const KeySection& repeats_keys() {
  static const KeySection kSection = {"repeats",
                                      {{.name = "until",
                                        .kind = KeyKind::percentage,
                                        .about = "half of the width of each row's interval, at most, in percent: 3 %",
                                        .required = true},
                                       {.name = "of",
                                        .kind = KeyKind::choice,
                                        .about = "what is to be so narrow: the report's metric, or its speedup",
                                        .initial = "metric",
                                        .words = {"metric", "speedup"}},
                                       {.name = "from",
                                        .kind = KeyKind::integer,
                                        .about = "runs of a row at the first look",
                                        .initial = "8",
                                        .least = 2,
                                        .most = kMostRuns},
                                       {.name = "to",
                                        .kind = KeyKind::integer,
                                        .about = "runs of a row at the last look",
                                        .initial = "40",
                                        .least = 2,
                                        .most = kMostRuns},
                                       {.name = "looks",
                                        .kind = KeyKind::integers,
                                        .about = "in place of from and to: the numbers of runs at which results are looked at",
                                        .initial = "8 11 15 20 27 36 40, then a third more each",
                                        .least = 2,
                                        .most = kMostRuns}}};
  return kSection;
}

const KeySection& budget_keys() {
  static const KeySection kSection = {
      "budget",
      {{.name = "gpu_hours", .kind = KeyKind::number, .about = "of all attempts of the study"},
       {.name = "node_hours", .kind = KeyKind::number, .about = "of all attempts of the study, in place of gpu_hours"}}};
  return kSection;
}

const KeySection& seed_keys() {
  static const KeySection kSection = {"seed",
                                      {{.name = "policy",
                                        .kind = KeyKind::choice,
                                        .about = "per_repeat: repeat k has the value + k; fixed: all have the value",
                                        .initial = "per_repeat",
                                        .words = {"per_repeat", "fixed"}},
                                       {.name = "value",
                                        .kind = KeyKind::integer,
                                        .about = "where seeds begin",
                                        .initial = "1",
                                        .least = 0,
                                        .most = kLargestSeed}}};
  return kSection;
}

const KeySection& retries_keys() {
  const auto row = [](std::string_view name, std::string_view about, std::string_view initial) {
    return KeyRow{.name = name, .kind = KeyKind::integer, .about = about, .initial = initial, .least = 0, .most = kMostRetries};
  };
  static const KeySection kSection = {
      "retries",
      {row("lost", "after an attempt that nobody ended", "2"), row("node_failure", "after a node failed", "2"),
       row("preempted", "after another job took its place", "2"),
       row("failed", "after the process's own exit code or signal, never a value", "0")}};
  return kSection;
}

const KeySection& continue_keys() {
  static const KeySection kSection = {"continue",
                                      {{.name = "on",
                                        .kind = KeyKind::texts,
                                        .about = "list of outcomes: timeout, preempted, node_failure, failed",
                                        .required = true},
                                       {.name = "max",
                                        .kind = KeyKind::integer,
                                        .about = "most segments of a run",
                                        .initial = "20",
                                        .least = 1,
                                        .most = kMostSegments},
                                       {.name = "warn",
                                        .kind = KeyKind::duration_or_0,
                                        .about = "how long before the time limit the program gets SIGUSR1; 0: never",
                                        .initial = "a fifth of the limit, at most 60 s"}}};
  return kSection;
}

const KeySection& limits_keys() {
  static const KeySection kSection = {"limits",
                                      {{.name = "configurations",
                                        .kind = KeyKind::integer,
                                        .about = "most points, counted before exclude",
                                        .initial = "1000000",
                                        .least = 1,
                                        .most = kMostConfigurations},
                                       {.name = "gpu_hours", .kind = KeyKind::number, .about = "above it `run` asks"},
                                       {.name = "node_hours", .kind = KeyKind::number, .about = "above it `run` asks"}}};
  return kSection;
}

const KeySection& resources_keys() {
  static const KeySection kSection = {
      "resources",
      {{.name = "time",
        .kind = KeyKind::duration,
        .about = "limit of a run: \"02:00:00\", \"1-12:00:00\", 2h, 90m, 45s, or minutes",
        .initial = "none",
        .fillable = true},
       {.name = "cpus_per_task",
        .kind = KeyKind::integer,
        .about = "cores of a process",
        .initial = "1",
        .fillable = true,
        .least = 1,
        .most = kMostCpus},
       {.name = "mem", .kind = KeyKind::filled_text, .about = "memory of a node as sbatch takes it: 32G", .fillable = true},
       {.name = "gres", .kind = KeyKind::filled_text, .about = "as sbatch takes it", .fillable = true},
       {.name = "constraint", .kind = KeyKind::filled_text, .about = "as sbatch takes it", .fillable = true},
       {.name = "exclusive", .kind = KeyKind::flag, .about = "whole nodes", .initial = "false", .fillable = true},
       {.name = "extra", .kind = KeyKind::texts_or_none, .about = "list of further options of sbatch: [--mail-type=END]"}}};
  return kSection;
}

const KeySection& success_keys() {
  static const KeySection kSection = {
      "success",
      {{.name = "exit_code",
        .kind = KeyKind::integer,
        .about = "what the program must end with",
        .initial = "0",
        .least = 0,
        .most = kMostExitCode},
       {.name = "pattern", .kind = KeyKind::filled_text, .about = "a regular expression that stdout.log must match"},
       {.name = "require", .kind = KeyKind::expressions, .about = "conditions on the run's metrics: [val_loss < 3]"}}};
  return kSection;
}

const KeySection& container_keys() {
  static const KeySection kSection = {
      "container",
      {{.name = "image", .kind = KeyKind::filled_text, .about = "as the runtime takes it", .required = true},
       {.name = "runtime",
        .kind = KeyKind::choice,
        .about = "pyxis is a plugin of srun: only on Slurm",
        .initial = "apptainer",
        .words = {"apptainer", "pyxis", "podman"}},
       {.name = "args", .kind = KeyKind::texts_or_none, .about = "list of further options of the runtime"},
       {.name = "mounts", .kind = KeyKind::texts_or_none, .about = "list of PATH, SOURCE:TARGET or SOURCE:TARGET:ro"}}};
  return kSection;
}

const KeySection& deck_keys() {
  static const KeySection kSection = {
      "deck",
      {{.name = "from", .kind = KeyKind::filled_text, .about = "a file, relative to the folder of the call", .required = true},
       {.name = "to", .kind = KeyKind::filled_text, .about = "its name in the attempt's folder", .required = true}}};
  return kSection;
}

const KeySection& metric_keys() {
  static const KeySection kSection = {
      "metric",
      {{.name = "name", .kind = KeyKind::identifier, .about = "what the metric is called", .required = true},
       {.name = "file", .kind = KeyKind::filled_text, .about = "glob of the files that it stands in"},
       {.name = "pattern", .kind = KeyKind::filled_text, .about = "a regular expression; its group is the value"},
       {.name = "column", .kind = KeyKind::filled_text, .about = "a column of a CSV file"},
       {.name = "pointer", .kind = KeyKind::filled_text, .about = "a JSON pointer: /log_history/*/loss"},
       {.name = "tag", .kind = KeyKind::filled_text, .about = "a scalar of a TensorBoard event file"},
       {.name = "time", .kind = KeyKind::filled_text, .about = "of the output of `time`: real, user, sys, max_rss"},
       {.name = "accounting", .kind = KeyKind::filled_text, .about = "a field of Slurm's accounting"},
       {.name = "formula", .kind = KeyKind::expression, .about = "an expression of other metrics"},
       {.name = "unit", .kind = KeyKind::text, .about = "of its values"},
       {.name = "better",
        .kind = KeyKind::choice,
        .about = "which values are better; of times and rates the unit tells it",
        .words = {"higher", "lower"}},
       {.name = "per",
        .kind = KeyKind::choice,
        .about = "of a rate: adds the metric NAME_per_gpu, NAME / gpus",
        .words = {"gpus"}},
       {.name = "series", .kind = KeyKind::filled_text, .about = "all values, numbered by this: epoch, step, size"},
       {.name = "index", .kind = KeyKind::filled_text, .about = "what numbers the series"},
       {.name = "context",
        .kind = KeyKind::text_or_texts,
        .about = "patterns of earlier lines, to whose groups index may refer"},
       {.name = "rank",
        .kind = KeyKind::filled_text,
        .about = "pattern of lines whose group is the rank: lines of rank 0 count, or of `where: {rank: 3}`"},
       {.name = "header", .kind = KeyKind::text, .about = "the line of the heading: its number, or a pattern of it"},
       {.name = "where", .kind = KeyKind::condition, .about = "which rows or objects count"},
       {.name = "take",
        .kind = KeyKind::filled_text,
        .about = "which of several values counts: last, first, min, max, sum, count, mean, median, p95 ...",
        .initial = "last"},
       {.name = "skip",
        .kind = KeyKind::integer,
        .about = "leave out the first values of take",
        .initial = "0",
        .least = 0,
        .most = kMostSkipped},
       {.name = "absent", .kind = KeyKind::texts, .about = "numbers and texts that mean that there is no value: 0, nan"},
       {.name = "decimal",
        .kind = KeyKind::choice,
        .about = "what stands before the decimals of the numbers",
        .initial = "as the file's numbers show",
        .words = {"point", "comma"}}}};
  return kSection;
}

const KeySection& report_keys() {
  static const KeySection kSection = {
      "report",
      {{.name = "metric",
        .kind = KeyKind::filled_text,
        .about = "what is compared",
        .initial = "train_s for a trainer (with continue wall_s), wall_s for a command"},
       {.name = "confidence", .kind = KeyKind::number, .about = "of intervals: 0.5 to 0.999", .initial = "0.95"},
       {.name = "paired", .kind = KeyKind::flag, .about = "compare run by run, block by block", .initial = "false"},
       {.name = "scaling",
        .kind = KeyKind::choice,
        .about = "what efficiency means",
        .initial = "fixed_work",
        .words = {"fixed_work", "weak"}},
       {.name = "scale_by",
        .kind = KeyKind::choice,
        .about = "what a run's size is counted in",
        .initial = "ranks with the axis ranks_per_node, else gpus; nodes in a study without GPUs",
        .words = {"gpus", "ranks", "nodes", "cores"}},
       {.name = "time_unit",
        .kind = KeyKind::choice,
        .about = "how times are printed",
        .initial = "s",
        .words = {"s", "min", "h", "h:mm:ss"}},
       {.name = "speedup_style",
        .kind = KeyKind::choice,
        .about = "how speedups are printed: 2.72, or 2.72x",
        .initial = "plain",
        .words = {"plain", "x"}},
       {.name = "columns", .kind = KeyKind::texts, .about = "columns of the table: as --columns"},
       {.name = "group_by", .kind = KeyKind::texts, .about = "a table for each combination of these axes"},
       {.name = "sort", .kind = KeyKind::texts, .about = "axes, columns and metrics that order the rows: as --sort"},
       {.name = "where", .kind = KeyKind::condition, .about = "only the rows that match"},
       {.name = "rows", .kind = KeyKind::filled_text, .about = "a series that gets a table of its own"},
       {.name = "at", .kind = KeyKind::text, .about = "which value of `rows` the main table shows"},
       {.name = "references", .kind = KeyKind::maps, .about = "what rows should reach", .section = reference_keys},
       {.name = "peak_tflops", .kind = KeyKind::number, .about = "the peak of one gpu in 10^12 operations a second: gives mfu"},
       {.name = "target_loss", .kind = KeyKind::number, .about = "gives time_to_target_s"}}};
  return kSection;
}

const KeySection& reference_keys() {
  static const KeySection kSection = {
      "reference",
      {{.name = "when", .kind = KeyKind::condition, .about = "the rows that it is for", .initial = "all"},
       {.name = "metric", .kind = KeyKind::filled_text, .about = "what should reach it", .initial = "that of the report"},
       {.name = "value", .kind = KeyKind::number, .about = "what the metric should be", .required = true},
       {.name = "low", .kind = KeyKind::percentage, .about = "how far below it may be: -5 %"},
       {.name = "high", .kind = KeyKind::percentage, .about = "how far above it may be: 5 %"}}};
  return kSection;
}

const KeySection& import_keys() {
  static const KeySection kSection = {
      "import",
      {{.name = "files",
        .kind = KeyKind::text_or_texts,
        .about = "glob or list of globs; files with equal values of {axis} and {name} in their paths are one run"},
       {.name = "table",
        .kind = KeyKind::text_or_texts,
        .about = "glob or list of globs of CSV, JSON and SQLite files: each line is a run"},
       {.name = "rows", .kind = KeyKind::text, .about = "of a table in JSON: the pointer of its rows: /experiments/*"},
       {.name = "query", .kind = KeyKind::filled_text, .about = "of a table in SQLite: SELECT ..."},
       {.name = "columns",
        .kind = KeyKind::texts_or_sources,
        .about =
            "of a table: axis, metric, run, fact:NAME ... and its heading, or {column, pattern}; other columns are left out",
        .section = text_source_keys},
       {.name = "where", .kind = KeyKind::condition, .about = "of a table: which lines count"},
       {.name = "take",
        .kind = KeyKind::filled_text,
        .about = "of a table: lines with one id or run are one run; which of their values counts: last, min, mean ..."},
       {.name = "each", .kind = KeyKind::flag, .about = "each file is a run", .initial = "false"},
       {.name = "run",
        .kind = KeyKind::point_or_sources,
        .about = "the point; or where its values are found",
        .section = text_source_keys},
       {.name = "unit",
        .kind = KeyKind::text_or_sources,
        .about = "of times that are plain numbers: s, ms, min, h; or metric: unit",
        .section = unit_column_keys},
       {.name = "decimal",
        .kind = KeyKind::choice,
        .about = "what stands before the decimals of the numbers",
        .initial = "as the file's numbers show",
        .words = {"point", "comma"}},
       {.name = "values", .kind = KeyKind::texts_by_name, .about = "metric: a number or a time, or the heading of its column"},
       {.name = "metrics", .kind = KeyKind::maps, .about = "in place of the experiment's", .section = metric_keys},
       {.name = "outcome",
        .kind = KeyKind::choice_or_map,
        .about = "how the run ended; or where the program's word for it is found",
        .words = outcome_names(),
        .section = import_outcome_keys},
       {.name = "statistic",
        .kind = KeyKind::filled_text,
        .about = "the values are this statistic of n runs: mean, median, min, max, p95"},
       {.name = "n",
        .kind = KeyKind::integer,
        .about = "how many runs the statistic is of",
        .least = 1,
        .most = kMostRunsOfStatistic},
       {.name = "note", .kind = KeyKind::filled_text, .about = "kept with the run"},
       {.name = "facts",
        .kind = KeyKind::texts_or_sources,
        .about = "texts about the run: precision, world_size ...; or where they are found",
        .section = text_source_keys}}};
  return kSection;
}

const KeySection& text_source_keys() {
  static const KeySection kSection = {
      "text_source",
      {{.name = "column", .kind = KeyKind::filled_text, .about = "of a table: the heading of the column"},
       {.name = "file",
        .kind = KeyKind::filled_text,
        .about = "glob, relative to the run's folder",
        .initial = "the files of the run"},
       {.name = "pointer", .kind = KeyKind::filled_text, .about = "a pointer into JSON or YAML: /optim/lr"},
       {.name = "pattern", .kind = KeyKind::filled_text, .about = "a regular expression; its group is the text"}}};
  return kSection;
}

const KeySection& import_outcome_keys() {
  static const KeySection kSection = [] {
    KeySection section = text_source_keys();
    section.name = "import_outcome";
    section.keys.push_back({.name = "is",
                            .kind = KeyKind::texts_by_name,
                            .about = "word of the program: outcome, or ignore to leave the run out; \"\" for no word"});
    return section;
  }();
  return kSection;
}

const KeySection& unit_column_keys() {
  static const KeySection kSection = {
      "unit_column",
      {{.name = "column", .kind = KeyKind::filled_text, .about = "the heading of the column with the unit", .required = true}}};
  return kSection;
}

const KeySection& batch_system_keys() {
  static const KeySection kSection = {
      "batch_system",
      {{.name = "name", .kind = KeyKind::filled_text, .about = "the batch system's name, for messages", .required = true},
       {.name = "submit", .kind = KeyKind::texts, .about = "command that submits {{script}}", .required = true},
       {.name = "id",
        .kind = KeyKind::filled_text,
        .about = "pattern of what it prints: group 1 is the job's id",
        .required = true},
       {.name = "later", .kind = KeyKind::filled_text, .about = "pattern of what it prints when it takes no more jobs for now"},
       {.name = "list", .kind = KeyKind::texts, .about = "command that lists the jobs of {{user}}", .required = true},
       {.name = "job",
        .kind = KeyKind::filled_text,
        .about = "pattern of one job of the list, with the groups id, name and state",
        .required = true},
       {.name = "empty", .kind = KeyKind::filled_text, .about = "pattern of what `list` prints when it fails for lack of jobs"},
       {.name = "waiting", .kind = KeyKind::texts, .about = "states of jobs that wait", .required = true},
       {.name = "running", .kind = KeyKind::texts, .about = "states of jobs that run", .required = true},
       {.name = "stuck", .kind = KeyKind::texts_or_none, .about = "states in which a job stays until the user acts"},
       {.name = "ended", .kind = KeyKind::texts_or_none, .about = "states of jobs that have ended"},
       {.name = "cancel", .kind = KeyKind::texts, .about = "command that ends the jobs {{ids}}", .required = true},
       {.name = "directives",
        .kind = KeyKind::texts,
        .about = "lines of the script; one whose placeholder has no value is left out",
        .required = true},
       {.name = "job_variable", .kind = KeyKind::filled_text, .about = "variable in which a job finds its id: JOB_ID"}}};
  return kSection;
}

const KeySection& site_limits_keys() {
  static const KeySection kSection = {
      "site_limits",
      {{.name = "max_queued", .kind = KeyKind::integer, .about = "most jobs in the queue", .least = 1, .most = kMostQueued},
       {.name = "max_running",
        .kind = KeyKind::integer,
        .about = "most of an array at a time",
        .least = 1,
        .most = kMostQueued},
       {.name = "gpu_hours", .kind = KeyKind::number, .about = "above it `run` asks"},
       {.name = "node_hours", .kind = KeyKind::number, .about = "above it `run` asks"}}};
  return kSection;
}

}  // namespace hpcbench

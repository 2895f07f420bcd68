#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cost.hpp"
#include "base/executor_kind.hpp"
#include "base/metric.hpp"
#include "base/place.hpp"
#include "base/run_history.hpp"
#include "base/state.hpp"
#include "base/value.hpp"
#include "spec/batch_system.hpp"
#include "spec/located_expression.hpp"
#include "yaml/used_files.hpp"

namespace hpcbench {

/// How many processes a run has: one per gpu, one per node (torchrun, accelerate ...), or one (mpirun ...).
enum class Launch { rank, node, once };
enum class Order { interleaved, sequential };
/// What Slurm is asked for one job of: a run, or a block, which is one repeat of all configurations that ask for the same
/// things.
enum class Allocation { run, block };
enum class Scaling { fixed_work, weak };
/// What a run's size is counted in: speedups and efficiencies are per one of these.
enum class ScaleBy { gpus, ranks, nodes, cores };
/// As files spell it.
const char* to_string(ScaleBy unit);

/// The axis that says how many processes a node has where they are not one for each gpu. With it `gpus_per_node` may be 0,
/// which is its default then.
inline constexpr const char* kRanksPerNode = "ranks_per_node";
inline constexpr const char* kThreadsVariable = "OMP_NUM_THREADS";

/// A text of `resources` with placeholders, which are known for each point.
struct FilledText {
  std::string key;  // `cpus_per_task`
  std::string text;
  Place place;
};

struct Resources {
  std::optional<double> time_s;  // absent: no limit of ours
  int cpus_per_task = 1;
  bool has_cpus = false;           // the file gives `cpus_per_task`, which then decides OMP_NUM_THREADS
  std::optional<std::string> mem;  // as sbatch --mem takes it: `32G`
  std::optional<std::string> gres;
  std::optional<std::string> constraint;
  bool exclusive = false;
  std::vector<std::string> extra;      // further #SBATCH options, each one argument
  std::vector<FilledText> texts = {};  // in place of the members of these keys; none in the work of a plan
};

/// Metrics that hpcbench measures of every run, and those that the built-in trainer writes (docs/events.md).
const std::vector<std::string>& measured_metrics();
const std::vector<std::string>& trainer_metrics();

/// A number of an earlier result, as written there.
struct GivenValue {
  std::string metric;
  double value = 0;     // in `unit`; times in seconds
  std::string unit;     // `s` for times; empty if not said
  std::string printed;  // as written, with its unit: `63 min 48 s`, `12.98 min`
};

/// Reads `63 min 48 s`, `1:03:48` or a number in `unit` (s, min, h, any other word, or empty: that of the metric's name).
/// Absent if it is none of these.
std::optional<GivenValue> read_given_value(const std::string& metric, const std::string& text, const std::string& unit,
                                           NumberReader numbers = NumberReader());

/// An entry of `import`: results that hpcbench did not start.
inline constexpr const char* kIgnoredOutcome = "ignore";  // of a run that is left out
struct Import {
  /// Where a text about each run is found.
  struct TextSource {
    std::string column = {};    // of a table; empty: in files
    std::string file = {};      // glob, relative to the run's folder; empty: the files of the run
    std::string kind = {};      // `pointer` or `pattern`
    std::string selector = {};  // its text
  };
  using TextSources = std::map<std::string, TextSource>;

  std::vector<std::string> files;        // globs
  bool is_table = false;                 // `files` are tables: each line is a run
  std::string rows;                      // of a table in JSON: the pointer of its rows; empty: each line is one
  std::string query;                     // of a table in SQLite
  Condition where;                       // of a table: the lines that count
  std::optional<std::string> take = {};  // of a table: lines with one `id` or `run` are one run, whose values this chooses
  bool each = false;                     // each file is a run
  Bindings run;                          // the point; axes with one value may be missing
  TextSources run_sources;               // of axes, `gpus` and `ranks`, by files of each run
  std::vector<GivenValue> values;
  std::string unit;                                 // of plain numbers that are times
  DecimalMark decimal = DecimalMark::unknown;       // of tables, values and metrics of this entry
  std::map<std::string, std::string> units;         // of single metrics
  std::map<std::string, std::string> unit_columns;  // of tables: metric -> the heading of the column with its unit
  std::optional<std::vector<Metric>> metrics;
  std::optional<std::string> outcome, statistic, note;
  std::optional<int> n;  // how many runs the statistic is of
  std::optional<TextSource> outcome_source;
  std::map<std::string, std::string> outcome_words;  // word of the program -> outcome or kIgnoredOutcome; empty: outcomes
  std::map<std::string, std::string> facts;
  TextSources fact_sources;
  std::map<std::string, std::string> headings;  // of tables: metric, axis ... -> the heading of its column
  bool lists_columns = false;                   // `columns` lists what is read: other headings are left out
  Place place;
};

/// Variables of a run and their values, in the order of the file; a site's first. Placeholders are not yet filled in.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// What the processes of a run start in. Placeholders in its texts are not yet filled in.
enum class ContainerRuntime { apptainer, pyxis, podman };
struct Container {
  std::string image;
  ContainerRuntime runtime = ContainerRuntime::apptainer;
  std::vector<std::string> args = {};    // further options of the runtime, each one argument
  std::vector<std::string> mounts = {};  // SOURCE[:TARGET[:ro|rw]], beside the folders of the run
};
/// As files spell it.
const char* to_string(ContainerRuntime runtime);

/// An entry of `files`: a file whose placeholders are filled in, in the folder of each attempt.
struct InputDeck {
  std::string from;  // relative to the folder of the call
  std::string to;    // relative to the attempt's folder
  Place place;
};

/// An entry of `prepare`: what is made, in a folder of its own, once for each way in which its placeholders are filled in.
/// Its modules, set-up lines and variables are the site's where it has none. Placeholders are not yet filled in.
struct Preparation {
  std::string name;
  std::vector<std::string> command;
  std::vector<std::string> modules;
  std::vector<std::string> setup;
  Variables environment;
  std::vector<std::string> inputs;  // patterns of files: once one changes, what was made of it is out of date
  bool for_all = false;             // `prepare: [command]`: every run needs it, none is given its folder
  bool on_job = false;              // with Slurm by a job of its own, of one node and one task; else where `run` is called
  Resources resources;              // of that job
  std::optional<std::string> partition;
  Place place;

  /// What placeholders call its folder.
  std::string dir() const { return name + ".dir"; }
};

struct Success {
  int exit_code = 0;
  std::optional<std::string> pattern;      // must be found in stdout.log
  std::vector<LocatedExpression> require;  // must hold of the run's metrics
};

/// What a trainer or a command is, for one point: the defaults of the experiment with its overrides applied. Placeholders
/// (`{{name}}`) are not yet filled in; those of `resources`, `partition`, `modules` and `files` are in the work of a plan.
struct Work {
  std::optional<std::string> trainer;  // a built-in task; or
  std::vector<std::string> command;    // any program: its arguments
  bool shell = false;                  // command is one text for `bash -c`
  Launch launch = Launch::rank;
  Bindings parameters;
  Resources resources;
  std::optional<std::string> partition;  // in place of the site's
  std::vector<std::string> modules;      // those of the site where the experiment has none; so with `setup`
  std::vector<std::string> setup;        // lines of the job script
  Variables environment;                 // the site's, then those of the experiment; of one name the latter
  std::vector<std::string> srun;         // further options of srun, each one argument: the site's, then the experiment's
  std::optional<Container> container;
  std::vector<InputDeck> files;
  std::vector<Metric> metrics;
  Success success;

  /// Whether the file decides OMP_NUM_THREADS, by `cpus_per_task` or by `environment`.
  bool sets_threads() const {
    const auto is_it = [](const auto& variable) { return variable.first == kThreadsVariable; };
    return resources.has_cpus || std::any_of(environment.begin(), environment.end(), is_it);
  }
};

/// A condition that was written as an expression.
struct ConditionExpression {
  LocatedExpression expression;
  bool may_be_empty = false;  // the file's, under a profile or --set: true nowhere is a note then, no error
};

/// One entry of `derive`.
struct Derived {
  std::string name;
  LocatedExpression expression;
};

/// The keys of `resources` that were given. `texts`: those with placeholders, in place of a value.
struct ResourcesOverlay {
  std::optional<double> time_s;
  std::optional<int> cpus_per_task;
  std::optional<std::string> mem, gres, constraint;
  std::optional<bool> exclusive;
  std::optional<std::vector<std::string>> extra;
  std::vector<FilledText> texts;
};

/// The keys of `success` that were given.
struct SuccessOverlay {
  std::optional<int> exit_code;
  std::optional<std::string> pattern;
  std::optional<std::vector<LocatedExpression>> require;
};

/// The work as the file, or an entry of `overrides`, describes it: maps key by key.
struct WorkOverlay {
  std::optional<std::vector<std::string>> command;
  std::optional<Launch> launch;
  Bindings parameters;
  ResourcesOverlay resources;
  std::optional<std::string> partition;
  std::optional<std::vector<std::string>> modules;
  std::optional<std::vector<std::string>> setup;
  Variables environment;
  std::optional<Container> container;
  std::optional<std::vector<InputDeck>> files;
  std::optional<std::vector<Metric>> metrics;
  SuccessOverlay success;
};
/// Given values replace those of the work. A command takes the place of a trainer.
void merge(Work& work, const WorkOverlay& given);
void merge(Resources& resources, const ResourcesOverlay& given);

/// One entry of `overrides`: an overlay for points that match `when`.
struct Override : WorkOverlay {
  Condition when;                              // empty where it is written as
  std::optional<ConditionExpression> when_if;  // an expression
  Place place;
};

struct Axis {
  std::string name;
  std::vector<Value> values;
};

/// `continue: {on: [timeout], max: 20}`: a run that ended so goes on in a further attempt, its next segment, from what the one
/// before has saved.
struct Continuation {
  std::vector<State> on;         // of timeout, preempted, node_failure, failed: one at least
  int max = 20;                  // segments of a run
  std::optional<double> warn_s;  // 0: no warning; absent: a fifth of the time limit, at most 60 s

  bool goes_on_after(State outcome) const;
  /// How long before the time limit the program is told: at most half of it; 0: never.
  double warning_s(double limit_s) const;
};

/// An entry of `report.references`: what a metric should be at the points that match.
struct MetricReference {
  Condition when;                            // empty, and no `when_if`: every point
  std::optional<LocatedExpression> when_if;  // where it is written as an expression
  bool may_be_empty = false;                 // the file's, under a profile or --set: no point need match
  std::optional<std::string> metric;         // absent: that of the file's report
  double value = 0;
  std::optional<double> low, high;  // how far below and above it may be, as shares of it: -0.05; absent: no limit
  Place place;
};

/// An axis within each run: the index of a series, as the sizes or kernels that a benchmark prints a row for.
struct InnerAxis {
  std::string name;  // the `series` of the metrics that have it
  Value at;          // which of its values stands for the run: a whole number or a word
  friend bool operator==(const InnerAxis&, const InnerAxis&) = default;
};

/// `repeats: {from: 8, to: 40, until: 3 %}`: more blocks, from look to look, until the interval of every row is narrow enough.
/// The looks themselves are ReportSettings::looks, since all statistics depend on them; Experiment::repeats is the last one.
struct RepeatRule {
  enum class Of { metric, speedup };
  double until = 0;  // the largest half width of an interval, as a share of its median, or of the speedup: 0.03
  Of of = Of::metric;
  std::string place;  // where the file says it, for messages
};

struct ReportSettings {
  std::optional<std::string> metric;  // absent: train_s for a trainer, wall_s for a command
  std::string time_unit = "s";        // s, min, h, h:mm:ss
  std::string speedup_style;          // `x`: 2.72x; else 2.72
  double confidence = 0.95;
  std::vector<int> looks;  // numbers of repeats at which results may be looked at, ascending, from `repeats`; empty: one look
  bool paired = false;
  bool in_blocks = false;  // runs are allocated in blocks: pairs are of one allocation; `paired` unless the file says otherwise
  Scaling scaling = Scaling::fixed_work;
  std::optional<ScaleBy> scale_by;  // absent: see Experiment::scale_by
  std::vector<std::string> columns;
  std::vector<std::string> group_by;
  Condition where;
  std::optional<LocatedExpression> where_if;  // where it is written as an expression
  std::vector<std::string> sort;              // axis names
  std::optional<double> peak_tflops;          // of one gpu, in 10^12 floating point operations a second: for `mfu`
  std::optional<double> target_loss;          // for `time_to_target_s`
  std::vector<MetricReference> references;
  std::optional<InnerAxis> inner;  // `rows` and `at`
};

struct Limits {
  long long configurations = 1'000'000;
  CostLimits cost;
};

/// Properties of a cluster, not of a study: sites/NAME.yaml.
struct Site {
  std::string name;                    // `local` where no file was given
  std::optional<std::string> profile;  // of files that have it, where no --profile is given
  std::optional<std::string> executor;
  std::optional<std::string> partition, account, qos, gres_type, template_path, reservation;
  std::optional<std::string> hpcbench;  // this program's path on the nodes, where it is another than here
  std::vector<std::string> modules;
  std::vector<std::string> setup;
  std::vector<std::string> extra;
  Variables environment;
  std::vector<std::string> srun;
  std::optional<BatchSystem> commands;  // of the executor `commands`
  std::optional<int> max_queued;        // most jobs of ours in the queue
  std::optional<int> max_running;       // most of an array that run at a time
  CostLimits limits;
};

/// A key of an earlier version that a file still has: its runs can be read, and none begins.
struct RetiredKey {
  Place place;
  std::string path;    // `allocation.calibrate`
  std::string advice;  // how the same is done without it
};

/// A study, read and checked: every value valid by itself and with the others.
struct Experiment {
  std::string name;
  std::string description;
  std::string path;              // of the file, as it was given
  std::vector<FileCopy> copies;  // the file and what it uses, to read it again elsewhere
  std::string profile;           // that was laid over it, or several with commas between them; empty: none

  /// The cross product in this order; the entries of one zip block vary together.
  std::vector<Axis> matrix;
  std::vector<std::vector<Axis>> zip;
  std::vector<Condition> exclude;
  std::vector<ConditionExpression> exclude_if;  // those of `exclude` that are written as expressions
  Place exclude_place;                          // of the last of these, where there is one
  std::vector<Bindings> include;                // whole points
  /// Computed for each point, after its overrides, in order of need.
  std::vector<Derived> derive;
  std::vector<LocatedExpression> require;  // must hold at every point

  Work work;
  std::vector<Metric> described;  // entries of `metrics` without a source: they describe values of events and imports
  std::vector<Override> overrides;

  int repeats = 6;                        // with `repeat_rule`: at most
  std::optional<RepeatRule> repeat_rule;  // absent: a number fixed beforehand
  std::optional<Cost> budget;             // of all attempts
  int warmups = 0;
  bool seed_per_repeat = true;  // repeat k has seed + k; else all have `seed`
  long long seed = 1;
  std::string executor = "auto";  // as read: local or slurm (`auto` is resolved by the site)
  Order order = Order::interleaved;
  Allocation allocation = Allocation::run;
  bool mixed_shapes = false;    // a block has configurations of different numbers of nodes
  double most_idle = 0.25;      // with mixed shapes: the largest share of a block's node time that smaller runs may leave idle
  bool estimated_time = false;  // a block's job asks for what its runs need by finished ones, not for all their limits
  int side_by_side = 1;         // runs of a block that go on at a time, on cores and GPUs of their own
  bool shares_numa = false;     // and may share a NUMA node
  std::string launcher = "srun";
  std::vector<Preparation> preparations;  // in order of need
  std::optional<std::string> workdir;     // a path, or `attempt`
  std::optional<double> monitor_s;
  bool merged_output = false;  // of ranks above 0: to one file, else two a rank
  Retries retries;
  std::optional<Continuation> continuation;
  Condition baseline;  // empty: no speedup columns
  ReportSettings report;
  Limits limits;
  std::vector<Import> imports;
  Site site;
  std::vector<std::string> profiles;  // the names of those that the file has
  /// The file names GPUs (names_gpus.hpp), or its jobs ask Slurm for them. Without them no output speaks of GPUs. Reports also
  /// count GPUs that runs recorded.
  bool has_gpus = true;

  /// Names of all axes in table order, `nodes` and `gpus_per_node` always among them (added where absent, then hidden in
  /// tables).
  std::vector<std::string> axis_names() const;
  /// `report.scale_by`; by default ranks with an axis ranks_per_node, else gpus, or nodes in a study without GPUs.
  ScaleBy scale_by() const;
  /// Axes as outputs show them: a study without GPUs has no `gpus_per_node`.
  bool shows_axis(const std::string& name) const { return has_gpus || name != "gpus_per_node"; }
  Bindings shown_axes(Bindings axes) const;
  /// Where the file or the site says what a key of `origins` has, as messages begin; the file where neither does.
  std::string place_of_key(const std::string& key) const;
  /// False for a study of imports alone: it has no repeats.
  bool runs_anything() const { return is_trainer() || !work.command.empty(); }
  bool is_trainer() const { return work.trainer.has_value(); }
  bool in_blocks() const { return allocation == Allocation::block; }
  bool mixes_shapes() const { return in_blocks() && mixed_shapes; }
  bool packs_runs() const { return in_blocks() && side_by_side > 1; }
  bool estimates_time() const { return in_blocks() && estimated_time; }
  /// Warm-ups of each configuration that are run: none where jobs run elsewhere, as they would warm another node.
  int warmups_run() const { return !executor_kind(executor).runs_here ? 0 : warmups; }
  /// report.metric, else what the built-in trainer, or any command, always has. The trainer's own time is that of one segment.
  std::string report_metric() const { return report.metric.value_or(is_trainer() && !continuation ? "train_s" : "wall_s"); }

  /// The first entry of `metrics` with this name: the experiment's, then those of `overrides` and `import`. Null without one.
  const Metric* find_metric(const std::string& name) const;
  MetricKind kind_of(const std::string& metric, const std::string& unit) const;

  std::optional<RetiredKey> retired;  // for a command that reads results; others refuse the file
  /// Messages that are no errors: excludes that a profile made empty, and so on.
  std::vector<std::string> notes;
  /// Where each top-level and nested value came from: `repeats` -> `experiments/x.yaml:7:10`, `--set`, `default` is not listed.
  std::map<std::string, std::string> origins;
};

}  // namespace hpcbench

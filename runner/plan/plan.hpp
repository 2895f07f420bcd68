#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/run_name.hpp"
#include "base/value.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// A preparation with its placeholders filled in: what is made once for all runs that are given its folder.
struct PreparedInstance {
  std::size_t definition = 0;      // index into Experiment::preparations
  std::string name;                // of the definition
  std::string id;                  // 16 hex digits of the filled definition
  Bindings bindings;               // the names of a point that needs it
  std::vector<std::size_t> needs;  // instances that must be made before it

  /// Below results/EXPERIMENT/prepare: `build-0123456789abcdef`.
  std::string folder() const { return name + '-' + id; }
};

/// One point of the matrix with everything that follows from it.
struct Configuration {
  std::string id;                   // config_id: 16 hex digits
  std::vector<Value> values;        // one per Plan::axes
  std::vector<Value> derived = {};  // one per Plan::derived
  int nodes = 1;
  int gpus_per_node = 1;                   // 0 only beside ranks_per_node
  std::optional<int> ranks_per_node = {};  // of the axis of this name
  std::shared_ptr<const Work> work;        // overrides applied; shared between points of equal work
  std::vector<std::size_t> prepared = {};  // indices into Plan::prepared: what its runs need
  std::optional<std::size_t> makes = {};   // the instance of Plan::prepared that its run makes; absent: it is measured

  int gpus() const { return nodes * gpus_per_node; }
  /// Processes of a node where each has a rank: as many as gpus unless an axis says more.
  int node_ranks() const { return ranks_per_node.value_or(gpus_per_node); }
  int ranks() const { return nodes * node_ranks(); }
  /// What an hour of it costs: its GPUs, or its nodes.
  int hourly_cost(CostUnit unit) const { return unit == CostUnit::gpu_hours ? gpus() : nodes; }
};

/// One run that the experiment asks for.
struct PlannedRun {
  std::size_t configuration = 0;  // index into Plan::configurations
  RunName name;
  int block = 0;    // of the randomised complete block design: all configurations' repeat k
  int attempt = 1;  // the one that is due
};

/// All that an experiment asks for. Configurations are distinct by id and in the order of the file.
struct Plan {
  std::vector<std::string> axes;            // in table order, nodes and gpus_per_node among them
  std::vector<std::string> varied;          // those with more than one value, in the same order: the columns of tables
  std::vector<std::string> derived;         // names of computed values, in order of need
  std::vector<std::string> varied_derived;  // those with more than one value: columns, too
  std::vector<PreparedInstance> prepared;   // what runs need, each after those that it needs itself
  std::vector<Configuration> configurations;
  long long excluded = 0;  // points that `exclude` left out
  int repeats = 1;
  int warmups = 0;
  std::uint64_t order_seed = 0;  // recorded; first 52 bits of the SHA-256 of the experiment's name
  Order order = Order::interleaved;
  bool has_gpus = true;                      // as Experiment::has_gpus
  CostUnit cost_unit = CostUnit::gpu_hours;  // the budget's, else node-hours where no run has a GPU
  std::vector<std::string> notes;
  std::vector<std::size_t> by_id;  // indices sorted by id, for find(); a plan put together by hand may leave it empty

  /// The axes of a configuration by name.
  Bindings bindings(const Configuration& configuration) const;
  Bindings derived_bindings(const Configuration& configuration) const;
  /// Both.
  Bindings all_bindings(const Configuration& configuration) const;
  /// `n=1000, nodes=1`: the axes as outputs show them.
  std::string describe_point(const Configuration& configuration) const;
  /// Index by id; absent if the plan does not hold it.
  std::optional<std::size_t> find(std::string_view config_id) const;
};

/// Expands the matrix (cross product, zip, exclude, include), applies overrides and computes identities.
/// InputError if nothing is left, the limit on configurations is passed, or GPU-hours are to bound runs without GPUs.
Plan make_plan(const Experiment& experiment);

/// Keeps the configurations that match; InputError (with a suggestion) if a name is no axis or nothing is left.
Plan select(const Plan& plan, const Condition& only);

/// What --only and --where say: a condition, or an expression over the axes, gpus, parameters and derived values of a point.
struct Selection {
  Condition condition;
  std::optional<LocatedExpression> expression;
};

/// Reads it as an expression unless it begins with `NAME=` (not `NAME==`). InputError on bad form; `option` is named in it.
Selection parse_selection(const std::string& text, const std::string& option);
Plan select(const Plan& plan, const Selection& only);
/// The configurations for which an expression is true. InputError for names that the plan does not have.
std::vector<std::size_t> configurations_where(const Plan& plan, const LocatedExpression& where);
/// The same, but an empty result is valid.
std::vector<std::size_t> find_configurations_where(const Plan& plan, const LocatedExpression& where);

/// The runs in the order of submission: warm-ups of a configuration before its first repeat; `interleaved` = for each repeat
/// all configurations in an order shuffled by order_seed and the repeat (randomised complete blocks), else one configuration
/// after the other.
std::vector<PlannedRun> runs_in_order(const Plan& plan);

/// The instances that runs of a plan need, each after those that it needs itself.
std::vector<std::size_t> instances_needed(const Plan& plan);
/// How many of them each of Experiment::preparations has.
std::vector<long long> count_instances(const Experiment& experiment, const Plan& plan);

/// GPUs or nodes x time limit over all runs and warm-ups, in hours; absent if a configuration has no time limit.
std::optional<double> hours_at_most(const Plan& plan, CostUnit unit);

/// The seed of a run: seed + number where it is per repeat.
long long run_seed(const Experiment& experiment, RunName name);

/// Splits at separators that no backslash escapes; the parts keep their escapes. `unescaped`: `a\,b\|c\\d` -> `a,b|c\d`.
std::vector<std::string> split_escaped(std::string_view text, char separator);
std::string unescaped(std::string_view text);
/// Parses `axis=value,axis=value` of --only (a value may be `a|b`; `\,`, `\|` and `\\` are plain bytes). A command line has no
/// quotes, so `2` stands for the number and for the text. InputError on bad form.
Condition parse_only(const std::string& text);

/// `rank`, `node`, `once`, as files spell it.
std::string to_string(Launch launch);

/// How large a run is: its gpus, ranks, nodes, or cores (cpus_per_task for each rank).
int run_size(const Configuration& configuration, ScaleBy unit);

/// How many processes a run of the configuration has in all.
int process_count(const Configuration& configuration);

}  // namespace hpcbench

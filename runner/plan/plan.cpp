#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "plan/computed.hpp"
#include "plan/fill.hpp"
#include "plan/identity.hpp"
#include "plan/points.hpp"
#include "plan/prepared.hpp"
#include "plan/resolve.hpp"
#include "plan/select.hpp"

namespace hpcbench {

namespace {

constexpr int kSeedHexDigits = 13;  // 52 bits: every program holds them exactly, also those that read JSON into doubles

std::uint64_t hex_number(std::string_view digits) {
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return number;
}

int count_of(const Value& value, int least, const std::string& axis, const std::string& path) {
  const std::optional<long long> count = value.integer();
  if (!count || *count < least || *count > INT_MAX) {
    throw InputError(fmt::format("error: {}: {} must be {}positive integer, not {}", path, axis, least == 0 ? "0 or a " : "a ",
                                 value.text()));
  }
  return static_cast<int>(*count);
}

/// Adds points to a plan.
class PlanBuilder {
 public:
  PlanBuilder(const Experiment& experiment, Plan& plan)
      : experiment_(experiment),
        plan_(plan),
        resolver_(experiment, plan.axes),
        computer_(experiment, plan.axes),
        filler_(experiment, plan.axes),
        instances_(experiment, plan.prepared),
        identity_(plan.axes),
        nodes_(column("nodes")),
        gpus_per_node_(column("gpus_per_node")),
        ranks_per_node_(column(kRanksPerNode)),
        strategy_(column("strategy")) {
    plan_.derived = computer_.names();
  }

  void finish() const {
    resolver_.require_use(plan_.notes);
    instances_.note_unused(plan_.notes);
  }

  void add(const Point& point) {
    Configuration configuration;
    const ResolvedWork& unfilled = resolver_.resolve(point);
    configuration.derived = computer_.compute(point, unfilled.work->parameters);
    const ResolvedWork& resolved = filler_.fill(unfilled, point, configuration.derived);
    Bindings given;
    for (const std::size_t i : resolved.derived) given.emplace_back(plan_.derived[i], configuration.derived[i]);
    if (instances_.any()) {
      const Bindings names = filler_.bindings_of(*unfilled.work, point, configuration.derived);
      configuration.prepared = instances_.find(unfilled.work, names);
      for (const std::size_t i : configuration.prepared) {
        const Preparation& definition = experiment_.preparations[plan_.prepared[i].definition];
        if (!definition.for_all) given.emplace_back(definition.dir(), Value::from_text(plan_.prepared[i].id));
      }
    }
    configuration.id = identity_.config_id(point, resolved.identity, given);
    const bool has_ranks = ranks_per_node_ < point.size();
    configuration.nodes = count_of(point[nodes_], 1, "nodes", experiment_.path);
    configuration.gpus_per_node = count_of(point[gpus_per_node_], has_ranks ? 0 : 1, "gpus_per_node", experiment_.path);
    if (has_ranks) configuration.ranks_per_node = count_of(point[ranks_per_node_], 1, kRanksPerNode, experiment_.path);
    configuration.work = trains_in_one_process(*resolved.work, point) ? with_launch_per_node(*resolved.work) : resolved.work;
    configuration.values = point;
    plan_.configurations.push_back(std::move(configuration));
  }

 private:
  std::size_t column(const std::string& name) const {
    return static_cast<std::size_t>(std::find(plan_.axes.begin(), plan_.axes.end(), name) - plan_.axes.begin());
  }

  /// The strategy `dp` of the built-in trainer is one process with all gpus of its node.
  bool trains_in_one_process(const Work& work, const Point& point) const {
    if (!work.trainer || work.launch != Launch::rank) return false;
    if (strategy_ < point.size()) return point[strategy_].text() == "dp";
    return std::any_of(work.parameters.begin(), work.parameters.end(),
                       [](const auto& parameter) { return parameter.first == "strategy" && parameter.second.text() == "dp"; });
  }

  static std::shared_ptr<const Work> with_launch_per_node(const Work& work) {
    auto changed = std::make_shared<Work>(work);
    changed->launch = Launch::node;
    return changed;
  }

  const Experiment& experiment_;
  Plan& plan_;
  WorkResolver resolver_;
  PointComputer computer_;
  WorkFiller filler_;
  InstanceFinder instances_;
  PointIdentity identity_;
  std::size_t nodes_, gpus_per_node_, ranks_per_node_, strategy_;  // the number of axes where one is none
};

/// Of `names` those that have more than one value; `values` are those of a configuration.
std::vector<std::string> varied_names(const Plan& plan, const std::vector<std::string>& names,
                                      std::vector<Value> Configuration::*values) {
  std::vector<std::string> varied;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Value& first = (plan.configurations.front().*values)[i];
    const bool varies = std::any_of(plan.configurations.begin(), plan.configurations.end(),
                                    [&](const Configuration& c) { return (c.*values)[i] != first; });
    if (varies) varied.push_back(names[i]);
  }
  return varied;
}

/// Index of a configuration with the first bytes of its id.
using KeyedIndex = std::pair<std::uint64_t, std::size_t>;

/// By id, those of equal ids in their order.
std::vector<KeyedIndex> keyed_by_id(const std::vector<Configuration>& configurations) {
  std::vector<KeyedIndex> keyed(configurations.size());
  for (std::size_t i = 0; i < keyed.size(); ++i) keyed[i] = {leading_bytes(configurations[i].id), i};
  std::sort(keyed.begin(), keyed.end(), [&](const KeyedIndex& a, const KeyedIndex& b) {
    if (a.first != b.first) return a.first < b.first;
    const int order = configurations[a.second].id.compare(configurations[b.second].id);
    return order != 0 ? order < 0 : a.second < b.second;
  });
  return keyed;
}

std::vector<std::size_t> indices_of(const std::vector<KeyedIndex>& keyed) {
  std::vector<std::size_t> indices(keyed.size());
  std::transform(keyed.begin(), keyed.end(), indices.begin(), [](const KeyedIndex& each) { return each.second; });
  return indices;
}

/// Keeps the first configuration of each identity (`include` may name a point of the matrix, or one several times), and fills
/// in Plan::by_id.
void keep_distinct(Plan& plan) {
  std::vector<Configuration>& all = plan.configurations;
  std::vector<KeyedIndex> keyed = keyed_by_id(all);
  std::vector<bool> again(all.size(), false);
  bool any = false;
  for (std::size_t i = 1; i < keyed.size(); ++i) {
    if (keyed[i].first != keyed[i - 1].first || all[keyed[i].second].id != all[keyed[i - 1].second].id) continue;
    again[keyed[i].second] = any = true;
  }
  if (any) {
    std::erase_if(all, [&](const Configuration& each) { return again[static_cast<std::size_t>(&each - all.data())]; });
    keyed = keyed_by_id(all);
  }
  plan.by_id = indices_of(keyed);
}

}  // namespace

std::string to_string(Launch launch) {
  switch (launch) {
    case Launch::node:
      return "node";
    case Launch::once:
      return "once";
    case Launch::rank:
      break;
  }
  return "rank";
}

int process_count(const Configuration& configuration) {
  switch (configuration.work->launch) {
    case Launch::node:
      return configuration.nodes;
    case Launch::once:
      return 1;
    case Launch::rank:
      break;
  }
  return configuration.ranks();
}

int run_size(const Configuration& configuration, ScaleBy unit) {
  switch (unit) {
    case ScaleBy::ranks:
      return configuration.ranks();
    case ScaleBy::nodes:
      return configuration.nodes;
    case ScaleBy::cores:
      return configuration.ranks() * configuration.work->resources.cpus_per_task;
    case ScaleBy::gpus:
      break;
  }
  return configuration.gpus();
}

/// InputError for a budget that no run would spend from.
static CostUnit choose_cost_unit(const Experiment& experiment, const Plan& plan) {
  const bool any_gpu =
      experiment.has_gpus && std::any_of(plan.configurations.begin(), plan.configurations.end(),
                                         [](const Configuration& configuration) { return configuration.gpus() > 0; });
  if (!experiment.budget) return any_gpu ? CostUnit::gpu_hours : CostUnit::node_hours;
  if (experiment.budget->unit == CostUnit::gpu_hours && !any_gpu) {
    throw InputError(
        fmt::format("{}: error: no run of this study has a GPU: a budget of GPU-hours would never end it\n"
                    "  = write budget: {{node_hours: {:g}}}",
                    experiment.place_of_key("budget.gpu_hours"), experiment.budget->hours));
  }
  return experiment.budget->unit;
}

Plan make_plan(const Experiment& experiment) {
  Plan plan;
  plan.axes = experiment.axis_names();
  plan.repeats = experiment.repeats;
  plan.warmups = experiment.warmups_run();
  plan.order = experiment.order;
  plan.order_seed = hex_number(sha256_hex(experiment.name, kSeedHexDigits));
  plan.notes = experiment.notes;
  if (plan.warmups < experiment.warmups)
    plan.notes.push_back("no warm-ups are run: on the executor slurm they would warm another node");

  PlanBuilder builder(experiment, plan);
  Excluded excluded = each_matrix_point(experiment, plan.axes, [&](const Point& point) { builder.add(point); });
  plan.excluded = excluded.points;
  plan.notes.insert(plan.notes.end(), excluded.notes.begin(), excluded.notes.end());
  for (const Point& point : included_points(experiment, plan.axes)) builder.add(point);
  builder.finish();
  keep_distinct(plan);

  if (plan.configurations.empty()) {
    throw InputError(fmt::format("{}: error: no configuration is left: `exclude` takes away every point of the matrix",
                                 describe(experiment.exclude_place)));
  }
  if (static_cast<long long>(plan.configurations.size()) > experiment.limits.configurations) {
    throw InputError(fmt::format("error: {}: {} configurations are more than limits.configurations ({})", experiment.path,
                                 plan.configurations.size(), experiment.limits.configurations));
  }
  plan.has_gpus = experiment.has_gpus;
  plan.cost_unit = choose_cost_unit(experiment, plan);
  plan.varied = varied_names(plan, plan.axes, &Configuration::values);
  plan.varied_derived = varied_names(plan, plan.derived, &Configuration::derived);
  return plan;
}

Plan keep_configurations(const Plan& plan, const std::vector<std::size_t>& kept) {
  Plan result = plan;
  result.configurations.clear();
  for (const std::size_t index : kept) result.configurations.push_back(plan.configurations[index]);
  result.by_id = indices_of(keyed_by_id(result.configurations));
  return result;
}

Bindings Plan::bindings(const Configuration& configuration) const {
  Bindings result;
  result.reserve(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) result.emplace_back(axes[i], configuration.values[i]);
  return result;
}

std::string Plan::describe_point(const Configuration& configuration) const {
  Bindings shown = bindings(configuration);
  std::erase_if(shown, [&](const auto& axis) { return !has_gpus && axis.first == "gpus_per_node"; });
  return describe(shown);
}

Bindings Plan::derived_bindings(const Configuration& configuration) const {
  Bindings result;
  for (std::size_t i = 0; i < derived.size(); ++i) result.emplace_back(derived[i], configuration.derived[i]);
  return result;
}

Bindings Plan::all_bindings(const Configuration& configuration) const {
  Bindings result = bindings(configuration);
  for (std::size_t i = 0; i < derived.size(); ++i) result.emplace_back(derived[i], configuration.derived[i]);
  return result;
}

std::optional<std::size_t> Plan::find(std::string_view config_id) const {
  if (by_id.size() == configurations.size()) {
    const auto found = std::lower_bound(by_id.begin(), by_id.end(), config_id,
                                        [&](std::size_t index, std::string_view id) { return configurations[index].id < id; });
    return found != by_id.end() && configurations[*found].id == config_id ? std::optional(*found) : std::nullopt;
  }
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    if (configurations[i].id == config_id) return i;
  }
  return std::nullopt;
}

}  // namespace hpcbench

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/text.hpp"
#include "base/value.hpp"
#include "spec/checks.hpp"
#include "spec/fields.hpp"
#include "spec/merge.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

constexpr long long kFirstLook = 8;  // the first number of runs whose interval reaches the level of a look
constexpr long long kLastLook = 40;
constexpr std::size_t kMostLooks = 20;
constexpr const char* kRepeatsForm = "repeats: {from: 8, to: 40, until: 3 %}";

/// Up to 40 as docs/statistics.md has them, each about a third more than the one before; then on in the same way.
std::vector<long long> usual_looks(long long from, long long to) {
  std::vector<long long> ladder = {8, 11, 15, 20, 27, 36, 40};
  while (ladder.back() < to) ladder.push_back(ladder.back() * 4 / 3);
  std::vector<long long> looks = {from};
  for (const long long look : ladder) {
    if (look > from && look < to) looks.push_back(look);
  }
  if (to > from) looks.push_back(to);
  return looks;
}

long long first_look(const ParsedRepeats& repeats) {
  return repeats.from.value_or(repeats.looks.empty() ? kFirstLook : repeats.looks.front());
}
long long last_look(const ParsedRepeats& repeats) {
  return repeats.to.value_or(repeats.looks.empty() ? kLastLook : repeats.looks.back());
}
std::vector<long long> looks_of(const ParsedRepeats& repeats) {
  return repeats.looks.empty() ? usual_looks(first_look(repeats), last_look(repeats)) : repeats.looks;
}

/// `3 %` as 0.03.
std::optional<double> read_half_width(MapReader& reader, Diagnostics& diagnostics) {
  const std::optional<std::string> text = reader.filled_text("until");
  if (!text) return std::nullopt;
  const std::optional<double> percent = parse_percent(*text);
  if (percent && *percent > 0 && *percent < 100) return *percent / 100;
  diagnostics.add(reader.location_of("until"),
                  fmt::format("`until` says how wide an interval may be to either side, and {} does not", cite(*text)),
                  "in percent of the median, or of the speedup, more than 0 and less than 100: until: 3 %");
  return std::nullopt;
}

void read_repeats(MapReader& root, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  const YamlNode* node = root.take("repeats");
  if (node == nullptr) return;
  if (!node->is_map()) {
    assign(parsed.experiment.repeats, root.integer("repeats"));
    return;
  }
  MapReader reader(*node, "repeats", repeats_keys(), diagnostics);
  ParsedRepeats& repeats = parsed.repeats.emplace();
  repeats.node = node;
  repeats.from = reader.integer("from");
  repeats.to = reader.integer("to");
  repeats.until = read_half_width(reader, diagnostics);
  assign(repeats.of,
         reader.choice<RepeatRule::Of>("of", {{"metric", RepeatRule::Of::metric}, {"speedup", RepeatRule::Of::speedup}}));
  if (const YamlNode* looks = reader.take("looks"); looks != nullptr && expect_list(*looks, "`repeats.looks`", diagnostics)) {
    const KeyRow& row = *repeats_keys().find("looks");
    for (const YamlNode& look : looks->items) {
      if (const auto number = read_integer(look, "a look", row.least, row.most, diagnostics)) repeats.looks.push_back(*number);
    }
  }
  reader.finish();
}

void read_budget(const YamlNode& node, Experiment& experiment, Diagnostics& diagnostics) {
  MapReader reader(node, "budget", budget_keys(), diagnostics);
  for (const CostUnit unit : kCostUnits) {
    const std::optional<double> hours = reader.number(key_of(unit));
    if (hours && *hours > 0) experiment.budget = Cost{*hours, unit};
    if (hours && !(*hours > 0))
      diagnostics.add(node.find(key_of(unit))->location, fmt::format("`budget.{}` must be more than 0", key_of(unit)));
  }
  if (reader.has("gpu_hours") && reader.has("node_hours")) {
    diagnostics.add(node.location, "`budget` has `gpu_hours` and `node_hours`: a study has one unit",
                    "keep one; where a profile or --set changes the unit: budget: {gpu_hours: null, node_hours: 200}");
  } else if (node.is_map() && !reader.has("gpu_hours") && !reader.has("node_hours")) {
    diagnostics.add(node.location, "`budget` needs one of `gpu_hours` and `node_hours`", "budget: {gpu_hours: 200}");
  }
  reader.finish();
}

void read_seed(const YamlNode& node, Experiment& experiment, Diagnostics& diagnostics) {
  MapReader reader(node, "seed", seed_keys(), diagnostics);
  assign(experiment.seed_per_repeat, reader.choice<bool>("policy", {{"per_repeat", true}, {"fixed", false}}));
  assign(experiment.seed, reader.integer("value"));
  reader.finish();
}

void read_retries(const YamlNode& node, Experiment& experiment, Diagnostics& diagnostics) {
  MapReader reader(node, "retries", retries_keys(), diagnostics);
  assign(experiment.retries.lost, reader.integer("lost"));
  assign(experiment.retries.node_failure, reader.integer("node_failure"));
  assign(experiment.retries.preempted, reader.integer("preempted"));
  assign(experiment.retries.failed, reader.integer("failed"));
  reader.finish();
}

void read_continuation(const YamlNode& node, Experiment& experiment, Diagnostics& diagnostics) {
  constexpr std::array kKinds = {State::timeout, State::preempted, State::node_failure, State::failed};
  constexpr const char* kForm = "continue: {on: [timeout, preempted, node_failure], max: 20}";
  MapReader reader(node, "continue", continue_keys(), diagnostics);
  Continuation continuation;
  if (node.is_map() && !reader.has("on"))
    diagnostics.add(node.location, "`continue` needs `on`: after what a run goes on", kForm);
  const std::vector<std::string> names = reader.texts("on").value_or(std::vector<std::string>());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::optional<State> state = parse_state(names[i]);
    if (state && std::find(kKinds.begin(), kKinds.end(), *state) != kKinds.end()) {
      continuation.on.push_back(*state);
    } else {
      const YamlNode& list = *node.find("on");
      diagnostics.add(i < list.items.size() ? list.items[i].location : list.location,
                      fmt::format("no run goes on after {}", cite(names[i])), kForm);
    }
  }
  assign(continuation.max, reader.integer("max"));
  continuation.warn_s = reader.duration("warn");
  reader.finish();
  if (!continuation.on.empty()) experiment.continuation = std::move(continuation);
}

void read_allocation(const YamlNode& node, Experiment& experiment, Diagnostics& diagnostics) {
  MapReader reader(node, "allocation", allocation_keys(), diagnostics);
  assign(experiment.allocation, reader.choice<Allocation>("per", {{"run", Allocation::run}, {"block", Allocation::block}}));
  assign(experiment.mixed_shapes, reader.choice<bool>("shapes", {{"separate", false}, {"mixed", true}}));
  assign(experiment.estimated_time, reader.choice<bool>("time", {{"full", false}, {"auto", true}}));
  assign(experiment.side_by_side, reader.integer("side_by_side"));
  assign(experiment.shares_numa, reader.choice<bool>("numa", {{"separate", false}, {"shared", true}}));
  if (const std::optional<std::string> text = reader.filled_text("idle")) {
    const std::optional<double> percent = parse_percent(*text);
    experiment.most_idle = percent.value_or(0) / 100;
    if (!percent || *percent < 0 || *percent > 100) {
      diagnostics.add(
          reader.location_of("idle"),
          fmt::format("`idle` says how much of a block's node time smaller runs may leave idle, and {} does not", cite(*text)),
          "in percent, from 0 % to 100 %: idle: 25 %");
    }
  }
  reader.finish();
}

void read_limits(const YamlNode& node, Experiment& experiment, Diagnostics& diagnostics) {
  MapReader reader(node, "limits", limits_keys(), diagnostics);
  assign(experiment.limits.configurations, reader.integer("configurations"));
  read_cost_limits(reader, node, experiment.limits.cost, diagnostics);
  reader.finish();
}

void pair_within_blocks(ParsedExperiment& parsed) {
  ReportSettings& report = parsed.experiment.report;
  const YamlNode* said = parsed.root->find("report");
  report.in_blocks = parsed.experiment.in_blocks();
  if (report.in_blocks && (said == nullptr || said->find("paired") == nullptr)) report.paired = true;
}

void read_settings(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  Experiment& experiment = parsed.experiment;
  assign(experiment.description, reader.text("description"));
  read_repeats(reader, parsed, diagnostics);
  assign(experiment.warmups, reader.integer("warmups"));
  if (const YamlNode* node = reader.take("seed")) read_seed(*node, experiment, diagnostics);
  assign(experiment.executor, reader.word("executor"));
  assign(experiment.order,
         reader.choice<Order>("order", {{"interleaved", Order::interleaved}, {"sequential", Order::sequential}}));
  if (const YamlNode* node = reader.take("allocation")) read_allocation(*node, experiment, diagnostics);
  assign(experiment.launcher, reader.choice<std::string>("launcher", {{"srun", "srun"}, {"mpirun", "mpirun"}}));
  read_prepare(reader, parsed, diagnostics);
  experiment.workdir = reader.filled_text("workdir");
  experiment.monitor_s = reader.duration("monitor");
  assign(experiment.merged_output, reader.choice<bool>("output", {{"per_rank", false}, {"merged", true}}));
  if (const YamlNode* node = reader.take("retries")) read_retries(*node, experiment, diagnostics);
  if (const YamlNode* node = reader.take("continue")) read_continuation(*node, experiment, diagnostics);
  if (const YamlNode* node = reader.take("report")) read_report(*node, parsed, diagnostics);
  pair_within_blocks(parsed);
  if (const YamlNode* node = reader.take("limits")) read_limits(*node, experiment, diagnostics);
  if (const YamlNode* node = reader.take("budget")) read_budget(*node, experiment, diagnostics);
  if (const YamlNode* node = reader.take("import")) read_imports(*node, parsed, diagnostics);
}

/// The index (with the files of SQLite beside it) and the note of the last run lie beside the folders of studies.
bool is_taken_name(std::string_view name) { return name.starts_with("hpcbench.db") || name == "last_run.json"; }

void read_name(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  assign(parsed.experiment.name, reader.filled_text("experiment"));
  if (is_taken_name(parsed.experiment.name)) {
    diagnostics.add(parsed.root->find("experiment")->location,
                    fmt::format("{} is a file of hpcbench's own in the folder of results", cite(parsed.experiment.name)),
                    "choose another name");
  }
  if (parsed.experiment.name.empty() || is_plain_name(parsed.experiment.name)) return;
  diagnostics.add(parsed.root->find("experiment")->location,
                  fmt::format("{} is no plain file name", cite(parsed.experiment.name)),
                  "results go to a folder of this name: letters, digits, `.`, `_` and `-`, not starting with `.` or `-`");
}

/// Sites are no axis: each has a queue, modules and results of its own.
void refuse_sites(MapReader& reader, Diagnostics& diagnostics) {
  for (const char* const key : {"sites", "site"}) {
    if (!reader.has(key)) continue;
    reader.take(key);
    diagnostics.add(
        reader.location_of(key), fmt::format("a study runs on one site: `{}` cannot stand in the file", key),
        "run the file on each, `hpcbench run FILE --site NAME --results FOLDER`, then `hpcbench compare FILE --results "
        "FOLDER FOLDER`");
  }
}

void read_parts(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  read_settings(reader, parsed, diagnostics);
  read_work(reader, parsed, diagnostics);
  read_points(reader, parsed, diagnostics);
  read_derived(reader, parsed, diagnostics);
  refuse_sites(reader, diagnostics);
  reader.finish();
}

const SourceLocation& place_of_key(const YamlNode& map, std::string_view key) { return map.keys[map.index_of(key)].location; }

/// The looks, as far as they were given.
void check_looks(const ParsedRepeats& repeats, Diagnostics& diagnostics) {
  const YamlNode& node = *repeats.node;
  const long long from = first_look(repeats);
  const long long to = last_look(repeats);
  if (repeats.looks.empty()) {
    if (from > to) {
      diagnostics.add(node.location, fmt::format("the first look is at {} runs of a row, the last one at {}", from, to),
                      "`from` is 8 and `to` 40 unless the file says otherwise");
    }
  } else if (!std::is_sorted(repeats.looks.begin(), repeats.looks.end(), std::less_equal<>())) {
    diagnostics.add(node.find("looks")->location, "`looks` are numbers of runs, each larger than the one before",
                    "looks: [8, 11, 15, 20, 27, 36, 40]");
  } else if (from != repeats.looks.front() || to != repeats.looks.back()) {
    diagnostics.add(place_of_key(node, from != repeats.looks.front() ? "from" : "to"),
                    fmt::format("`looks` go from {} to {}", repeats.looks.front(), repeats.looks.back()),
                    "beside `looks` leave out `from` and `to`");
  }
  if (repeats.looks.size() > kMostLooks) {
    diagnostics.add(
        node.find("looks")->location,
        fmt::format("{} looks are too many: each costs certainty, and {} are allowed", repeats.looks.size(), kMostLooks),
        "looks: [8, 11, 15, 20, 27, 36, 40]");
  }
}

/// Whether the report's metric has speedups, by its unit, its name or `better`.
bool has_direction(const ParsedExperiment& parsed) {
  const std::string name = parsed.experiment.report_metric();
  const auto is_directed = [&](const std::vector<Metric>& metrics) {
    return std::any_of(metrics.begin(), metrics.end(), [&](const Metric& metric) {
      return metric.name == name && kind_of_metric(name, metric.unit, metric.better).better;
    });
  };
  return kind_of_metric(name, "", std::nullopt).better || is_directed(parsed.experiment.work.metrics) ||
         is_directed(parsed.experiment.described) ||
         std::any_of(parsed.overrides.begin(), parsed.overrides.end(), [&](const ParsedOverride& entry) {
           return entry.override_.metrics && is_directed(*entry.override_.metrics);
         });
}

/// What `of: speedup` is about must be there.
void check_half_width(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  const ParsedRepeats& repeats = *parsed.repeats;
  if (repeats.node->index_of("until") == YamlNode::npos) {
    diagnostics.add(repeats.node->location, "`repeats` needs `until`: how narrow the interval of every row is to be",
                    kRepeatsForm);
  }
  if (repeats.of != RepeatRule::Of::speedup) return;
  if (!parsed.baseline) {
    diagnostics.add(place_of_key(*repeats.node, "of"), "there are no speedups without `baseline`",
                    "baseline: {strategy: baseline}, or `of: metric`");
  } else if (!has_direction(parsed)) {
    const std::string name = parsed.experiment.report_metric();
    diagnostics.add(place_of_key(*repeats.node, "of"),
                    fmt::format("{} has no speedup: neither its unit nor its name is that of a time or a rate", cite(name)),
                    fmt::format("add `better: higher` (or `lower`) to its entry of `metrics`, which may be {{name: {}, better: "
                                "higher}} alone; or write `of: metric`",
                                name));
  }
}

/// A block is one repeat of every configuration; blocks are what is added, or left out.
void refuse_sequential(const ParsedExperiment& parsed, const std::string& what, Diagnostics& diagnostics) {
  if (parsed.experiment.order != Order::sequential) return;
  const YamlNode* order = parsed.root->find("order");
  diagnostics.add(
      order == nullptr ? parsed.root->location : order->location,
      fmt::format("{} begins whole blocks, one repeat of every configuration, and `order: sequential` has none", what),
      "remove `order`: interleaved is the default");
}

}  // namespace

void check_repeats(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  if (parsed.experiment.budget) refuse_sequential(parsed, "`budget`", diagnostics);
  if (!parsed.repeats) return;
  check_looks(*parsed.repeats, diagnostics);
  check_half_width(parsed, diagnostics);
  if (!parsed.experiment.budget) refuse_sequential(parsed, "`repeats` with `until`", diagnostics);
  if (parsed.root->index_of("import") != YamlNode::npos) {
    diagnostics.add(place_of_key(*parsed.root, "import"),
                    "imported runs were not made at the looks of `repeats`, and would make its intervals wrong",
                    "import them in a study of their own; `hpcbench compare` compares the two");
  }
}

void settle_repeats(const ParsedExperiment& parsed, Experiment& experiment) {
  if (!parsed.repeats) return;
  const ParsedRepeats& repeats = *parsed.repeats;
  for (const long long look : looks_of(repeats)) experiment.report.looks.push_back(static_cast<int>(look));
  experiment.repeats = experiment.report.looks.back();
  experiment.repeat_rule = RepeatRule{repeats.until.value_or(0), repeats.of, describe_place(repeats.node->location)};
}

void read_root(const YamlNode& root, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  parsed.root = &root;
  MapReader reader(root, "", experiment_keys(), diagnostics);
  read_name(reader, parsed, diagnostics);
  reader.take("profiles");
  reader.take("use");  // laid under the file before
  read_parts(reader, parsed, diagnostics);
}

void check_profile(const YamlNode& said, const ParsedExperiment& base, Diagnostics& diagnostics) {
  refuse_vain_removals(*base.root, said, diagnostics);
  const YamlNode profile = without_removals(said);
  ParsedExperiment parsed;
  parsed.root = &profile;
  parsed.experiment.work.shell = base.experiment.work.shell;
  MapReader reader(profile, "", experiment_keys(), diagnostics);
  for (const char* const key : {"experiment", "profiles", "use"}) {
    if (const std::size_t index = said.index_of(key); index != YamlNode::npos)
      diagnostics.add(said.keys[index].location, fmt::format("a profile cannot change `{}`", key));
    reader.take(key);
  }
  read_parts(reader, parsed, diagnostics);
}

void read_cost_limits(MapReader& reader, const YamlNode& node, CostLimits& limits, Diagnostics& diagnostics) {
  for (const CostUnit unit : kCostUnits) {
    const std::optional<double> hours = reader.number(key_of(unit));
    if (hours) limits.of(unit) = hours;
    if (hours.value_or(0) < 0)
      diagnostics.add(node.find(key_of(unit))->location, fmt::format("`limits.{}` cannot be below 0", key_of(unit)));
  }
}

}  // namespace hpcbench

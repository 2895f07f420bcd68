#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "spec/checks.hpp"
#include "spec/fields.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

const std::vector<std::string>& trainer_tasks() { return experiment_keys().find("trainer")->words; }

const std::vector<std::string>& trainer_strategies() {
  static const std::vector<std::string> kStrategies = {"baseline", "dp", "ddp", "fsdp", "zero1", "zero2", "deepspeed"};
  return kStrategies;
}

const std::vector<std::string>& trainer_settings() {
  static const std::vector<std::string> kSettings = {"nodes",
                                                     "gpus_per_node",
                                                     "strategy",
                                                     "data",
                                                     "epochs",
                                                     "max_steps",
                                                     "batch_size",
                                                     "global_batch",
                                                     "accumulate",
                                                     "accumulate_by",
                                                     "loss_average",
                                                     "train_share",
                                                     "shuffle",
                                                     "order",
                                                     "optimizer",
                                                     "lr",
                                                     "momentum",
                                                     "weight_decay",
                                                     "decay_bias",
                                                     "schedule",
                                                     "warmup_steps",
                                                     "warmup_share",
                                                     "clip",
                                                     "precision",
                                                     "dropout",
                                                     "gamma",
                                                     "hidden",
                                                     "batch_norm",
                                                     "preset",
                                                     "model",
                                                     "vocab",
                                                     "cased",
                                                     "eval_data",
                                                     "max_length",
                                                     "doc_stride",
                                                     "max_train_examples",
                                                     "padding",
                                                     "pad_in_softmax",
                                                     "attention",
                                                     "dropout_bits",
                                                     "checkpoint_activations",
                                                     "cache",
                                                     "eval",
                                                     "patience",
                                                     "bucket_cap_mb",
                                                     "exchange",
                                                     "gradient_compression",
                                                     "tf32",
                                                     "deterministic",
                                                     "device",
                                                     "kernels",
                                                     "flavour",
                                                     "wrap",
                                                     "reshard_after_forward",
                                                     "shard_size",
                                                     "devices",
                                                     "checkpoint",
                                                     "checkpoint_every",
                                                     "checkpoint_format",
                                                     "resume",
                                                     "save",
                                                     "output",
                                                     "events",
                                                     "tensorboard",
                                                     "log_every",
                                                     "trace",
                                                     "timeout",
                                                     "bind",
                                                     "cuda_graphs"};
  return kSettings;
}

bool is_trainer_setting(const std::string& name) {
  const std::vector<std::string>& known = trainer_settings();
  return std::find(known.begin(), known.end(), name) != known.end();
}

namespace {

/// A value of `strategy` and the node that says it.
struct SaidStrategy {
  Value value;
  const YamlNode* node = nullptr;
};

std::vector<SaidStrategy> said_strategies(const ParsedExperiment& parsed) {
  std::vector<SaidStrategy> said;
  for (const ParsedAxis* axis : parsed.product_axes()) {
    if (axis->axis.name != "strategy") continue;
    for (std::size_t i = 0; i < axis->axis.values.size(); ++i) said.push_back({axis->axis.values[i], &axis->node->items[i]});
  }
  for (const ParsedPoint& entry : parsed.include) {
    if (const Value* value = find_binding(entry.point, "strategy")) said.push_back({*value, entry.node->find("strategy")});
  }
  if (const Value* value = find_binding(parsed.experiment.work.parameters, "strategy")) {
    said.push_back({*value, parsed.root->find("parameters")->find("strategy")});
  }
  for (const ParsedOverride& entry : parsed.overrides) {
    if (const Value* value = find_binding(entry.override_.parameters, "strategy")) {
      said.push_back({*value, entry.node->find("parameters")->find("strategy")});
    }
  }
  return said;
}

/// The points that are trained by a command of an override, not by the built-in trainer.
std::vector<const Condition*> points_with_command(const ParsedExperiment& parsed) {
  std::vector<const Condition*> conditions;
  for (const ParsedOverride& entry : parsed.overrides) {
    if (entry.override_.command) conditions.push_back(&entry.when.condition);
  }
  return conditions;
}

bool check_known(const PointSpace& space, const SaidStrategy& said, const std::vector<const Condition*>& foreign,
                 Diagnostics& diagnostics) {
  const std::vector<std::string>& known = trainer_strategies();
  const std::string& name = said.value.text();
  if (std::find(known.begin(), known.end(), name) != known.end()) return true;
  // A strategy that only commands of overrides carry out is none of the trainer's.
  if (space.has_axis("strategy") && !foreign.empty() && !space.find_point({{"strategy", {said.value}}}, foreign)) return false;
  diagnostics.add(said.node->location,
                  fmt::format("the built-in trainer has no strategy {}{}", cite(name), did_you_mean(name, known)),
                  "strategies there are: " + cite_all(known));
  return false;
}

/// `baseline` on several gpus would leave all but one idle: the numbers would say nothing. `dp` is one process, so on one node.
void check_one_gpu(const PointSpace& space, const SaidStrategy& said, const std::vector<const Condition*>& foreign,
                   Diagnostics& diagnostics) {
  const bool axis = space.has_axis("strategy");
  const bool dp = said.value.text() == "dp";
  for (const char* const name : {"nodes", "gpus_per_node"}) {
    if (dp && name == std::string("gpus_per_node")) continue;
    std::vector<Value> several;
    std::vector<std::string> texts;
    for (const Value& value : space.some_values(name)) {
      if (value.integer().value_or(1) <= 1) continue;
      several.push_back(value);
      texts.push_back(value.text());
    }
    Condition condition = {{name, several}};
    if (axis) condition.emplace_back("strategy", std::vector{said.value});
    if (several.empty() || !space.find_point(condition, foreign)) continue;
    const std::string values = texts.size() == 1 ? texts[0] : '[' + join(texts, ", ") + ']';
    diagnostics.add(said.node->location,
                    fmt::format("the strategy `{}` is one process on one {}, but `{}` is {} in some of its points",
                                said.value.text(), dp ? "node" : "gpu", name, texts[0]),
                    axis ? fmt::format("exclude: [{{strategy: {}, {}: {}}}]", said.value.text(), name, values)
                         : "make `strategy` an axis of `matrix`");
  }
}

/// A parameter or an axis that the trainer does not know would fail every run: it is refused before the first.
void check_settings(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  const auto check = [&](const std::string& name, const SourceLocation& location) {
    const std::vector<std::string>& known = trainer_settings();
    if (name == kRanksPerNode || std::find(known.begin(), known.end(), name) != known.end()) return;
    diagnostics.add(location, fmt::format("the built-in trainer has no setting {}{}", cite(name), did_you_mean(name, known)),
                    "settings there are: " + join(known, ", "));
  };
  const auto check_map = [&](const YamlNode* map) {
    for (std::size_t i = 0; map != nullptr && map->is_map() && i < map->keys.size(); ++i)
      check(map->keys[i].name, map->keys[i].location);
  };
  check_map(parsed.root->find("parameters"));
  for (const ParsedAxis* axis : parsed.product_axes()) check(axis->axis.name, axis->name_location);
  for (const ParsedOverride& entry : parsed.overrides) check_map(entry.node->find("parameters"));
}

void check_no_ranks(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  for (const ParsedAxis* axis : parsed.product_axes()) {
    if (axis->axis.name != kRanksPerNode) continue;
    diagnostics.add(axis->name_location, "the built-in trainer has one rank for each gpu: `ranks_per_node` is for a `command`",
                    "say gpus_per_node");
  }
}

/// Lists are arguments, and the trainer has settings.
void check_no_lists(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  const auto check = [&](const std::string& name, const Value& value, const YamlNode& node) {
    if (value.list() == nullptr || !is_trainer_setting(name)) return;
    diagnostics.add(node.location, fmt::format("the setting {} of the built-in trainer is one value, not a list", cite(name)),
                    "lists are arguments of a `command`");
  };
  for (const ParsedAxis* axis : parsed.product_axes()) {
    for (std::size_t i = 0; i < axis->axis.values.size(); ++i)
      check(axis->axis.name, axis->axis.values[i], axis->node->items[i]);
  }
  for (const ParsedPoint& entry : parsed.include) {
    for (std::size_t i = 0; i < entry.point.size(); ++i)
      check(entry.point[i].first, entry.point[i].second, entry.node->items[i]);
  }
}

}  // namespace

void check_trainer(const ParsedExperiment& parsed, const PointSpace& space, bool points, Diagnostics& diagnostics) {
  if (!parsed.experiment.work.trainer) return;
  const std::vector<const Condition*> foreign = points_with_command(parsed);
  // Where overrides have commands of their own, axes and parameters may be theirs.
  if (foreign.empty()) check_settings(parsed, diagnostics);
  check_no_lists(parsed, diagnostics);
  check_no_ranks(parsed, diagnostics);
  for (const SaidStrategy& said : said_strategies(parsed)) {
    if (diagnostics.full()) return;
    if (said.value.list() != nullptr) continue;  // refused before
    const bool one_process = said.value.text() == "baseline" || said.value.text() == "dp";
    if (check_known(space, said, foreign, diagnostics) && points && one_process) {
      check_one_gpu(space, said, foreign, diagnostics);
    }
  }
}

}  // namespace hpcbench

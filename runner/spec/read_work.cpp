#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/placeholders.hpp"
#include "spec/read_experiment.hpp"
#include "spec/sbatch_options.hpp"

namespace hpcbench {

namespace {

std::optional<Launch> read_launch(MapReader& reader) {
  return reader.choice<Launch>("launch", {{"rank", Launch::rank}, {"node", Launch::node}, {"once", Launch::once}});
}

/// The keys of `resources` that were given.
struct ParsedResources {
  std::optional<double> time_s;
  std::optional<int> cpus_per_task;
  std::optional<std::string> mem, gres, constraint;
  std::optional<bool> exclusive;
  std::optional<std::vector<std::string>> extra;
};

bool is_memory(std::string_view text) {
  if (!text.empty() && std::string_view("KMGT").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return !text.empty() && text.size() <= 12 && text.find_first_not_of("0123456789") == std::string_view::npos &&
         text.find_first_not_of('0') != std::string_view::npos;
}

ParsedResources read_resources(const YamlNode& node, Diagnostics& diagnostics) {
  constexpr long long kMostCpus = 10'000;
  MapReader reader(node, "resources", diagnostics);
  ParsedResources parsed;
  parsed.time_s = reader.duration("time");
  assign(parsed.cpus_per_task, reader.integer("cpus_per_task", 1, kMostCpus));
  parsed.mem = reader.filled_text("mem");
  if (parsed.mem && !is_memory(*parsed.mem) && find_placeholders(*parsed.mem).empty()) {
    diagnostics.add(node.find("mem")->location, fmt::format("`resources.mem` cannot be {}", cite(*parsed.mem)),
                    "write a number with K, M, G or T: 32G");
  }
  parsed.gres = reader.filled_text("gres");
  parsed.constraint = reader.filled_text("constraint");
  parsed.exclusive = reader.flag("exclusive");
  parsed.extra = reader.texts_or_none("extra");
  if (parsed.extra) check_sbatch_options(*node.find("extra"), *parsed.extra, "resources.extra", diagnostics);
  refuse_placeholders_in(node, {"mem", "gres", "constraint", "extra"}, "resources",
                         "give points their own in `overrides`: {when: {nodes: 2}, resources: {mem: 64G}}", diagnostics);
  reader.finish();
  return parsed;
}

void apply(const ParsedResources& parsed, Resources& resources) {
  if (parsed.time_s) resources.time_s = parsed.time_s;
  assign(resources.cpus_per_task, parsed.cpus_per_task);
  if (parsed.mem) resources.mem = parsed.mem;
  if (parsed.gres) resources.gres = parsed.gres;
  if (parsed.constraint) resources.constraint = parsed.constraint;
  assign(resources.exclusive, parsed.exclusive);
  assign(resources.extra, parsed.extra);
}

void apply(const ParsedResources& parsed, Override& target) {
  if (parsed.time_s) target.time_s = parsed.time_s;
  target.cpus_per_task = parsed.cpus_per_task;
  target.mem = parsed.mem;
  target.gres = parsed.gres;
  target.constraint = parsed.constraint;
  target.exclusive = parsed.exclusive;
  target.extra = parsed.extra;
}

struct ParsedSuccess {
  std::optional<int> exit_code;
  std::optional<std::string> pattern;
  std::optional<std::vector<LocatedExpression>> require;
};

/// Conditions of a list, or one by itself.
std::vector<LocatedExpression> read_requirements(const YamlNode& node, Diagnostics& diagnostics) {
  std::vector<LocatedExpression> conditions;
  const auto add = [&](const YamlNode& item) {
    if (auto condition = LocatedExpression::read(item, "`success.require`", diagnostics)) conditions.push_back(*condition);
  };
  if (node.is_scalar()) {
    add(node);
  } else if (expect_list(node, "`success.require`", diagnostics)) {
    for (const YamlNode& item : node.items) add(item);
  }
  return conditions;
}

ParsedSuccess read_success(MapReader& reader, Diagnostics& diagnostics) {
  ParsedSuccess parsed;
  const YamlNode* node = reader.take("success");
  if (node == nullptr) return parsed;
  MapReader success(*node, "success", diagnostics);
  assign(parsed.exit_code, success.integer("exit_code", 0, 255));
  parsed.pattern = success.filled_text("pattern");
  if (parsed.pattern) check_pattern(*node->find("pattern"), *parsed.pattern, diagnostics);
  if (const YamlNode* require = success.take("require")) parsed.require = read_requirements(*require, diagnostics);
  refuse_placeholders_in(*node, {"pattern"}, "success", "give points their own in `overrides`; [{][{]name}} is the text itself",
                         diagnostics);
  success.finish();
  return parsed;
}

/// A list of arguments, or one text where a shell is to read it.
std::optional<std::vector<std::string>> read_command(MapReader& reader, std::string_view key, bool shell,
                                                     Diagnostics& diagnostics) {
  const YamlNode* node = reader.take(key);
  if (node == nullptr) return std::nullopt;
  const std::string what = cite(reader.path(key));
  if (shell) {
    if (node->is_list()) {
      diagnostics.add(node->location, fmt::format("with `shell: true`, {} is one text, not a list", what),
                      "write the line as a shell reads it, or remove `shell: true`");
      return std::nullopt;
    }
    const std::optional<std::string> text = read_text(*node, what, diagnostics);
    if (!text) return std::nullopt;
    if (!trim(*text).empty()) return std::vector{*text};
    diagnostics.add(node->location, what + " is an empty text");
    return std::nullopt;
  }
  if (node->is_scalar()) {
    diagnostics.add(node->location, what + " must be a list of arguments, not one text",
                    "write [program, \"--size={{size}}\"], or add `shell: true` if a shell is to read it");
    return std::nullopt;
  }
  const auto arguments = read_texts(*node, what, diagnostics);
  if (arguments && arguments->front().empty()) diagnostics.add(node->items[0].location, "the program's name is empty");
  return arguments;
}

std::optional<ParsedOverride> read_override(const YamlNode& node, bool shell, Diagnostics& diagnostics) {
  MapReader reader(node, "overrides", diagnostics);
  if (!node.is_map()) return std::nullopt;
  ParsedOverride parsed;
  parsed.node = &node;
  Override& target = parsed.override_;
  target.place = place_of(node.location);
  const YamlNode* when = reader.take("when");
  if (!reader.has("when")) diagnostics.add(node.location, "an override needs `when`", "when: {strategy: ddp}");
  std::optional<ParsedCondition> condition;
  if (when != nullptr) condition = read_point_condition(*when, "`when`", diagnostics);
  target.command = read_command(reader, "command", shell, diagnostics);
  target.launch = read_launch(reader);
  if (const YamlNode* parameters = reader.take("parameters")) {
    assign(target.parameters, read_bindings(*parameters, "`parameters`", diagnostics));
  }
  if (const YamlNode* resources = reader.take("resources")) apply(read_resources(*resources, diagnostics), target);
  target.setup = reader.texts_or_none("setup");
  target.metrics = read_metrics(reader, false, diagnostics);
  const ParsedSuccess success = read_success(reader, diagnostics);
  target.success_exit_code = success.exit_code;
  target.success_pattern = success.pattern;
  target.success_require = success.require;
  if (reader.has("when") && node.items.size() == 1) diagnostics.add(node.location, "this override changes nothing");
  reader.finish();
  if (!condition) return std::nullopt;
  parsed.when = *condition;
  target.when = condition->condition;
  return parsed;
}

}  // namespace

void read_work(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  Work& work = parsed.experiment.work;
  work.trainer = reader.filled_text("trainer");
  const std::vector<std::string>& tasks = trainer_tasks();
  if (work.trainer && std::find(tasks.begin(), tasks.end(), *work.trainer) == tasks.end()) {
    diagnostics.add(parsed.root->find("trainer")->location,
                    fmt::format("there is no task {}{}", cite(*work.trainer), did_you_mean(*work.trainer, tasks)),
                    "tasks of the built-in trainer: " + cite_all(tasks));
  }
  assign(work.shell, reader.flag("shell"));
  assign(work.command, read_command(reader, "command", work.shell, diagnostics));
  assign(work.launch, read_launch(reader));
  if (const YamlNode* node = reader.take("parameters"))
    assign(work.parameters, read_bindings(*node, "`parameters`", diagnostics));
  if (const YamlNode* node = reader.take("resources")) apply(read_resources(*node, diagnostics), work.resources);
  assign(work.modules, reader.texts_or_none("modules"));
  refuse_placeholders_in(*parsed.root, {"modules"}, "", kModulesAdvice, diagnostics);
  assign(work.setup, reader.texts_or_none("setup"));
  read_start(reader, parsed, diagnostics);
  assign(work.metrics, read_metrics(reader, false, diagnostics));
  const ParsedSuccess success = read_success(reader, diagnostics);
  assign(work.success.exit_code, success.exit_code);
  if (success.pattern) work.success.pattern = success.pattern;
  assign(work.success.require, success.require);
  const YamlNode* overrides = reader.take("overrides");
  if (overrides == nullptr || !expect_list(*overrides, "`overrides`", diagnostics)) return;
  for (const YamlNode& item : overrides->items) {
    if (diagnostics.full()) return;
    if (auto read = read_override(item, work.shell, diagnostics)) parsed.overrides.push_back(*std::move(read));
  }
}

}  // namespace hpcbench

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/placeholders.hpp"
#include "spec/point_values.hpp"
#include "spec/read_experiment.hpp"
#include "spec/sbatch_options.hpp"

namespace hpcbench {

namespace {

std::optional<Launch> read_launch(MapReader& reader) {
  return reader.choice<Launch>("launch", {{"rank", Launch::rank}, {"node", Launch::node}, {"once", Launch::once}});
}

/// A text with placeholders, in place of a value; true if the key has one.
bool take_text(MapReader& reader, const YamlNode& map, const char* key, std::vector<FilledText>& texts) {
  const YamlNode* node = map.is_map() ? map.find(key) : nullptr;
  if (node == nullptr || !node->is_scalar() || find_placeholders(node->text).empty()) return false;
  reader.take(key);
  texts.push_back({key, node->text, place_of(node->location)});
  return true;
}

/// Which options there are is checked here, so it cannot depend on a point.
void refuse_named_options(const YamlNode& extra, Diagnostics& diagnostics) {
  for (const YamlNode& item : extra.items) {
    for (const Placeholder& placeholder : find_placeholders(item.text)) {
      if (placeholder.spread || placeholder.offset > item.text.find('=')) continue;
      diagnostics.add(location_of_placeholder(item, item.text, placeholder),
                      fmt::format("{{{{{}}}}} cannot be part of an option's name in `resources.extra`", placeholder.name),
                      "write the option's long form, and the placeholder behind `=`: \"--comment={{name}}\"");
    }
  }
}

ResourcesOverlay read_resources(const YamlNode& node, Diagnostics& diagnostics) {
  MapReader reader(node, "resources", resources_keys(), diagnostics);
  ResourcesOverlay parsed;
  const auto has_text = [&](const char* key) { return take_text(reader, node, key, parsed.texts); };
  if (!has_text("time")) parsed.time_s = reader.duration("time");
  if (!has_text("cpus_per_task")) assign(parsed.cpus_per_task, reader.integer("cpus_per_task"));
  if (!has_text("mem")) parsed.mem = reader.filled_text("mem");
  if (parsed.mem && !is_memory(*parsed.mem)) {
    diagnostics.add(node.find("mem")->location, fmt::format("`resources.mem` cannot be {}", cite(*parsed.mem)),
                    "write a number with K, M, G or T: 32G");
  }
  if (!has_text("gres")) parsed.gres = reader.filled_text("gres");
  if (!has_text("constraint")) parsed.constraint = reader.filled_text("constraint");
  if (!has_text("exclusive")) parsed.exclusive = reader.flag("exclusive");
  parsed.extra = reader.texts_or_none("extra");
  if (parsed.extra) check_sbatch_options(*node.find("extra"), *parsed.extra, "resources.extra", diagnostics);
  if (parsed.extra) refuse_named_options(*node.find("extra"), diagnostics);
  reader.finish();
  return parsed;
}

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

SuccessOverlay read_success(MapReader& reader, Diagnostics& diagnostics) {
  SuccessOverlay parsed;
  const YamlNode* node = reader.take("success");
  if (node == nullptr) return parsed;
  MapReader success(*node, "success", success_keys(), diagnostics);
  assign(parsed.exit_code, success.integer("exit_code"));
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
  if (arguments) refuse_shell_syntax(*node, *arguments, diagnostics);
  return arguments;
}

/// The keys that the file and its overrides share, up to `setup`.
void read_start_of_overlay(MapReader& reader, WorkOverlay& target, bool shell, Diagnostics& diagnostics) {
  target.command = read_command(reader, "command", shell, diagnostics);
  target.launch = read_launch(reader);
  if (const YamlNode* parameters = reader.take("parameters"))
    assign(target.parameters, read_bindings(*parameters, "`parameters`", diagnostics));
  if (const YamlNode* resources = reader.take("resources")) target.resources = read_resources(*resources, diagnostics);
  target.partition = reader.filled_text("partition");
  target.modules = reader.texts_or_none("modules");
  target.setup = reader.texts_or_none("setup");
}

/// From `files` on. `described`: as read_metrics has it.
void read_end_of_overlay(MapReader& reader, WorkOverlay& target, Diagnostics& diagnostics,
                         std::vector<Metric>* described = nullptr) {
  target.files = read_decks(reader, diagnostics);
  target.metrics = read_metrics(reader, false, diagnostics, described);
  target.success = read_success(reader, diagnostics);
}

std::optional<ParsedOverride> read_override(const YamlNode& node, bool shell, Diagnostics& diagnostics) {
  MapReader reader(node, "overrides", override_keys(), diagnostics);
  if (!node.is_map()) return std::nullopt;
  ParsedOverride parsed;
  parsed.node = &node;
  Override& target = parsed.override_;
  target.place = place_of(node.location);
  const YamlNode* when = reader.take("when");
  if (!reader.has("when")) diagnostics.add(node.location, "an override needs `when`", "when: {strategy: ddp}");
  std::optional<ParsedCondition> condition;
  if (when != nullptr) condition = read_point_condition(*when, "`when`", diagnostics);
  read_start_of_overlay(reader, target, shell, diagnostics);
  assign(target.environment, read_environment(reader, diagnostics));
  target.container = read_container(reader, diagnostics);
  read_end_of_overlay(reader, target, diagnostics);
  if (reader.has("when") && node.items.size() == 1) diagnostics.add(node.location, "this override changes nothing");
  reader.finish();
  if (!condition) return std::nullopt;
  parsed.when = *condition;
  target.when = condition->condition;
  return parsed;
}

}  // namespace

void read_resources(const YamlNode& node, Resources& resources, Diagnostics& diagnostics) {
  merge(resources, read_resources(node, diagnostics));
}

void read_work(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  Work& work = parsed.experiment.work;
  const std::optional<std::string> trainer = reader.filled_text("trainer");
  const std::vector<std::string>& tasks = trainer_tasks();
  if (trainer && std::find(tasks.begin(), tasks.end(), *trainer) == tasks.end()) {
    diagnostics.add(parsed.root->find("trainer")->location,
                    fmt::format("there is no task {}{}", cite(*trainer), did_you_mean(*trainer, tasks)),
                    "tasks of the built-in trainer: " + cite_all(tasks));
  }
  assign(work.shell, reader.flag("shell"));
  WorkOverlay start, end;
  read_start_of_overlay(reader, start, work.shell, diagnostics);
  merge(work, start);
  work.trainer = trainer;  // beside a command, it is refused later
  read_start(reader, parsed, diagnostics);
  read_end_of_overlay(reader, end, diagnostics, &parsed.experiment.described);
  merge(work, end);
  const YamlNode* overrides = reader.take("overrides");
  if (overrides == nullptr || !expect_list(*overrides, "`overrides`", diagnostics)) return;
  for (const YamlNode& item : overrides->items) {
    if (diagnostics.full()) return;
    if (auto read = read_override(item, work.shell, diagnostics)) parsed.overrides.push_back(*std::move(read));
  }
}

}  // namespace hpcbench

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

namespace {

/// Where it is made, and what its job asks for.
void read_on(MapReader& reader, const YamlNode& node, Preparation& preparation, Diagnostics& diagnostics) {
  assign(preparation.on_job, reader.choice<bool>("on", {{"login", false}, {"job", true}}));
  preparation.partition = reader.filled_text("partition");
  if (const YamlNode* resources = reader.take("resources")) {
    read_resources(*resources, preparation.resources, diagnostics);
    refuse_placeholders_in(*resources, {"time", "cpus_per_task", "mem", "gres", "constraint", "exclusive", "extra"},
                           "resources", "of a preparation's job only the `partition` may depend on the point", diagnostics);
  }
  for (const char* const key : {"partition", "resources"}) {
    if (preparation.on_job || node.find(key) == nullptr) continue;
    diagnostics.add(node.find(key)->location, fmt::format("`{}` of a preparation is for a job of its own", key),
                    "add `on: job`, or remove it: without a job `hpcbench run` makes it where it is called");
  }
}

void read_inputs(MapReader& reader, const YamlNode& node, Preparation& preparation, Diagnostics& diagnostics) {
  assign(preparation.inputs, reader.texts("inputs"));
  const YamlNode* inputs = node.find("inputs");
  if (inputs == nullptr || !inputs->is_list()) return;
  for (const YamlNode& item : inputs->items) {
    if (item.is_scalar()) {
      refuse_placeholders(item, item.text, "`inputs`", "a pattern may name more files than one: src/*.c", diagnostics);
    }
  }
}

std::optional<ParsedPreparation> read_preparation(const YamlKey& key, const YamlNode& node, const Site& site,
                                                  Diagnostics& diagnostics) {
  const std::string what = "prepare." + key.name;
  const bool named = check_name(key, "a preparation", diagnostics);
  if (!expect_map(node, cite(what), diagnostics)) return std::nullopt;
  MapReader reader(node, what, preparation_keys(), diagnostics);
  ParsedPreparation parsed{{}, key.location, &node};
  Preparation& preparation = parsed.preparation;
  preparation.name = key.name;
  preparation.place = place_of(key.location);
  assign(preparation.command, reader.texts("command"));
  if (!preparation.command.empty()) refuse_shell_syntax(*node.find("command"), preparation.command, diagnostics);
  preparation.modules = site.modules;
  preparation.setup = site.setup;
  preparation.environment = site.environment;
  assign(preparation.modules, reader.texts_or_none("modules"));
  for (auto& [name, value] : read_environment(reader, diagnostics).value_or(Variables())) {
    std::erase_if(preparation.environment, [&](const auto& variable) { return variable.first == name; });
    preparation.environment.emplace_back(name, value);
  }
  read_on(reader, node, preparation, diagnostics);
  read_inputs(reader, node, preparation, diagnostics);
  reader.finish();
  return named ? std::optional(std::move(parsed)) : std::nullopt;
}

/// Depth first, so that what one needs comes before it.
class NeedWalk {
 public:
  explicit NeedWalk(const std::vector<ParsedPreparation>& entries) : entries_(entries), states_(entries.size(), State::fresh) {
    for (std::size_t i = 0; i < entries.size(); ++i) visit(i);
  }

  std::vector<std::size_t> order;
  std::vector<std::string> cycle;  // the first one again at the end

 private:
  enum class State { fresh, open, done };

  void visit(std::size_t index) {
    states_[index] = State::open;
    path_.push_back(entries_[index].preparation.name);
    for (const GivenText& given : texts_of_preparation(entries_[index])) {
      for (const Placeholder& placeholder : find_placeholders(given.text)) follow(placeholder.name, index);
    }
    path_.pop_back();
    states_[index] = State::done;
    order.push_back(index);
  }

  void follow(const std::string& name, std::size_t from) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const ParsedPreparation& each) { return each.preparation.dir() == name; });
    const auto index = static_cast<std::size_t>(found - entries_.begin());
    if (found == entries_.end() || index == from) return;  // its own folder
    if (states_[index] == State::fresh) visit(index);
    if (states_[index] != State::open || !cycle.empty()) return;
    cycle.assign(std::find(path_.begin(), path_.end(), found->preparation.name), path_.end());
    cycle.push_back(found->preparation.name);
  }

  const std::vector<ParsedPreparation>& entries_;
  std::vector<State> states_;
  std::vector<std::string> path_;
};

/// What else of a file has this name; empty if nothing.
std::string other_owner(const ParsedExperiment& parsed, const std::string& name) {
  const std::vector<std::string> axes = parsed.axis_names();
  if (std::find(axes.begin(), axes.end(), name) != axes.end()) return "an axis";
  const auto is_derived = [&](const ParsedDerived& each) { return each.derived.name == name; };
  if (std::any_of(parsed.derive.begin(), parsed.derive.end(), is_derived)) return "a derived value";
  const auto overrides_it = [&](const ParsedOverride& each) {
    return find_binding(each.override_.parameters, name) != nullptr;
  };
  const bool is_parameter = find_binding(parsed.experiment.work.parameters, name) != nullptr ||
                            std::any_of(parsed.overrides.begin(), parsed.overrides.end(), overrides_it);
  return is_parameter ? "a parameter" : "";
}

/// `prepare: [command]` in the environment of `hpcbench run`, once for all runs.
void read_command_for_all(const YamlNode& node, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  Preparation preparation;
  preparation.name = "prepare";
  assign(preparation.command, read_texts(node, "`prepare`", diagnostics));
  if (preparation.command.empty()) return;
  refuse_shell_syntax(node, preparation.command, diagnostics);
  preparation.for_all = true;
  preparation.place = place_of(node.location);
  parsed.preparations.push_back({std::move(preparation), node.location, &node});
}

}  // namespace

void read_prepare(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  const YamlNode* node = reader.take("prepare");
  if (node == nullptr) return;
  if (!node->is_map()) return read_command_for_all(*node, parsed, diagnostics);
  if (const YamlNode* command = node->find("command"); command != nullptr && !command->is_map()) {
    diagnostics.add(node->keys[node->index_of("command")].location, "`prepare` is a map of preparations by their names",
                    "prepare: {build: {command: [make]}}, or for a single command prepare: [make]");
    return;
  }
  for (std::size_t i = 0; i < node->items.size() && !diagnostics.full(); ++i) {
    if (auto read = read_preparation(node->keys[i], node->items[i], parsed.experiment.site, diagnostics)) {
      parsed.preparations.push_back(*std::move(read));
    }
  }
}

void check_preparations(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  for (const ParsedPreparation& entry : parsed.preparations) {
    if (entry.preparation.for_all) continue;
    const std::string& name = entry.preparation.name;
    if (entry.node->index_of("command") == YamlNode::npos) {  // that of a profile may stand in the file
      diagnostics.add(entry.name_location, fmt::format("{} has no `command`", cite("prepare." + name)), "command: [make]");
    }
    const std::string owner = other_owner(parsed, name);
    if (owner.empty()) continue;
    diagnostics.add(entry.name_location, fmt::format("{} is the name of {}, too", cite(name), owner),
                    "give the preparation another name");
  }
  const std::vector<std::string> cycle = NeedWalk(parsed.preparations).cycle;
  if (cycle.empty()) return;
  const auto first = std::find_if(parsed.preparations.begin(), parsed.preparations.end(),
                                  [&](const ParsedPreparation& each) { return each.preparation.name == cycle.front(); });
  diagnostics.add(first->name_location,
                  fmt::format("the preparation {} needs itself: {}", cite(cycle.front()), join(cycle, " <- ")),
                  "one of these must not use the folder of the next");
}

std::vector<GivenText> texts_of_preparation(const ParsedPreparation& entry) {
  std::vector<GivenText> texts = start_texts(*entry.node);
  for (GivenText& given : texts) {
    if (given.filled == GivenText::Filled::for_run) given.filled = GivenText::Filled::for_point;
  }
  const YamlNode* command = entry.preparation.for_all ? entry.node : entry.node->find("command");
  if (command == nullptr || !command->is_list()) return texts;
  for (const YamlNode& item : command->items) {
    if (item.is_scalar()) texts.push_back({item.text, &item, GivenText::Filled::modules});
  }
  return texts;
}

std::vector<Preparation> preparations_in_order(const ParsedExperiment& parsed) {
  std::vector<Preparation> ordered;
  for (const std::size_t i : NeedWalk(parsed.preparations).order) ordered.push_back(parsed.preparations[i].preparation);
  return ordered;
}

}  // namespace hpcbench

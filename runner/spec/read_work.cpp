#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "spec/draft.hpp"
#include "spec/fields.hpp"
#include "spec/placeholders.hpp"
#include "spec/read_experiment.hpp"
#include "spec/sbatch_options.hpp"

namespace hpcbench {

namespace {

std::optional<Launch> read_launch(MapReader& reader) {
  return reader.choice<Launch>("launch", {{"rank", Launch::rank}, {"node", Launch::node}, {"once", Launch::once}});
}

/// The keys of `resources` that were given.
struct ResourcesDraft {
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

ResourcesDraft read_resources(const YamlNode& node, Complaints& complaints) {
  constexpr long long kMostCpus = 10'000;
  MapReader reader(node, "resources", complaints);
  ResourcesDraft draft;
  draft.time_s = reader.duration("time");
  assign(draft.cpus_per_task, reader.integer("cpus_per_task", 1, kMostCpus));
  draft.mem = reader.filled_text("mem");
  if (draft.mem && !is_memory(*draft.mem) && find_placeholders(*draft.mem).empty()) {
    complaints.add(node.find("mem")->spot, fmt::format("`resources.mem` cannot be {}", cite(*draft.mem)),
                   "write a number with K, M, G or T: 32G");
  }
  draft.gres = reader.filled_text("gres");
  draft.constraint = reader.filled_text("constraint");
  draft.exclusive = reader.flag("exclusive");
  draft.extra = reader.texts_or_none("extra");
  if (draft.extra) check_sbatch_options(*node.find("extra"), *draft.extra, "resources.extra", complaints);
  refuse_placeholders_in(node, {"mem", "gres", "constraint", "extra"}, "resources",
                         "give points their own in `overrides`: {when: {nodes: 2}, resources: {mem: 64G}}", complaints);
  reader.finish();
  return draft;
}

void apply(const ResourcesDraft& draft, Resources& resources) {
  if (draft.time_s) resources.time_s = draft.time_s;
  assign(resources.cpus_per_task, draft.cpus_per_task);
  if (draft.mem) resources.mem = draft.mem;
  if (draft.gres) resources.gres = draft.gres;
  if (draft.constraint) resources.constraint = draft.constraint;
  assign(resources.exclusive, draft.exclusive);
  assign(resources.extra, draft.extra);
}

void apply(const ResourcesDraft& draft, Override& target) {
  if (draft.time_s) target.time_s = draft.time_s;
  target.cpus_per_task = draft.cpus_per_task;
  target.mem = draft.mem;
  target.gres = draft.gres;
  target.constraint = draft.constraint;
  target.exclusive = draft.exclusive;
  target.extra = draft.extra;
}

struct SuccessDraft {
  std::optional<int> exit_code;
  std::optional<std::string> pattern;
};

SuccessDraft read_success(MapReader& reader, Complaints& complaints) {
  SuccessDraft draft;
  const YamlNode* node = reader.take("success");
  if (node == nullptr) return draft;
  MapReader success(*node, "success", complaints);
  assign(draft.exit_code, success.integer("exit_code", 0, 255));
  draft.pattern = success.filled_text("pattern");
  if (draft.pattern) check_pattern(*node->find("pattern"), *draft.pattern, complaints);
  refuse_placeholders_in(*node, {"pattern"}, "success", "give points their own in `overrides`; [{][{]name}} is the text itself",
                         complaints);
  success.finish();
  return draft;
}

/// A list of arguments, or one text where a shell is to read it.
std::optional<std::vector<std::string>> read_command(MapReader& reader, std::string_view key, bool shell,
                                                     Complaints& complaints) {
  const YamlNode* node = reader.take(key);
  if (node == nullptr) return std::nullopt;
  const std::string what = cite(reader.path(key));
  if (shell) {
    if (node->is_list()) {
      complaints.add(node->spot, fmt::format("with `shell: true`, {} is one text, not a list", what),
                     "write the line as a shell reads it, or remove `shell: true`");
      return std::nullopt;
    }
    const std::optional<std::string> text = read_text(*node, what, complaints);
    if (!text) return std::nullopt;
    if (!trim(*text).empty()) return std::vector{*text};
    complaints.add(node->spot, what + " is an empty text");
    return std::nullopt;
  }
  if (node->is_scalar()) {
    complaints.add(node->spot, what + " must be a list of arguments, not one text",
                   "write [program, \"--size={{size}}\"], or add `shell: true` if a shell is to read it");
    return std::nullopt;
  }
  const auto arguments = read_texts(*node, what, complaints);
  if (arguments && arguments->front().empty()) complaints.add(node->items[0].spot, "the program's name is empty");
  return arguments;
}

std::optional<OverrideDraft> read_override(const YamlNode& node, bool shell, Complaints& complaints) {
  MapReader reader(node, "overrides", complaints);
  if (!node.is_map()) return std::nullopt;
  OverrideDraft draft;
  draft.node = &node;
  Override& target = draft.override_;
  target.place = place_of(node.spot);
  const YamlNode* when = reader.take("when");
  if (!reader.has("when")) complaints.add(node.spot, "an override needs `when`", "when: {strategy: ddp}");
  std::optional<ConditionDraft> condition;
  if (when != nullptr) condition = read_point_condition(*when, "`when`", complaints);
  target.command = read_command(reader, "command", shell, complaints);
  target.launch = read_launch(reader);
  if (const YamlNode* parameters = reader.take("parameters")) {
    assign(target.parameters, read_bindings(*parameters, "`parameters`", complaints));
  }
  if (const YamlNode* resources = reader.take("resources")) apply(read_resources(*resources, complaints), target);
  target.setup = reader.texts_or_none("setup");
  target.metrics = read_metrics(reader, false, complaints);
  const SuccessDraft success = read_success(reader, complaints);
  target.success_exit_code = success.exit_code;
  target.success_pattern = success.pattern;
  if (reader.has("when") && node.items.size() == 1) complaints.add(node.spot, "this override changes nothing");
  reader.finish();
  if (!condition) return std::nullopt;
  draft.when = *condition;
  target.when = condition->condition;
  return draft;
}

}  // namespace

void read_work(MapReader& reader, Draft& draft, Complaints& complaints) {
  Work& work = draft.experiment.work;
  work.trainer = reader.filled_text("trainer");
  const std::vector<std::string>& tasks = trainer_tasks();
  if (work.trainer && std::find(tasks.begin(), tasks.end(), *work.trainer) == tasks.end()) {
    complaints.add(draft.root->find("trainer")->spot,
                   fmt::format("there is no task {}{}", cite(*work.trainer), did_you_mean(*work.trainer, tasks)),
                   "tasks of the built-in trainer: " + cite_all(tasks));
  }
  assign(work.shell, reader.flag("shell"));
  assign(work.command, read_command(reader, "command", work.shell, complaints));
  assign(work.launch, read_launch(reader));
  if (const YamlNode* node = reader.take("parameters"))
    assign(work.parameters, read_bindings(*node, "`parameters`", complaints));
  if (const YamlNode* node = reader.take("resources")) apply(read_resources(*node, complaints), work.resources);
  assign(work.modules, reader.texts_or_none("modules"));
  refuse_placeholders_in(*draft.root, {"modules"}, "", kModulesAdvice, complaints);
  assign(work.setup, reader.texts_or_none("setup"));
  work.container = reader.filled_text("container");
  assign(work.metrics, read_metrics(reader, false, complaints));
  const SuccessDraft success = read_success(reader, complaints);
  assign(work.success.exit_code, success.exit_code);
  if (success.pattern) work.success.pattern = success.pattern;
  const YamlNode* overrides = reader.take("overrides");
  if (overrides == nullptr || !expect_list(*overrides, "`overrides`", complaints)) return;
  for (const YamlNode& item : overrides->items) {
    if (complaints.full()) return;
    if (auto read = read_override(item, work.shell, complaints)) draft.overrides.push_back(*std::move(read));
  }
}

}  // namespace hpcbench

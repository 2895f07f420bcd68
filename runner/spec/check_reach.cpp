#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "spec/checks.hpp"
#include "spec/fields.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

namespace {

void add_texts(std::vector<GivenText>& all, const YamlNode* node, const std::vector<std::string>& texts) {
  for (std::size_t i = 0; node != nullptr && i < texts.size(); ++i) {
    all.push_back({texts[i], node->is_list() ? &node->items[i] : node});
  }
}

/// Every text in which placeholders are filled in, and in which a value may have been meant.
std::vector<GivenText> given_texts(const ParsedExperiment& parsed) {
  const Experiment& experiment = parsed.experiment;
  std::vector<GivenText> all;
  add_texts(all, parsed.root->find("command"), experiment.work.command);
  const YamlNode* setup = parsed.root->find("setup");
  if (setup == nullptr && parsed.site_root != nullptr) setup = parsed.site_root->find("setup");
  add_texts(all, setup, experiment.work.setup);
  for (GivenText& given : start_texts(parsed)) all.push_back(std::move(given));
  for (const ParsedPreparation& entry : parsed.preparations) {
    for (GivenText& given : texts_of_preparation(entry)) all.push_back(std::move(given));
  }
  if (experiment.workdir) all.push_back({*experiment.workdir, parsed.root->find("workdir")});
  for (const ParsedOverride& entry : parsed.overrides) {
    if (entry.override_.command) add_texts(all, entry.node->find("command"), *entry.override_.command);
    if (entry.override_.setup) add_texts(all, entry.node->find("setup"), *entry.override_.setup);
    for (GivenText& given : start_texts(*entry.node)) all.push_back(std::move(given));
  }
  return all;
}

void add_names(const LocatedExpression& each, std::set<std::string>& names) {
  for (const NameUse& use : each.expression().names()) names.insert(use.name);
}

/// Names that make a difference to what runs: used in a text, or chosen by in `when`.
std::set<std::string> names_that_reach(const ParsedExperiment& parsed, const std::vector<GivenText>& texts) {
  std::set<std::string> names = {"nodes", "gpus_per_node", kRanksPerNode};
  for (const GivenText& given : texts) {
    for (const Placeholder& placeholder : find_placeholders(given.text)) names.insert(placeholder.name);
  }
  for (const ParsedOverride& entry : parsed.overrides) {
    for (const auto& [name, values] : entry.when.condition) names.insert(name);
    if (entry.when.expression) add_names(*entry.when.expression, names);
  }
  // Through a derived value that reaches something, what it is derived from does.
  for (std::size_t before = 0; before != names.size();) {
    before = names.size();
    for (const ParsedDerived& entry : parsed.derive) {
      if (names.contains(entry.derived.name)) add_names(entry.derived.expression, names);
    }
  }
  return names;
}

struct NamedLocation {
  std::string name;
  SourceLocation location;
  std::size_t values = 2;  // several, where they were not counted
};

std::vector<NamedLocation> said_axes(const ParsedExperiment& parsed) {
  std::vector<NamedLocation> axes;
  for (const ParsedAxis* axis : parsed.product_axes()) {
    axes.push_back({axis->axis.name, axis->name_location, axis->axis.values.size()});
  }
  if (!axes.empty() || parsed.include.empty()) return axes;
  const ParsedPoint& first = parsed.include.front();
  for (std::size_t i = 0; i < first.point.size(); ++i) axes.push_back({first.point[i].first, first.node->keys[i].location});
  return axes;
}

/// Points may be those of imported results, which no command of ours made.
bool may_be_of_import(const ParsedExperiment& parsed, const std::string& axis) {
  return std::any_of(parsed.imports.begin(), parsed.imports.end(),
                     [&](const ParsedImport& entry) { return !entry.run || find_binding(entry.import.run, axis) != nullptr; });
}

/// What people call the axes, and settings, that hpcbench has another name for; empty: nothing like them.
std::string own_name_for(const std::string& name) {
  constexpr std::array<std::pair<const char*, const char*>, 20> kCalled = {{{"tasks_per_node", kRanksPerNode},
                                                                            {"procs_per_node", kRanksPerNode},
                                                                            {"ppn", kRanksPerNode},
                                                                            {"gpu", "gpus_per_node"},
                                                                            {"ngpu", "gpus_per_node"},
                                                                            {"ngpus", "gpus_per_node"},
                                                                            {"n_gpus", "gpus_per_node"},
                                                                            {"num_gpus", "gpus_per_node"},
                                                                            {"gpu_count", "gpus_per_node"},
                                                                            {"gpus_count", "gpus_per_node"},
                                                                            {"nproc_per_node", "gpus_per_node"},
                                                                            {"devices", "gpus_per_node"},
                                                                            {"nnode", "nodes"},
                                                                            {"nnodes", "nodes"},
                                                                            {"n_nodes", "nodes"},
                                                                            {"num_nodes", "nodes"},
                                                                            {"node_count", "nodes"},
                                                                            {"hosts", "nodes"},
                                                                            {"repeats", "repeats"},
                                                                            {"seeds", "seed"}}};
  for (const auto& [called, own] : kCalled) {
    if (name == called) return own;
  }
  return nearest(name, {"nodes", "gpus_per_node", kRanksPerNode}).value_or("");
}

/// Whether a shell's text gives a variable of this name a value: `name=`, not `--name=`, or `for name in`.
bool is_shell_variable(const std::string& text, const std::string& name) {
  if (text.find("for " + name + ' ') != std::string::npos) return true;
  const std::string assignment = name + '=';
  for (std::size_t at = text.find(assignment); at != std::string::npos; at = text.find(assignment, at + 1)) {
    if (at == 0 || std::string_view(" \t\n;&|(`'\"").find(text[at - 1]) != std::string_view::npos) return true;
  }
  return false;
}

/// Where `{name}`, `$name` or `${name}` stands in a text; npos: nowhere. A shell's own variable of that name is none.
std::size_t find_other_form(const std::string& text, const std::string& name, std::string& form) {
  if (is_shell_variable(text, name)) return std::string::npos;
  for (const std::string& written : {"${" + name + "}", "{" + name + "}", "$" + name}) {
    const std::size_t at = text.find(written);
    if (at == std::string::npos) continue;
    const std::size_t end = at + written.size();
    const bool longer = written.back() != '}' && end < text.size() && is_identifier("a" + std::string(1, text[end]));
    if (longer) continue;
    form = written;
    return at;
  }
  return std::string::npos;
}

/// True if a text names it in a form that nothing fills in, and so was meant to hold its value.
bool refuse_other_form(const std::string& name, const char* kind, const std::vector<GivenText>& texts,
                       Diagnostics& diagnostics) {
  for (const GivenText& given : texts) {
    std::string form;
    if (find_other_form(given.text, name, form) == std::string::npos) continue;
    SourceLocation location = given.node->location;
    const std::size_t found = location.source->text().find(form, location.offset);
    if (found != std::string_view::npos && found <= location.offset + 4 * given.text.size() + 200) location.offset = found;
    diagnostics.add(location,
                    fmt::format("{} does not hold the value of the {} {}, which reaches nothing", cite(form), kind, cite(name)),
                    fmt::format("write {{{{{}}}}}", name));
    return true;
  }
  return false;
}

void refuse_other_name(const NamedLocation& axis, const std::string& own, Diagnostics& diagnostics) {
  const std::string message = fmt::format("the axis {} reaches nothing", cite(axis.name));
  if (own == "repeats" || own == "seed") {
    const char* const form = own == "seed" ? "seed: {policy: per_repeat, value: 1}" : "repeats: 6";
    diagnostics.add(axis.location, message, fmt::format("`{}` is a key of its own, beside `matrix`: {}", own, form));
    return;
  }
  diagnostics.add(
      axis.location, fmt::format("{} (did you mean `{}`?)", message, own),
      fmt::format("`{}` says what a run has; a program is given an axis of your own by {{{{{}}}}}", own, axis.name));
}

/// What runs is a program of the user's own throughout: the built-in trainer takes axes as its settings.
bool runs_commands_alone(const ParsedExperiment& parsed) {
  return !parsed.experiment.work.trainer && !parsed.experiment.work.command.empty();
}

std::vector<NamedLocation> axes_that_reach_nothing(const ParsedExperiment& parsed, const std::vector<GivenText>& texts) {
  const bool decks = !parsed.experiment.work.files.empty() ||
                     std::any_of(parsed.overrides.begin(), parsed.overrides.end(),
                                 [](const ParsedOverride& entry) { return entry.override_.files.has_value(); });
  if (decks) return {};  // any name may stand in them
  std::vector<NamedLocation> left = said_axes(parsed);
  const std::set<std::string> reaching = names_that_reach(parsed, texts);
  std::erase_if(left,
                [&](const NamedLocation& axis) { return reaching.contains(axis.name) || may_be_of_import(parsed, axis.name); });
  return left;
}

/// Whether axes of its `zip` block that reach a program tell all its values apart: it is then their label.
bool is_label_in_zip(const ParsedExperiment& parsed, const std::string& name, const std::set<std::string>& reaching) {
  for (const std::vector<ParsedAxis>& block : parsed.zip) {
    if (std::none_of(block.begin(), block.end(), [&](const ParsedAxis& each) { return each.axis.name == name; })) continue;
    std::vector<std::vector<Value>> rows;
    for (const ParsedAxis& each : block) {
      if (!reaching.contains(each.axis.name)) continue;
      rows.resize(each.axis.values.size());
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(each.axis.values[i]);
    }
    return !rows.empty() && std::set<std::vector<Value>>(rows.begin(), rows.end()).size() == rows.size();
  }
  return false;
}

/// Notes about the values of a map of names whose texts hold placeholders.
void note_literal_values(const YamlNode* map, const char* kind, std::vector<std::string>& notes) {
  if (map == nullptr || !map->is_map()) return;
  const auto note = [&](const std::string& name, const YamlNode& item) {
    const std::vector<Placeholder> found = item.is_scalar() ? find_placeholders(item.text) : std::vector<Placeholder>();
    if (std::all_of(found.begin(), found.end(), [](const Placeholder& each) { return each.spread; })) return;
    notes.push_back(
        fmt::format("{}: the {} {} is the text {} itself: values are neither filled in nor computed; placeholders belong "
                    "into `command`",
                    describe_place(item.location), kind, cite(name), cite(item.text)));
  };
  for (std::size_t i = 0; i < map->items.size(); ++i) {
    const YamlNode& item = map->items[i];
    note(map->keys[i].name, item);
    if (!item.is_list()) continue;
    for (const YamlNode& value : item.items) {
      note(map->keys[i].name, value);
      for (const YamlNode& argument : value.is_list() ? value.items : std::vector<YamlNode>()) {
        note(map->keys[i].name, argument);
      }
    }
  }
}

/// Whether braces hold what could be computed: operators between names that are there.
bool is_computation(std::string_view inside, const std::vector<std::string>& names) {
  try {
    const Expression expression{std::string(inside)};
    return !expression.names().empty() &&
           std::all_of(expression.names().begin(), expression.names().end(),
                       [&](const NameUse& use) { return std::find(names.begin(), names.end(), use.name) != names.end(); });
  } catch (const ExpressionError&) {
    return false;
  }
}

/// `{{gpus*2}}` is plain text: a placeholder holds one name.
void note_computations(const ParsedExperiment& parsed, const std::vector<GivenText>& texts, std::vector<std::string>& notes) {
  std::vector<std::string> names = parsed.axis_names();
  names.insert(names.end(), {"gpus", "ranks"});
  for (const auto& [name, value] : parsed.experiment.work.parameters) names.push_back(name);
  for (const ParsedDerived& entry : parsed.derive) names.push_back(entry.derived.name);
  for (const GivenText& given : texts) {
    for (std::size_t at = given.text.find("{{"); at != std::string::npos; at = given.text.find("{{", at + 2)) {
      const std::size_t end = given.text.find("}}", at);
      if (end == std::string::npos) break;
      const std::string inside(trim(std::string_view(given.text).substr(at + 2, end - at - 2)));
      if (is_identifier(inside) || !is_computation(inside, names)) continue;
      notes.push_back(
          fmt::format("{}: {{{{{}}}}} is given to the program as it stands: a placeholder holds one name; compute it by "
                      "derive: {{NAME: \"{}\"}} and write {{{{NAME}}}}",
                      describe_place(given.node->location), inside, inside));
    }
  }
}

/// Programs that start others on the nodes of a job.
bool starts_on_nodes(const std::vector<std::string>& command) {
  constexpr std::array kStarters = {"srun", "mpirun", "mpiexec", "orterun",    "prun",      "jsrun",    "aprun",   "flux",
                                    "pdsh", "ssh",    "clush",   "horovodrun", "deepspeed", "charmrun", "parallel"};
  std::string words = join(command, " ");
  std::replace_if(
      words.begin(), words.end(), [](char c) { return !is_identifier("a" + std::string(1, c)); }, ' ');
  const std::vector<std::string> all = split(words, ' ');
  return std::any_of(kStarters.begin(), kStarters.end(),
                     [&](const char* starter) { return std::find(all.begin(), all.end(), starter) != all.end(); });
}

/// Refuses an axis called `ranks` that `launch: rank` does not obey: each run would start as many processes as another axis
/// says, mostly one. A command that starts its ranks by itself keeps it.
void refuse_ignored_ranks(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  constexpr std::array kRankNames = {"ranks", "nranks", "n_ranks", "num_ranks", "mpi_ranks"};
  constexpr std::array kProcessNames = {"processes", "nprocesses", "procs", "nprocs", "n_procs", "num_procs", "ntasks", "np"};
  const Work& work = parsed.experiment.work;
  const std::vector<NamedLocation> axes = said_axes(parsed);
  const auto has = [&](const auto& names, const std::string& name) {
    return std::any_of(names.begin(), names.end(), [&](const char* each) { return name == each; });
  };
  const bool says_launch = parsed.root->find("launch") != nullptr;
  const bool is_counted = std::any_of(axes.begin(), axes.end(), [](const auto& axis) { return axis.name == kRanksPerNode; });
  const bool is_replaced = std::any_of(parsed.overrides.begin(), parsed.overrides.end(), [](const ParsedOverride& entry) {
    return entry.override_.launch || entry.override_.command;
  });
  if (work.launch != Launch::rank || is_counted || is_replaced || starts_on_nodes(work.command)) return;
  for (const NamedLocation& axis : axes) {
    if (!has(kRankNames, axis.name) && !(says_launch && has(kProcessNames, axis.name))) continue;
    diagnostics.add(axis.location,
                    fmt::format("the axis {} does not say how many processes `launch: rank` starts: that is one for each gpu, "
                                "or `ranks_per_node`",
                                cite(axis.name)),
                    fmt::format("write `ranks_per_node: [...]`, and {{{{ranks}}}} is nodes x ranks_per_node; or `launch: once` "
                                "if the command starts {} by itself",
                                axis.name));
  }
}

/// The values of `nodes` above 1.
std::vector<Value> several_nodes(const PointSpace& space) {
  std::vector<Value> several = space.some_values("nodes");
  std::erase_if(several, [](const Value& value) { return value.integer().value_or(1) <= 1; });
  return several;
}

/// Points from which `launch: once` leaves all nodes but the first idle; `begin` is the first override that may replace it.
std::optional<Bindings> point_with_idle_nodes(const ParsedExperiment& parsed, const PointSpace& space, Condition when,
                                              std::size_t begin) {
  const std::vector<Value> several = several_nodes(space);
  if (several.empty()) return std::nullopt;
  when.emplace_back("nodes", several);
  std::vector<const Condition*> replaced;
  for (std::size_t i = begin; i < parsed.overrides.size(); ++i) {
    const Override& later = parsed.overrides[i].override_;
    if (later.launch || later.command) replaced.push_back(&parsed.overrides[i].when.condition);
  }
  return space.find_point(when, replaced);
}

void note_idle_nodes(const ParsedExperiment& parsed, const PointSpace& space, std::vector<std::string>& notes) {
  const Work& work = parsed.experiment.work;
  const auto note = [&](const YamlNode* map, Launch launch, const std::vector<std::string>& command, const Condition& when,
                        std::size_t begin) {
    if (launch != Launch::once || command.empty() || starts_on_nodes(command)) return;
    const std::optional<Bindings> point = point_with_idle_nodes(parsed, space, when, begin);
    if (!point) return;
    const YamlNode* said = map->find("launch");
    if (said == nullptr) said = parsed.root->find("launch");
    notes.push_back(fmt::format(
        "{}: `launch: once` starts one process, on the first node, and `command` names nothing that starts others (srun, "
        "mpirun "
        "...), but some points have several nodes{}{}: `launch: node` starts one on each, as torchrun and accelerate want it",
        describe_place(said->location), point->empty() ? "" : ", as ", point->empty() ? "" : describe(*point)));
  };
  note(parsed.root, work.launch, work.command, {}, 0);
  for (std::size_t i = 0; i < parsed.overrides.size(); ++i) {
    const Override& entry = parsed.overrides[i].override_;
    if (!entry.launch && !entry.command) continue;
    note(parsed.overrides[i].node, entry.launch.value_or(work.launch), entry.command.value_or(work.command), entry.when, i + 1);
  }
}

}  // namespace

void check_reach(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  if (!runs_commands_alone(parsed)) return;
  const std::vector<GivenText> texts = given_texts(parsed);
  for (const NamedLocation& axis : axes_that_reach_nothing(parsed, texts)) {
    if (diagnostics.full()) return;
    if (refuse_other_form(axis.name, "axis", texts, diagnostics)) continue;
    const std::string own = own_name_for(axis.name);
    if (own.empty()) continue;
    refuse_other_name(axis, own, diagnostics);
  }
  const std::set<std::string> reaching = names_that_reach(parsed, texts);
  refuse_ignored_ranks(parsed, diagnostics);
  for (const auto& [name, value] : parsed.experiment.work.parameters) {
    if (!reaching.contains(name)) refuse_other_form(name, "parameter", texts, diagnostics);
  }
}

std::vector<std::string> reach_notes(const ParsedExperiment& parsed) {
  std::vector<std::string> notes;
  if (runs_commands_alone(parsed)) {
    const std::vector<GivenText> texts = given_texts(parsed);
    const std::set<std::string> reaching = names_that_reach(parsed, texts);
    for (const NamedLocation& axis : axes_that_reach_nothing(parsed, texts)) {
      if (axis.values < 2 || is_label_in_zip(parsed, axis.name, reaching)) continue;  // a label
      notes.push_back(
          fmt::format("{}: the axis {} reaches nothing: no {{{{{}}}}} stands in `command` or `setup`, so its runs are "
                      "alike unless the program reads run.json",
                      describe_place(axis.location), cite(axis.name), axis.name));
    }
  }
  if (const std::size_t srun = parsed.root->index_of("srun"); srun != YamlNode::npos && parsed.experiment.executor == "local") {
    notes.push_back(fmt::format("{}: `srun` is for jobs of Slurm: on this machine nothing reads it",
                                describe_place(parsed.root->keys[srun].location)));
  }
  note_computations(parsed, given_texts(parsed), notes);
  for (const char* const key : {"matrix", "parameters"}) {
    note_literal_values(parsed.root->find(key), std::string_view(key) == "matrix" ? "axis" : "parameter", notes);
  }
  if (const YamlNode* zip = parsed.root->find("zip")) {
    for (const YamlNode& block : zip->items) note_literal_values(&block, "axis", notes);
  }
  for (const ParsedPoint& entry : parsed.include) note_literal_values(entry.node, "axis", notes);
  for (const ParsedOverride& entry : parsed.overrides) note_literal_values(entry.node->find("parameters"), "parameter", notes);
  if (axes_are_sound(parsed)) note_idle_nodes(parsed, PointSpace(parsed), notes);
  return notes;
}

}  // namespace hpcbench

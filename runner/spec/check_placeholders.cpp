#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.hpp"
#include "spec/checks.hpp"
#include "spec/fields.hpp"
#include "spec/placeholders.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

class PlaceholderCheck {
 public:
  PlaceholderCheck(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics)
      : parsed_(parsed), space_(space), diagnostics_(diagnostics), global_(builtin_placeholders()) {
    for (const std::string& axis : parsed.axis_names()) global_.push_back(axis);
    if (std::find(global_.begin(), global_.end(), kRanksPerNode) != global_.end()) global_.emplace_back("ranks");
    for (const auto& [name, value] : parsed.experiment.work.parameters) global_.push_back(name);
    // Also of one that could not be read: it has its diagnostic.
    if (const YamlNode* derive = parsed.root->find("derive"); derive != nullptr) {
      for (const YamlKey& key : derive->keys) global_.push_back(key.name);
    }
    for (const ParsedPreparation& entry : parsed.preparations) {
      if (!entry.preparation.for_all) global_.push_back(entry.preparation.dir());
    }
  }

  /// Whether a text takes lists: as an argument of its own, as words of a shell's text, or not at all.
  enum class Lists { argument, words, none };

  /// A text that counts in the points that match `when` and none of `replaced`.
  void check(const YamlNode& node, const std::string& text, const Condition& when,
             const std::vector<const Condition*>& replaced, Lists lists = Lists::none) {
    for (const Placeholder& placeholder : find_placeholders(text)) {
      if (diagnostics_.full()) return;
      if (placeholder.spread && !is_known(placeholder.name)) continue;  // plain text
      check_form(node, text, placeholder, lists);
      if (std::find(global_.begin(), global_.end(), placeholder.name) != global_.end()) continue;
      check_one(node, text, placeholder, when, replaced);
    }
  }

  /// A list of texts, or one; `texts` is what was read from `node`.
  void check_all(const YamlNode* node, const std::vector<std::string>& texts, const Condition& when,
                 const std::vector<const Condition*>& replaced, Lists lists) {
    if (node == nullptr) return;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      check(node->is_list() ? node->items[i] : *node, texts[i], when, replaced, lists);
    }
  }

  /// A text of what a run starts in.
  void check_given(const GivenText& given, const Condition& when,
                   const char* whose = "this is the same for all runs of a point",
                   const char* advice = "a line of `setup` may use it") {
    check(*given.node, given.text, when, {}, given.filled == GivenText::Filled::modules ? Lists::argument : Lists::none);
    if (given.filled == GivenText::Filled::for_run) return;
    for (const Placeholder& placeholder : find_placeholders(given.text)) {
      constexpr std::array<std::string_view, 3> kOfRuns = {"repeat", "seed", "run_dir"};
      // An axis may have this name.
      const bool resumes =
          placeholder.name == "resume_from" && std::count(global_.begin(), global_.end(), placeholder.name) == 1;
      if (!resumes && std::find(kOfRuns.begin(), kOfRuns.end(), placeholder.name) == kOfRuns.end()) continue;
      diagnostics_.add(location_of_placeholder(*given.node, given.text, placeholder),
                       fmt::format("{{{{{}}}}} differs from run to run, and {}", placeholder.name, whose), advice);
    }
  }

  /// What is known before anything is made cannot depend on where it is made.
  void refuse_folders(const GivenText& given) {
    if (given.filled == GivenText::Filled::for_run) return;
    for (const Placeholder& placeholder : find_placeholders(given.text)) {
      const bool is_folder =
          std::any_of(parsed_.preparations.begin(), parsed_.preparations.end(),
                      [&](const ParsedPreparation& entry) { return entry.preparation.dir() == placeholder.name; });
      if (!is_folder) continue;
      diagnostics_.add(location_of_placeholder(*given.node, given.text, placeholder),
                       fmt::format("{{{{{}}}}} is known once it is made, and this is the same before", placeholder.name),
                       "`command`, `setup`, `environment`, `srun`, `container` and `workdir` may use it");
    }
  }

  /// `prepare: [command]` runs once.
  void refuse_names(const GivenText& given) {
    for (const Placeholder& placeholder : find_placeholders(given.text)) {
      if (placeholder.spread && !is_known(placeholder.name)) continue;
      diagnostics_.add(location_of_placeholder(*given.node, given.text, placeholder),
                       fmt::format("`prepare` cannot use {{{{{}}}}}: it runs once, for all points", placeholder.name),
                       "what differs from point to point belongs into `command` or `setup`");
    }
  }

  /// Defined for some points at least.
  bool is_known(const std::string& name) const {
    return std::find(global_.begin(), global_.end(), name) != global_.end() ||
           std::any_of(parsed_.overrides.begin(), parsed_.overrides.end(),
                       [&](const ParsedOverride& entry) { return find_binding(entry.override_.parameters, name) != nullptr; });
  }

  /// Lists of arguments stand in `{{*name}}` alone, and that only where arguments are.
  void check_form(const YamlNode& node, const std::string& text, const Placeholder& placeholder, Lists lists) {
    const std::string& name = placeholder.name;
    const auto refuse = [&](const std::string& message, const std::string& advice) {
      diagnostics_.add(location_of_placeholder(node, text, placeholder), message, advice);
    };
    if (!placeholder.spread) {
      if (!has_lists(name)) return;
      refuse(fmt::format("{} has lists of arguments: {{{{{}}}}} is one text", cite(name), name),
             lists == Lists::none ? "a list can stand in `command` and `setup` alone; give this text an axis of its own"
                                  : fmt::format("write {{{{*{}}}}}, which puts in as many arguments as the list has", name));
    } else if (lists == Lists::none) {
      refuse(fmt::format("{{{{*{}}}}} puts in arguments, which only `command`, `setup` and `modules` take", name),
             has_lists(name) ? "" : fmt::format("write {{{{{}}}}}", name));
    } else if (lists == Lists::argument && !is_one_placeholder(text)) {
      refuse(fmt::format("{{{{*{}}}}} stands for whole arguments, and this one holds more", name),
             fmt::format("write it as an argument of its own: [..., \"{{{{*{}}}}}\"]", name));
    }
  }

  /// A command that lists alone may leave without a program.
  void check_program(const YamlNode& node, const std::vector<std::string>& command) {
    const auto may_vanish = [&](const std::string& argument) {
      if (!is_one_placeholder(argument)) return false;
      const Placeholder placeholder = find_placeholders(argument).front();
      return placeholder.spread && has_empty_list(placeholder.name);
    };
    if (node.is_list() && std::all_of(command.begin(), command.end(), may_vanish)) {
      diagnostics_.add(node.location, "where all of these lists are empty there is no program",
                       "write the program as an argument of its own: [\"{{*wrapper}}\", ./program]");
    }
  }

 private:
  /// The values of an axis, in the product or in included points.
  template <class Is>
  bool any_value(const std::string& axis, Is is) const {
    const std::vector<const ParsedAxis*> axes = parsed_.product_axes();
    return std::any_of(axes.begin(), axes.end(),
                       [&](const ParsedAxis* each) {
                         return each->axis.name == axis && std::any_of(each->axis.values.begin(), each->axis.values.end(), is);
                       }) ||
           std::any_of(parsed_.include.begin(), parsed_.include.end(), [&](const ParsedPoint& entry) {
             const Value* value = find_binding(entry.point, axis);
             return value != nullptr && is(*value);
           });
  }
  bool has_lists(const std::string& axis) const {
    return any_value(axis, [](const Value& value) { return value.list() != nullptr; });
  }
  bool has_empty_list(const std::string& axis) const {
    return any_value(axis, [](const Value& value) { return value.list() != nullptr && value.list()->empty(); });
  }

  void check_one(const YamlNode& node, const std::string& text, const Placeholder& placeholder, const Condition& when,
                 std::vector<const Condition*> replaced) {
    std::vector<std::string> names = global_;
    bool in_overrides = false;
    for (const ParsedOverride& entry : parsed_.overrides) {
      for (const auto& [name, value] : entry.override_.parameters) names.push_back(name);
      if (find_binding(entry.override_.parameters, placeholder.name) == nullptr) continue;
      in_overrides = true;
      replaced.push_back(&entry.when.condition);
    }
    const SourceLocation location = location_of_placeholder(node, text, placeholder);
    if (!in_overrides) {
      const std::string by_profiles = advice_of_profiles(placeholder.name);
      diagnostics_.add(
          location, fmt::format("nothing defines {{{{{}}}}}{}", placeholder.name, did_you_mean(placeholder.name, names)),
          !by_profiles.empty()
              ? by_profiles
              : "names are those of the axes, of `parameters`, of `derive`, and " + join(builtin_placeholders(), ", "));
    } else if (chosen_by_expression()) {
      return;  // which points these are is known when they are planned: WorkResolver asks each
    } else if (const auto point = space_.find_point(when, replaced)) {
      const std::string example = point->empty() ? "" : fmt::format(": not for {}", describe(*point));
      diagnostics_.add(
          location,
          fmt::format("only overrides define {{{{{}}}}}, and not for every point that uses it{}", placeholder.name, example),
          "give it a value in `parameters`, which overrides may replace");
    }
  }

  /// Where profiles alone define a name; empty where none does.
  std::string advice_of_profiles(const std::string& name) const {
    const YamlNode* profiles = parsed_.root->find("profiles");
    if (profiles == nullptr || !profiles->is_map()) return "";
    std::string by;
    const char* where = nullptr;
    for (std::size_t i = 0; i < profiles->items.size(); ++i) {
      for (const char* const key : {"parameters", "matrix", "derive"}) {
        const YamlNode* const names = profiles->items[i].is_map() ? profiles->items[i].find(key) : nullptr;
        const YamlNode* const value = names != nullptr && names->is_map() ? names->find(name) : nullptr;
        if (value == nullptr || value->kind == YamlNode::Kind::absent) continue;
        by += (by.empty() ? "" : ", ") + cite(profiles->keys[i].name);
        where = key;
      }
    }
    if (where == nullptr) return "";
    return fmt::format(
        "only profiles do ({}), and the file must be whole without them: give it a value in `{}`, which they replace", by,
        where);
  }

  bool chosen_by_expression() const {
    return std::any_of(parsed_.overrides.begin(), parsed_.overrides.end(),
                       [](const ParsedOverride& entry) { return entry.when.expression.has_value(); });
  }

  const ParsedExperiment& parsed_;
  const PointSpace& space_;
  Diagnostics& diagnostics_;
  std::vector<std::string> global_;
};

/// The conditions of those overrides from `begin` on that have something of their own in place of a text.
template <class Has>
std::vector<const Condition*> conditions_of(const ParsedExperiment& parsed, std::size_t begin, Has has) {
  std::vector<const Condition*> conditions;
  for (std::size_t i = begin; i < parsed.overrides.size(); ++i) {
    if (has(parsed.overrides[i].override_)) conditions.push_back(&parsed.overrides[i].when.condition);
  }
  return conditions;
}

/// A run by hand must not enter the folder of the measured one, and below it there is no other.
void check_workdir(const YamlNode& node, const std::string& text, PlaceholderCheck& check, Diagnostics& diagnostics) {
  check.check(node, text, {}, {});
  for (const Placeholder& placeholder : find_placeholders(text)) {
    if (placeholder.name != "run_dir") continue;
    diagnostics.add(location_of_placeholder(node, text, placeholder), "`workdir` cannot use {{run_dir}}",
                    "write `workdir: attempt` for each attempt's own folder");
  }
}

}  // namespace

void check_placeholders(const ParsedExperiment& parsed, const PointSpace& space, Diagnostics& diagnostics) {
  const auto has_command = [](const Override& entry) { return entry.command.has_value(); };
  const auto has_setup = [](const Override& entry) { return entry.setup.has_value(); };
  const Experiment& experiment = parsed.experiment;
  PlaceholderCheck check(parsed, space, diagnostics);
  using Lists = PlaceholderCheck::Lists;
  const auto check_command = [&](const YamlNode* node, const std::vector<std::string>& command, const Condition& when,
                                 std::size_t next) {
    if (node == nullptr || command.empty()) return;
    check.check_all(node, command, when, conditions_of(parsed, next, has_command),
                    node->is_list() ? Lists::argument : Lists::words);
    check.check_program(*node, command);
  };
  check_command(parsed.root->find("command"), experiment.work.command, {}, 0);
  const YamlNode* setup = parsed.root->find("setup");
  if (setup == nullptr && parsed.site_root != nullptr) setup = parsed.site_root->find("setup");
  check.check_all(setup, experiment.work.setup, {}, conditions_of(parsed, 0, has_setup), Lists::words);
  for (std::size_t i = 0; i < parsed.overrides.size() && !diagnostics.full(); ++i) {
    const ParsedOverride& entry = parsed.overrides[i];
    const Condition& when = entry.when.condition;
    if (has_command(entry.override_)) check_command(entry.node->find("command"), *entry.override_.command, when, i + 1);
    if (has_setup(entry.override_)) {
      check.check_all(entry.node->find("setup"), *entry.override_.setup, when, conditions_of(parsed, i + 1, has_setup),
                      Lists::words);
    }
    for (const GivenText& given : start_texts(*entry.node)) {
      check.check_given(given, when);
      check.refuse_folders(given);
    }
  }
  for (const GivenText& given : start_texts(parsed)) {
    check.check_given(given, {});
    check.refuse_folders(given);
  }
  for (const ParsedPreparation& entry : parsed.preparations) {
    for (const GivenText& given : texts_of_preparation(entry)) {
      if (entry.preparation.for_all) {
        check.refuse_names(given);
        continue;
      }
      check.check_given(given, {}, "a preparation is made once for all of them",
                        "`command` and `setup` of the runs may use it");
    }
  }
  if (experiment.workdir) check_workdir(*parsed.root->find("workdir"), *experiment.workdir, check, diagnostics);
}

}  // namespace hpcbench

#include "report/software_axes.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "plan/placeholders.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

namespace {

/// Returns the environment of a run, without its command.
std::vector<std::string> surroundings(Work work) {
  work.command.clear();
  work.srun.clear();
  work.files.clear();
  std::vector<std::string> texts;
  for (const std::string* text : texts_of_run(work)) texts.push_back(*text);
  for (const std::string* text : texts_of_point(work)) texts.push_back(*text);
  return texts;
}

bool changes_surroundings(const Override& given) {
  return given.partition || given.modules || given.setup || given.container || !given.environment.empty() ||
         given.resources.constraint || given.resources.gres;
}

void add_when(const Override& given, std::set<std::string>& names) {
  for (const auto& clause : given.when) names.insert(clause.first);
  if (!given.when_if) return;
  for (const NameUse& use : given.when_if->expression.expression().names()) names.insert(use.name);
}

/// Returns the `axes` that have one of these names, or from which a value of such a name is derived.
std::vector<std::string> named_axes(const Experiment& experiment, std::set<std::string> names, std::vector<std::string> axes) {
  for (auto each = experiment.derive.rbegin(); each != experiment.derive.rend(); ++each) {  // in order of dependency
    if (!names.contains(each->name)) continue;
    for (const NameUse& use : each->expression.expression().names()) names.insert(use.name);
  }
  std::erase_if(axes, [&](const std::string& axis) { return !names.contains(axis); });
  return axes;
}

}  // namespace

std::vector<std::string> software_axes(const Experiment& experiment, std::vector<std::string> axes) {
  std::set<std::string> names;
  const auto add_texts = [&](const Work& work) {
    for (const std::string& text : surroundings(work)) {
      for (std::string& name : placeholders_in(text)) names.insert(std::move(name));
    }
  };
  add_texts(experiment.work);
  for (const Override& given : experiment.overrides) {
    Work work;
    merge(work, given);
    add_texts(work);
    if (!changes_surroundings(given)) continue;
    add_when(given, names);
  }
  for (const Preparation& each : experiment.preparations) {
    std::vector<std::string> texts = each.command;
    texts.insert(texts.end(), each.modules.begin(), each.modules.end());
    for (const auto& variable : each.environment) texts.push_back(variable.second);
    if (each.partition) texts.push_back(*each.partition);
    for (const std::string& text : texts) {
      for (std::string& name : placeholders_in(text)) names.insert(std::move(name));
    }
  }
  return named_axes(experiment, names, std::move(axes));
}

std::vector<std::string> deck_axes(const Experiment& experiment, std::vector<std::string> axes) {
  std::set<std::string> names;
  const auto add_decks = [&](const std::vector<InputDeck>& decks) {
    for (const InputDeck& deck : decks) {
      for (const std::string* text : {&deck.from, &deck.to}) {
        for (std::string& name : placeholders_in(*text)) names.insert(std::move(name));
      }
    }
  };
  add_decks(experiment.work.files);
  for (const Override& given : experiment.overrides) {
    if (!given.files) continue;
    add_decks(*given.files);
    add_when(given, names);
  }
  return named_axes(experiment, names, std::move(axes));
}

}  // namespace hpcbench

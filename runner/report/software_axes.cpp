#include "report/software_axes.hpp"

#include <algorithm>
#include <set>

#include "plan/placeholders.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

namespace {

/// What a run starts in, without what it runs.
std::vector<std::string> surroundings(Work work) {
  work.command.clear();
  work.srun.clear();
  std::vector<std::string> texts;
  for (const std::string* text : texts_of_run(work)) texts.push_back(*text);
  for (const std::string* text : texts_of_point(work)) texts.push_back(*text);
  return texts;
}

Work work_of(const Override& given) {
  Work work;
  work.resources.texts = given.resource_texts;
  work.resources.extra = given.extra.value_or(work.resources.extra);
  work.partition = given.partition;
  work.modules = given.modules.value_or(work.modules);
  work.setup = given.setup.value_or(work.setup);
  work.environment = given.environment;
  work.container = given.container;
  return work;
}

bool changes_surroundings(const Override& given) {
  return given.partition || given.modules || given.setup || given.container || !given.environment.empty() || given.constraint ||
         given.gres;
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
    add_texts(work_of(given));
    if (!changes_surroundings(given)) continue;
    for (const auto& clause : given.when) names.insert(clause.first);
    if (!given.when_if) continue;
    for (const NameUse& use : given.when_if->expression.expression().names()) names.insert(use.name);
  }
  for (auto each = experiment.derive.rbegin(); each != experiment.derive.rend(); ++each) {  // in order of need
    if (!names.contains(each->name)) continue;
    for (const NameUse& use : each->expression.expression().names()) names.insert(use.name);
  }
  std::erase_if(axes, [&](const std::string& axis) { return !names.contains(axis); });
  return axes;
}

}  // namespace hpcbench

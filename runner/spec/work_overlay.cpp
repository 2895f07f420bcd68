#include <algorithm>

#include "spec/experiment.hpp"
#include "spec/point_values.hpp"

namespace hpcbench {

namespace {

template <typename Target, typename Source>
void replace_if_given(Target& target, const Source& source) {
  if (source) target = *source;
}

/// By name; new names come last.
template <typename Value>
void merge_pairs(std::vector<std::pair<std::string, Value>>& pairs, const std::vector<std::pair<std::string, Value>>& given) {
  for (const auto& [name, value] : given) {
    const auto known = std::find_if(pairs.begin(), pairs.end(), [&](const auto& each) { return each.first == name; });
    if (known == pairs.end()) {
      pairs.emplace_back(name, value);
    } else {
      known->second = value;
    }
  }
}

}  // namespace

void merge(Resources& resources, const ResourcesOverlay& given) {
  // A text in place of a value, and the other way round.
  const auto forget_text = [&](std::string_view key) {
    std::erase_if(resources.texts, [&](const FilledText& each) { return each.key == key; });
  };
  const auto replace = [&](std::string_view key, auto& target, const auto& source) {
    if (!source) return;
    forget_text(key);
    target = *source;
  };
  replace("time", resources.time_s, given.time_s);
  replace("cpus_per_task", resources.cpus_per_task, given.cpus_per_task);
  replace("mem", resources.mem, given.mem);
  replace("gres", resources.gres, given.gres);
  replace("constraint", resources.constraint, given.constraint);
  replace("exclusive", resources.exclusive, given.exclusive);
  replace_if_given(resources.extra, given.extra);
  resources.has_cpus = resources.has_cpus || given.cpus_per_task || has_text_of(given.texts, "cpus_per_task");
  for (const FilledText& text : given.texts) {
    forget_text(text.key);
    resources.texts.push_back(text);
  }
}

void merge(Work& work, const WorkOverlay& given) {
  if (given.command) {
    work.trainer.reset();
    work.command = *given.command;
    work.shell = work.shell && work.command.size() == 1;  // a list of arguments is never a shell's text
  }
  merge_pairs(work.parameters, given.parameters);
  replace_if_given(work.launch, given.launch);
  merge(work.resources, given.resources);
  merge_pairs(work.environment, given.environment);
  if (given.container) work.container = given.container;
  if (given.partition) work.partition = given.partition;
  replace_if_given(work.modules, given.modules);
  replace_if_given(work.files, given.files);
  replace_if_given(work.setup, given.setup);
  replace_if_given(work.metrics, given.metrics);
  replace_if_given(work.success.exit_code, given.success.exit_code);
  replace_if_given(work.success.pattern, given.success.pattern);
  replace_if_given(work.success.require, given.success.require);
}

}  // namespace hpcbench

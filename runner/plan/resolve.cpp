#include "plan/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/identity.hpp"
#include "spec/placeholders.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

template <typename Target, typename Source>
void replace_if_given(Target& target, const Source& source) {
  if (source) target = *source;
}

void override_parameters(Bindings& parameters, const Bindings& given) {
  for (const auto& [name, value] : given) {
    const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.first == name; });
    if (found == parameters.end()) {
      parameters.emplace_back(name, value);
    } else {
      found->second = value;
    }
  }
}

void apply_override(Work& work, const Override& given) {
  if (given.command) {
    work.trainer.reset();
    work.command = *given.command;
    work.shell = work.shell && work.command.size() == 1;  // a list of arguments is never a shell's text
  }
  override_parameters(work.parameters, given.parameters);
  replace_if_given(work.launch, given.launch);
  replace_if_given(work.resources.time_s, given.time_s);
  replace_if_given(work.resources.cpus_per_task, given.cpus_per_task);
  replace_if_given(work.resources.mem, given.mem);
  replace_if_given(work.resources.gres, given.gres);
  replace_if_given(work.resources.constraint, given.constraint);
  replace_if_given(work.resources.exclusive, given.exclusive);
  replace_if_given(work.resources.extra, given.extra);
  replace_if_given(work.setup, given.setup);
  replace_if_given(work.metrics, given.metrics);
  replace_if_given(work.success.exit_code, given.success_exit_code);
  replace_if_given(work.success.pattern, given.success_pattern);
}

void check_placeholders(const Work& work, const std::vector<std::string>& axes, const Point& point, const std::string& path) {
  Bindings bindings;
  for (std::size_t i = 0; i < axes.size(); ++i) bindings.emplace_back(axes[i], point[i]);
  const std::vector<std::string> undefined = undefined_placeholders(work, bindings);
  if (undefined.empty()) return;
  std::vector<std::string> names = axes;
  for (const auto& parameter : work.parameters) names.push_back(parameter.first);
  names.insert(names.end(), builtin_placeholders().begin(), builtin_placeholders().end());
  throw InputError(fmt::format("error: {}: the command or set-up of the point {} uses `{{{{{}}}}}`, which nothing defines{}",
                               path, describe(bindings), undefined.front(), did_you_mean(undefined.front(), names)));
}

}  // namespace

WorkResolver::WorkResolver(const Experiment& experiment, const std::vector<std::string>& axes)
    : experiment_(experiment), axes_(axes), last_matching_(experiment.overrides.size(), false) {
  for (const Override& given : experiment.overrides) conditions_.emplace_back(given.when, axes);
}

const ResolvedWork& WorkResolver::resolve(const Point& point) {
  bool same = last_ != nullptr;
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    const bool matching = conditions_[i].matches(point);
    same = same && matching == last_matching_[i];
    last_matching_[i] = matching;
  }
  if (same) return *last_;
  const auto known = by_matching_.find(last_matching_);
  last_ = known != by_matching_.end() ? &known->second : &make(last_matching_, point);
  return *last_;
}

const ResolvedWork& WorkResolver::make(const std::vector<bool>& matching, const Point& point) {
  auto work = std::make_shared<Work>(experiment_.work);
  for (std::size_t i = 0; i < matching.size(); ++i) {
    if (matching[i]) apply_override(*work, experiment_.overrides[i]);
  }
  check_placeholders(*work, axes_, point, experiment_.path);
  std::string identity = identity_tail(*work);
  return by_matching_.emplace(matching, ResolvedWork{std::move(work), std::move(identity)}).first->second;
}

}  // namespace hpcbench

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
  replace_if_given(work.success.require, given.success_require);
}

void check_placeholders(const Work& work, const std::vector<std::string>& axes, const Point& point,
                        const Experiment& experiment) {
  const std::string& path = experiment.path;
  Bindings bindings;
  for (std::size_t i = 0; i < axes.size(); ++i) bindings.emplace_back(axes[i], point[i]);
  Bindings defined = bindings;
  for (const Derived& each : experiment.derive) defined.emplace_back(each.name, Value());
  const std::vector<std::string> undefined = undefined_placeholders(work, defined);
  if (undefined.empty()) return;
  std::vector<std::string> names = axes;
  for (const Derived& each : experiment.derive) names.push_back(each.name);
  for (const auto& parameter : work.parameters) names.push_back(parameter.first);
  names.insert(names.end(), builtin_placeholders().begin(), builtin_placeholders().end());
  throw InputError(fmt::format("error: {}: the command or set-up of the point {} uses `{{{{{}}}}}`, which nothing defines{}",
                               path, describe(bindings), undefined.front(), did_you_mean(undefined.front(), names)));
}

/// Whether what runs is given a derived value: by a placeholder, or as a setting of the trainer.
bool is_given(const Work& work, const std::string& name) {
  if (work.trainer && is_trainer_setting(name)) return true;
  const auto names_it = [&](const std::string& text) {
    const std::vector<Placeholder> found = find_placeholders(text);
    return std::any_of(found.begin(), found.end(), [&](const Placeholder& each) { return each.name == name; });
  };
  const auto any_names_it = [&](const std::vector<std::string>& texts) {
    return std::any_of(texts.begin(), texts.end(), names_it);
  };
  const auto value_names_it = [&](const auto& variable) { return names_it(variable.second); };
  const auto container_names_it = [&](const Container& container) {
    return names_it(container.image) || any_names_it(container.args) || any_names_it(container.mounts);
  };
  return (!work.trainer && any_names_it(work.command)) || any_names_it(work.setup) || any_names_it(work.srun) ||
         std::any_of(work.environment.begin(), work.environment.end(), value_names_it) ||
         (work.container && container_names_it(*work.container));
}

}  // namespace

void WorkResolver::require_use(std::vector<std::string>& notes) const {
  for (const When& when : conditions_) {
    if (when.expression) when.expression->require_use("override", notes);
  }
}

WorkResolver::WorkResolver(const Experiment& experiment, const std::vector<std::string>& axes)
    : experiment_(experiment), axes_(axes), last_matching_(experiment.overrides.size(), false) {
  for (const Override& given : experiment.overrides) {
    conditions_.push_back({PointCondition(given.when, axes), std::nullopt});
    if (given.when_if) conditions_.back().expression.emplace(*given.when_if, axes, experiment.work.parameters);
  }
}

const ResolvedWork& WorkResolver::resolve(const Point& point) {
  bool same = last_ != nullptr;
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    std::optional<ExpressionCondition>& expression = conditions_[i].expression;
    const bool matching = expression ? expression->holds(point) : conditions_[i].map.matches(point);
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
  check_placeholders(*work, axes_, point, experiment_);
  ResolvedWork resolved{work, identity_tail(*work), {}};
  for (std::size_t i = 0; i < experiment_.derive.size(); ++i) {
    if (is_given(*work, experiment_.derive[i].name)) resolved.derived.push_back(i);
  }
  return by_matching_.emplace(matching, std::move(resolved)).first->second;
}

}  // namespace hpcbench

#include "plan/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/identity.hpp"
#include "spec/placeholders.hpp"
#include "spec/point_values.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

void check_placeholders(const Work& work, const std::vector<std::string>& axes, const Point& point,
                        const Experiment& experiment) {
  const std::string& path = experiment.path;
  Bindings bindings;
  for (std::size_t i = 0; i < axes.size(); ++i) bindings.emplace_back(axes[i], point[i]);
  Bindings defined = bindings;
  for (const Derived& each : experiment.derive) defined.emplace_back(each.name, Value());
  for (const Preparation& each : experiment.preparations) defined.emplace_back(each.dir(), Value());
  std::vector<std::string> declared;
  for (const Override& each : experiment.overrides) {
    for (const auto& parameter : each.parameters) declared.push_back(parameter.first);
  }
  const std::vector<std::string> undefined = undefined_placeholders(work, defined, declared);
  if (undefined.empty()) return;
  std::vector<std::string> names = axes;
  for (const Derived& each : experiment.derive) names.push_back(each.name);
  for (const Preparation& each : experiment.preparations) names.push_back(each.dir());
  for (const auto& parameter : work.parameters) names.push_back(parameter.first);
  names.insert(names.end(), builtin_placeholders().begin(), builtin_placeholders().end());
  throw InputError(fmt::format("error: {}: the command or set-up of the point {} uses `{{{{{}}}}}`, which nothing defines{}",
                               path, describe(bindings), undefined.front(), did_you_mean(undefined.front(), names)));
}

/// Whether what runs is given a derived value: by a placeholder, or as a setting of the trainer.
bool is_given(const Work& work, const std::string& name) {
  if (work.trainer && is_trainer_setting(name)) return true;
  if (!work.files.empty()) return true;  // any name may stand in a deck, and an identity never needs the disk
  const auto names_it = [&](const std::string& text) {
    const std::vector<Placeholder> found = find_placeholders(text);
    return std::any_of(found.begin(), found.end(), [&](const Placeholder& each) { return each.name == name; });
  };
  // A trainer has no command; where overrides bring one, there is no trainer.
  const std::vector<const std::string*> texts = texts_of_run(work);
  return std::any_of(texts.begin(), texts.end(), [&](const std::string* text) { return names_it(*text); });
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
    if (matching[i]) merge(*work, experiment_.overrides[i]);
  }
  check_placeholders(*work, axes_, point, experiment_);
  const std::vector<const std::string*> texts = texts_of_point(*work);
  ResolvedWork resolved{work, identity_tail(*work), {}, std::any_of(texts.begin(), texts.end(), [](const std::string* text) {
                          return !find_placeholders(*text).empty();
                        })};
  for (std::size_t i = 0; i < experiment_.derive.size(); ++i) {
    if (is_given(*work, experiment_.derive[i].name)) resolved.derived.push_back(i);
  }
  return by_matching_.emplace(matching, std::move(resolved)).first->second;
}

}  // namespace hpcbench

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/metric.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "imports/import_request.hpp"

namespace hpcbench {

namespace {

/// The unit of a metric, and where it stands.
struct KnownUnit {
  std::string unit;
  std::string place;
  bool holds_for_plain_numbers = false;  // from `metrics` or the name of the metric
};

class UnitCheck {
 public:
  UnitCheck(const Experiment& experiment, ImportPlan& plan) : experiment_(experiment), plan_(plan) {
    for (const ImportRequest& request : plan.requests) {
      for (const GivenValue& given : request.values) learn(request.where, given);
    }
  }

  /// Whether all values of the request have units that convert.
  bool convert(ImportRequest& request) {
    bool is_sound = true;
    for (GivenValue& given : request.values) {
      is_sound = convert(request.where, given) && is_sound;
      if (!is_negative_time(given)) continue;
      plan_.problems.push_back(
          printable(fmt::format("{}: error: {}={} is a negative time", request.where, given.metric, given.printed)) +
          "\n  = correct it, or leave the value out");
      is_sound = false;
    }
    return is_sound;
  }

 private:
  void learn(const std::string& where, const GivenValue& given) {
    if (given.unit.empty() || known_.contains(given.metric)) return;
    const Metric* const metric = experiment_.find_metric(given.metric);
    KnownUnit known = {given.unit, "at " + where, false};
    if (const std::string in_name = unit_in_name(given.metric); is_known_unit(in_name)) known = {in_name, "by its name", true};
    if (metric != nullptr && !metric->unit.empty()) known = {metric->unit, "by `metrics`", true};
    known_.emplace(given.metric, known);
  }

  bool convert(const std::string& where, GivenValue& given) {
    const auto found = known_.find(given.metric);
    if (found == known_.end()) return true;  // no value has a unit
    const KnownUnit& known = found->second;
    if (given.unit.empty()) {
      return known.holds_for_plain_numbers ||
             tell(where, given, fmt::format("`{}` has no unit here, and is in {} {}", given.metric, known.unit, known.place),
                  fmt::format("write the unit: a heading `{0} [{1}]`, `unit: {{{0}: {1}}}`, or {2} {1}", given.metric,
                              known.unit, given.printed));
    }
    const auto factor = unit_factor(given.unit, known.unit);
    if (!factor) {
      return tell(where, given,
                  fmt::format("`{}` is in {} here, and in {} {}", given.metric, given.unit, known.unit, known.place),
                  "these do not convert: give one of them another name, for example by `values`");
    }
    if (given.unit != known.unit) {
      given.value *= *factor;
      given.unit = known.unit;
    }
    return true;
  }

  /// Once for each metric and unit; false.
  bool tell(const std::string& where, const GivenValue& given, const std::string& text, const std::string& advice) {
    if (told_.emplace(given.metric, given.unit).second)
      plan_.problems.push_back(printable(fmt::format("{}: error: {}", where, text)) + "\n  = " + advice);
    return false;
  }

  const Experiment& experiment_;
  ImportPlan& plan_;
  std::map<std::string, KnownUnit> known_;
  std::set<std::pair<std::string, std::string>> told_;  // metric and unit
};

}  // namespace

bool is_negative_time(const GivenValue& given) {
  return given.value < 0 && is_unit_of_time(given.unit.empty() ? unit_in_name(given.metric) : given.unit);
}

void convert_given_units(const Experiment& experiment, ImportPlan& plan) {
  UnitCheck check(experiment, plan);
  std::vector<ImportRequest> kept;
  for (ImportRequest& request : plan.requests) {
    if (check.convert(request)) kept.push_back(std::move(request));
  }
  plan.requests = std::move(kept);
}

}  // namespace hpcbench

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "imports/import_request.hpp"

namespace hpcbench {

namespace {

/// The unit of a metric, and where it stands.
struct KnownUnit {
  std::string unit;
  std::string place;
  bool is_declared = false;  // in `metrics`: values become values in it
};

class UnitCheck {
 public:
  UnitCheck(const Experiment& experiment, ImportPlan& plan) : experiment_(experiment), plan_(plan) {}

  /// Whether all values of the request have units that convert.
  bool convert(ImportRequest& request) {
    bool is_sound = true;
    for (GivenValue& given : request.values) {
      if (!given.unit.empty()) is_sound = convert(request.where, given) && is_sound;
    }
    return is_sound;
  }

 private:
  bool convert(const std::string& where, GivenValue& given) {
    const KnownUnit& known = unit_of(where, given);
    const auto factor = unit_factor(given.unit, known.unit);
    if (!factor) {
      if (told_.emplace(given.metric, given.unit).second) {
        plan_.problems.push_back(printable(fmt::format("{}: error: `{}` is in {} here, and in {} {}", where, given.metric,
                                                       given.unit, known.unit, known.place)) +
                                 "\n  = these do not convert: give one of them another name, for example by `values`");
      }
      return false;
    }
    if (known.is_declared && given.unit != known.unit) {
      given.value *= *factor;
      given.unit = known.unit;
    }
    return true;
  }

  const KnownUnit& unit_of(const std::string& where, const GivenValue& given) {
    const auto found = known_.find(given.metric);
    if (found != known_.end()) return found->second;
    const Metric* const metric = experiment_.find_metric(given.metric);
    const bool is_declared = metric != nullptr && !metric->unit.empty();
    const KnownUnit unit =
        is_declared ? KnownUnit{metric->unit, "by `metrics`", true} : KnownUnit{given.unit, "at " + where, false};
    return known_.emplace(given.metric, unit).first->second;
  }

  const Experiment& experiment_;
  ImportPlan& plan_;
  std::map<std::string, KnownUnit> known_;
  std::set<std::pair<std::string, std::string>> told_;  // metric and unit
};

}  // namespace

void convert_given_units(const Experiment& experiment, ImportPlan& plan) {
  UnitCheck check(experiment, plan);
  std::vector<ImportRequest> kept;
  for (ImportRequest& request : plan.requests) {
    if (check.convert(request)) kept.push_back(std::move(request));
  }
  plan.requests = std::move(kept);
}

}  // namespace hpcbench

#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/points.hpp"
#include "plan/resolve.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// Fills in the placeholders of `resources`, `partition`, `modules` and the names of `files`, which are known for each point.
/// Points for which these say the same share one Work.
class WorkFiller {
 public:
  /// Keeps references to both.
  WorkFiller(const Experiment& experiment, const std::vector<std::string>& axes) : experiment_(experiment), axes_(axes) {}
  /// `resolved` itself where it has no such placeholders. InputError, which names the point, for a value that its key does not
  /// take.
  const ResolvedWork& fill(const ResolvedWork& resolved, const Point& point, const std::vector<Value>& derived);

  /// The names that are known for a point: axes, parameters, derived values, gpus, ranks.
  Bindings bindings_of(const Work& work, const Point& point, const std::vector<Value>& derived) const;

 private:
  const Experiment& experiment_;
  const std::vector<std::string>& axes_;
  std::map<std::pair<const Work*, std::vector<std::string>>, ResolvedWork> filled_;
};

}  // namespace hpcbench

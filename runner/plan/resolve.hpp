#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plan/points.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// The work of a point and its share of the identity.
struct ResolvedWork {
  std::shared_ptr<const Work> work;
  std::string identity;  // identity_tail of work
};

/// Applies overrides: all that match, in file order, so that the last wins key by key. Points that the same overrides match
/// share one Work.
class WorkResolver {
 public:
  /// Keeps references to both.
  WorkResolver(const Experiment& experiment, const std::vector<std::string>& axes);
  /// InputError, naming the point, if its command or set-up uses a placeholder that nothing defines.
  const ResolvedWork& resolve(const Point& point);

 private:
  const ResolvedWork& make(const std::vector<bool>& matching, const Point& point);

  const Experiment& experiment_;
  const std::vector<std::string>& axes_;
  std::vector<PointCondition> conditions_;  // one per override
  std::vector<bool> last_matching_;         // neighbours mostly share their overrides
  const ResolvedWork* last_ = nullptr;
  std::map<std::vector<bool>, ResolvedWork> by_matching_;
};

}  // namespace hpcbench

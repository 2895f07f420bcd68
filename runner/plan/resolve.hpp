#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/computed.hpp"
#include "plan/identity.hpp"
#include "plan/points.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// The work of a point and its share of the identity.
struct ResolvedWork {
  std::shared_ptr<const Work> work;
  IdentityTail identity;             // of work
  std::vector<std::size_t> derived;  // indices of the derived values that it is given
  bool has_point_texts = false;      // placeholders that WorkFiller fills in
};

/// Applies overrides: all that match, in file order, so that the last wins key by key. Points that the same overrides match
/// share one Work.
class WorkResolver {
 public:
  /// Keeps references to both.
  WorkResolver(const Experiment& experiment, const std::vector<std::string>& axes);
  /// InputError (or a note) for overrides whose expression was true for no point.
  void require_use(std::vector<std::string>& notes) const;
  /// InputError, naming the point, if its command or set-up uses a placeholder that nothing defines.
  const ResolvedWork& resolve(const Point& point);

 private:
  const ResolvedWork& make(const std::vector<bool>& matching, const Point& point);

  const Experiment& experiment_;
  const std::vector<std::string>& axes_;
  /// `when` of an override.
  struct When {
    PointCondition map;
    std::optional<ExpressionCondition> expression;
  };
  std::vector<When> conditions_;     // one per override
  std::vector<bool> last_matching_;  // neighbours mostly share their overrides
  const ResolvedWork* last_ = nullptr;
  std::map<std::vector<bool>, ResolvedWork> by_matching_;
};

}  // namespace hpcbench

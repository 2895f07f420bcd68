#pragma once

#include <string>
#include <vector>

#include "base/run_name.hpp"
#include "store/store.hpp"
#include "study/study.hpp"

namespace hpcbench {

/// Parts of a study's results that enter no table of its file.
struct Leftover {
  /// void_attempt: never ran and never will, and a later attempt of its run is there. orphan: a configuration that neither the
  /// file nor any of its profiles asks for (as the study was read last: with its --set).
  /// preparation: an instance that nothing needs, or an attempt of one that failed or was lost and was made again.
  enum class Kind { void_attempt, orphan, preparation };
  Kind kind = Kind::orphan;
  std::string path;  // below results/EXPERIMENT: `CONFIG_ID/r01/a1`, `CONFIG_ID`
  std::string what;  // for people
  double bytes = 0;
};

/// Sorted by path. Nothing that runs or waits is among them, and of no run the last attempt: its number must not come again.
std::vector<Leftover> find_leftovers(const Study& study, const Store& store);

/// Below results/EXPERIMENT: a folder that is being removed.
inline constexpr const char* kRemovedPrefix = ".removing-";

/// Removes them whole, each renamed away first, so that nothing half-removed is read as a run; and what a call that was killed
/// meanwhile left of others.
void remove_leftovers(const Study& study, const std::vector<Leftover>& leftovers);

}  // namespace hpcbench

#pragma once

#include <string>
#include <vector>

#include "store/store.hpp"

namespace hpcbench {

/// `why` of runs that `run --again` sets aside.
inline constexpr const char* kMeasuredAgain = "measured again";

/// Of Store::states, which are sorted: attempts of a run that setting it aside concerns: those that have ended and are not
/// void, up to `last` (0: all), in rising order.
std::vector<AttemptKey> ended_attempts(const std::vector<AttemptState>& states, const std::string& config_id, RunName run,
                                       int last);

/// Sets attempts aside, in this order, and brings the index up to date. After a crash at any point the next command reads the
/// folders again. Attempts that were set aside before keep their reason if `again`, which then holds for them, too.
void set_aside(Store& store, const std::string& results, const std::string& experiment, const std::vector<AttemptKey>& keys,
               const std::string& why, bool again);
/// Withdraws that. Returns how many were set aside.
long long undo_set_aside(Store& store, const std::string& results, const std::string& experiment,
                         const std::vector<AttemptKey>& keys);

}  // namespace hpcbench

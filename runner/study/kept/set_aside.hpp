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

// `ended` are attempts of one run. It may have been set aside several times; the last time decides what a person changes.

/// The attempts that a person sets aside: those that count or would; if there are none, those of the last time, whose reason
/// changes.
std::vector<AttemptKey> attempts_to_set_aside(const std::string& results, const std::vector<AttemptKey>& ended);
/// The attempts that were set aside the last time; those that `run --again` set aside only `with_again`.
std::vector<AttemptKey> last_set_aside(const std::string& results, const std::vector<AttemptKey>& ended, bool with_again);

/// Sets attempts aside, in this order, and brings the index up to date. After a crash at any point the next command reads the
/// folders again. Attempts that were set aside before keep reason, user and time if `again`, which then holds for them, too.
void set_aside(Store& store, const std::string& results, const std::string& experiment, const std::vector<AttemptKey>& keys,
               const std::string& why, bool again);
/// Withdraws that.
void undo_set_aside(Store& store, const std::string& results, const std::string& experiment,
                    const std::vector<AttemptKey>& keys);

}  // namespace hpcbench

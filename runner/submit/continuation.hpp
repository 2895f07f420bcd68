#pragma once

#include <string>
#include <vector>

#include "base/run_history.hpp"
#include "base/run_name.hpp"
#include "base/state.hpp"
#include "plan/plan.hpp"
#include "render/attempt.hpp"
#include "spec/experiment.hpp"
#include "submit/dispatcher.hpp"

namespace hpcbench {

// What `continue` makes of an attempt that ended: judged from the folders of its run alone, so that after a crash the same is
// found again.

/// Whether `continue` names how an attempt ended. Of failures it means those by the processes' own end that left something to
/// go on from. `folder`: the attempt's.
bool is_to_continue(const Experiment& experiment, const std::string& folder, State outcome);

/// Whether a further segment follows. `results`: the experiment's folder.
bool goes_on(const Experiment& experiment, const std::string& results, const AttemptKey& key, State outcome);

/// Why none follows though `continue` names the outcome: as many segments as it allows, or two of them in a row without
/// progress. Empty otherwise.
std::string why_not_continued(const Experiment& experiment, const std::string& results, const AttemptKey& key, State outcome);

/// The segment that an attempt is.
Segment segment_of(const std::string& results, const AttemptKey& key);

/// The one after it. It goes on from this attempt's folder, or, where nothing was saved in that, from where this one went on:
/// from the beginning if no segment has saved anything, as one that was warned before its program had begun.
Segment segment_after(const std::string& results, const AttemptKey& key, bool is_trainer);

/// Makes the next segment of each of these runs (segments_to_follow), and revokes it: `cancelled`, until a retry. Only for the
/// owner of the experiment, as another `run` could continue them at any moment. A call that dies leaves each run cancelled or
/// still waiting.
void cancel_waiting(const Experiment& experiment, const Plan& plan, const RenderContext& context,
                    const std::vector<AttemptKey>& last, Events& events);

}  // namespace hpcbench

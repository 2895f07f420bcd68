#pragma once

#include <optional>
#include <string>

#include "base/tool_runner.hpp"
#include "study/status_view.hpp"

namespace hpcbench {

/// The status as it is now: the index, what batches say that was submitted, and whether jobs still wait or run. Of Slurm's by
/// one squeue: job, node, why it waits, expected start; where it fails nothing is added, and `problem` says so. Of local ones
/// by their processes. The index must have been refreshed. `owner`: experiment_owner before that, so that what it did at last
/// is in the index.
StatusView live_status(const Study& study, const Store& store, ToolRunner& tools, std::optional<std::string> owner,
                       std::string& problem);

/// The same without asking anybody: the index, and what batches say that was submitted.
StatusView recorded_status(const Study& study, const Store& store);

/// Who goes on with the study: `` `hpcbench run` goes on in process 5 on login1 ``, or that nobody does, and the command that
/// begins what waits for it.
std::string owner_text(const StatusView& view);
/// Whether runs wait for a `hpcbench run`: they are to begin, or have ended unseen.
bool waits_for_owner(const StatusView& view);

}  // namespace hpcbench

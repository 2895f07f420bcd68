#pragma once

#include <optional>
#include <string>

#include "ingest/attempt_record.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

/// Computes the metrics of `info` that are formulas, once for this run, from its other metrics, its axes, and the parameters
/// and derived values of `info.formula_names`. One that needs what is absent stays absent. With `warn` the record says why a
/// formula has no value. Total.
void compute_formulas(const RunInfo& info, AttemptRecord& record, bool warn);

/// Why the run is no success by `success.require`: the first requirement that does not hold, or that names what has no value.
/// Absent where all of them hold.
std::optional<std::string> broken_requirement(const RunInfo& info, const AttemptRecord& record);

}  // namespace hpcbench

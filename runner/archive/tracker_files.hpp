#pragma once

#include <string>
#include <vector>

#include "ingest/attempt_record.hpp"

namespace hpcbench {

/// Writes runs as a file store of MLflow: axes as params, metrics with their series as metrics, facts and the outcome as tags.
/// `folder` must be new or empty; InputError otherwise.
void write_mlflow_store(const std::string& experiment, const std::vector<AttemptRecord>& runs, const std::string& folder);

/// Runs as CSV in the form in which W&B exports a table of runs: Name, State, Runtime, axes, metrics, facts as `fact.NAME`.
std::string runs_as_wandb_csv(const std::vector<AttemptRecord>& runs);

}  // namespace hpcbench

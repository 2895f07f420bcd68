#pragma once

#include <optional>
#include <string>

#include "imports/import_request.hpp"
#include "ingest/imported.hpp"

namespace hpcbench {

/// The options of `hpcbench ingest` about a run, as a JSON object: `asked` of imported.json.
std::string asked_json(const ImportRequest& request);

/// The request that imported the attempt `key` by hand, with the metrics of today's file and the copies of its sources that the
/// attempt keeps. Absent where it cannot be made again: the experiment file asked for the run, its point is gone, a source was
/// too large for a copy, or an older version, which did not write down what was asked, took it in.
std::optional<ImportRequest> request_again(const Study& study, const AttemptKey& key, const Imported& imported);

}  // namespace hpcbench

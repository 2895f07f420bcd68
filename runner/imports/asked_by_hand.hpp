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

/// Completes a request of values alone by what was given for the point earlier: only what is given now replaces it.
void keep_given_before(const Study& study, ImportRequest& request);

/// InputError where a file was imported by `hpcbench ingest` for the same point with other contents: either a corrected log or
/// another run, and the two would count twice or lose a run.
void refuse_changed_files(const Study& study, const std::vector<ImportRequest>& requests);

}  // namespace hpcbench

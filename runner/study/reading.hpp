#pragma once

#include <string>
#include <vector>

#include "ingest/reading.hpp"
#include "store/store.hpp"
#include "study/study.hpp"

namespace hpcbench {

/// How the runs of a study are to be read: as its file says today. Configurations on record (`keys`) that it does not ask for
/// keep the rules that were last applied to them.
Reading reading_of_today(const Study& study, const Reading& before, const std::vector<AttemptKey>& keys);

/// Writes reading.json where it says something else, before any attempt is read by it: a process killed while it reads leaves
/// a record of what is still to be read. Where the folder cannot be written, the rules hold for this call alone.
void keep_reading(const std::string& results, const Reading& reading);

/// `the file's metrics changed`: why attempts that were read by `old` are read by `now`. Null: not known.
std::string what_changed(const ReadingRules* old, const ReadingRules& now);

/// `480 succeeded -> failed`: outcomes that other rules changed, of the runs alone; empty if none.
std::string changed_outcomes(const std::vector<AttemptState>& before, const std::vector<AttemptState>& after);

}  // namespace hpcbench

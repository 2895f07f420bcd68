#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/diff.hpp"
#include "store/store.hpp"
#include "study/study.hpp"

namespace hpcbench {

/// Opens the index for writing. If it had to be made anew, says so and reads every run directory below `results_root` again.
Store open_index(const std::string& results_root);

/// Brings the index of one experiment up to date with its run directories: reads what has no outcome in it yet or is not in it
/// (batches/*/attempts.txt names every attempt), or was read by other rules than those of reading.json, which it says; forgets
/// what is gone. Cheap where nothing changed. Returns what Store::states says from then on, so that it need not be asked again.
std::vector<AttemptState> refresh_index(Store& store, const std::string& results_root, const std::string& experiment);
/// The same by the rules of the study's file, which are kept in reading.json first.
std::vector<AttemptState> refresh_index(Store& store, const Study& study);
/// The same of a copy of the index in memory: writes nothing, and says nothing.
void refresh_copy(Store& store, const Study& study);

/// Reads all run directories of an experiment again, by the rules last applied, whatever the index says. Returns how many there
/// are.
std::size_t reindex(Store& store, const std::string& results_root, const std::string& experiment);

/// Reads these attempts into the index, whatever it says of them.
void index_attempts(Store& store, const std::string& results, const std::vector<AttemptKey>& keys);

// Imported runs stand in imports/attempts.txt, a line each, as those of batches do in batches/*/attempts.txt.
std::vector<AttemptKey> imported_attempts(const std::string& results);
void note_imported_attempts(const std::string& results, const std::vector<AttemptKey>& keys);
/// Those of one configuration, from its folder alone, sorted.
std::vector<AttemptKey> imported_attempts_of(const std::string& results, const std::string& config_id);

/// Folders below `results_root` that hold an experiment's results, sorted.
std::vector<std::string> experiments_on_disk(const std::string& results_root);

/// The index as commands that only look see it.
struct IndexView {
  Store store;
  /// Of the experiment, as Store::states says: reading them again would cost as much as all else.
  std::vector<AttemptState> states;
};

/// The index, brought up to date where it can be written, else made in memory.
IndexView open_for_reading(const std::string& results_root, const std::string& experiment);
/// The same by the rules of the study's file.
IndexView open_for_reading(const Study& study);

/// Of Store::states: attempts that did not succeed and were followed by another of their run; no warm-ups, no imports, and no
/// segments that `continue` followed by others.
std::vector<AttemptKey> attempts_tried_again(const Experiment& experiment, const std::vector<AttemptState>& states);

/// Of Store::states: the state of each run (no warm-ups) from the attempt that counts, sorted: as Store::counting_attempts, but
/// without reading records, which takes ten times as long. Also runs without such an attempt that were set aside (`standing`):
/// with the state of that attempt, or `planned` if the run is measured again.
std::vector<AttemptState> counting_states(std::vector<AttemptState> states);

/// How what is asked for (with --only: what that leaves) compares with what is on record, as Store::states says.
PlanDiff compare_with_index(const Study& study, const std::vector<AttemptState>& states);

/// Writes results/EXPERIMENT/index.tsv: a line per configuration with its axes and the outcomes of its runs (counting_states),
/// for a person who browses.
void write_index_file(const std::vector<AttemptState>& runs, const Study& study);

}  // namespace hpcbench

#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/state_counts.hpp"
#include "store/program_versions.hpp"
#include "store/store.hpp"
#include "study/study.hpp"
#include "submit/job_state.hpp"

namespace hpcbench {

/// One run that is asked for, and where it stands.
struct RunStatus {
  std::string run;  // CONFIG_ID/r01
  Bindings axes;
  State state = State::planned;
  std::optional<AttemptRecord> attempt;  // absent while planned; as the index hands it over, and of its metrics wall_s alone
  std::optional<std::string> expected_start;  // of a waiting job, as Slurm prints it
  JobState job = JobState::unknown;           // of a run that has not ended
  std::string not_begun = {};                 // why a planned run cannot begin: `not begun: build failed ...`
  bool held = false;           // a planned run that `hpcbench run` would not begin either: see not_begun, or its budget
  std::string set_aside = {};  // why, of a run that was set aside
};

/// A metric of the file that runs which succeeded have no value of.
struct MissedMetric {
  std::string name, file, source, selector;
  long long runs = 0;  // without a value
  long long nan = 0;   // of these: as it is NaN or infinite
  long long of = 0;    // that succeeded and should have one
};

struct StatusView {
  std::string experiment;
  std::string results;
  std::string executor;
  StateCounts counts;
  std::vector<RunStatus> runs;           // sorted by run
  std::vector<RunStatus> imported = {};  // runs of these configurations that hpcbench did not start; `counts` is without them
  std::vector<MissedMetric> missed = {};
  std::vector<ProgramChange> changed = {};  // files that differ from what the kept runs executed
  std::vector<std::string> rounds = {};     // how far rows are from being decided, and what is spent: rounds_lines
  std::string rounds_json = {};             // the same; empty for fixed repeats without a budget
  long long set_aside = 0;                  // runs; not among `counts`
  long long tried_again = 0;                // runs that needed, or got, another attempt
  long long to_continue = 0;                // runs whose next segment waits for somebody who hands it over
  std::string carries_on = {};              // what does that: a command, or who does it now
  std::string named = {};                   // Study::named
  std::optional<std::string> owner = {};    // the `hpcbench run` that goes on with the study
};

StatusView make_status(const Study& study, const Store& store);

/// Changes a run's state, and the counts with it.
void set_state(StatusView& view, RunStatus& run, State state);

/// `CONFIG_ID/r01/a1  running 12 s (job 7 on n0)  axis=value`; `now_unix_s` gives a running job its elapsed time, absent: none
/// is shown.
std::string run_line(const RunStatus& run, std::optional<double> now_unix_s);
/// `NAME: 13 runs: 12 succeeded, 1 failed; 2 imported runs: 2 succeeded`. Of a study of imports alone only those.
std::string headline(const StatusView& view);
/// How long a run took, or has run so far; absent if it has not begun.
std::optional<double> elapsed_s(const AttemptRecord& attempt, double now_unix_s);

/// For people: counts, then the runs that are neither planned nor succeeded, or `all`. `now_unix_s` gives running jobs their
/// elapsed time.
std::string status_text(const StatusView& view, double now_unix_s, bool all = false);
/// D11's JSON, as documented in docs/commands.md, piece by piece: the whole text of many runs is larger than all that is known
/// of them.
void write_status_json(const StatusView& view, double now_unix_s, const std::function<void(const std::string&)>& write);

}  // namespace hpcbench

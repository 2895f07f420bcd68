#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/study.hpp"
#include "store/store.hpp"

namespace hpcbench {

/// One run that is asked for, and where it stands.
struct RunStatus {
  std::string run;  // CONFIG_ID/r01
  Bindings axes;
  State state = State::planned;
  std::optional<AttemptRecord> attempt;       // absent while planned
  std::optional<std::string> expected_start;  // of a waiting job, as Slurm prints it
};

struct StatusView {
  std::string experiment;
  std::string results;
  std::string executor;
  std::map<State, long long> counts;
  std::vector<RunStatus> runs;  // sorted by run
};

StatusView make_status(const Study& study, const Store& store);

/// For people: counts, then the runs that are neither planned nor succeeded. `now_unix_s` gives running jobs their elapsed
/// time.
std::string status_text(const StatusView& view, double now_unix_s);
/// D11's JSON, as documented in docs/commands.md.
std::string status_json(const StatusView& view, double now_unix_s);

}  // namespace hpcbench

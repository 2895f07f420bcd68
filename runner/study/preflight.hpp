#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/diff.hpp"
#include "study/follow.hpp"
#include "study/run_study.hpp"
#include "study/study.hpp"

namespace hpcbench {

/// The first configuration of several nodes that the local executor would run on this machine alone; absent: there is none.
std::optional<std::size_t> find_simulated(const Study& study);

/// OMP_NUM_THREADS as this process inherited it, if its value is numbers (`4` or `4,2`).
std::optional<std::string> own_thread_count();
/// A note that runs have OMP_NUM_THREADS=1 because nothing sets it; absent: something does.
std::optional<std::string> note_of_threads(const Study& study);

/// What `run` looks for before it starts anything, if it has anything to start. UnavailableError with all that the runs need
/// and that is not there (examine_needs) in one message; InputError, at the line of `nodes`, for several nodes with the local
/// executor, unless that is asked for.
void require_ready(const Study& study, const PlanDiff& diff, const std::vector<AttemptKey>& retried, const RunOptions& options);

/// InputError for options that do not go with the study's executor.
void require_options(const Study& study, const RunOptions& options);

/// Of the studies of one call: InputError, before any of them begins, with all that is wrong with what they run and with the
/// options, and for two with one results folder.
void require_studies(const std::vector<Study>& studies, const RunOptions& options);

/// Says what is about to happen, and asks where it is much: false if nobody agrees.
bool announce(const Study& study, const PlanDiff& diff, const OutcomeCounts& counts, const RunOptions& options);

}  // namespace hpcbench

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/text.hpp"
#include "executors/slurm/slurm_executor.hpp"

// A controller that is killed loses what it has not saved, and gives the ids of these jobs out again. A node that knows an id
// refuses a job of that id for two minutes, and has the id cancelled: one element of each array has the id of the whole, and
// all end with it.

namespace hpcbench {

namespace {

constexpr double kIdsAreKnownS = 300;  // a loss may be seen half a minute late
constexpr double kLongAgoS = 3600;     // since the start of a controller that still knows what ended then

}  // namespace

/// What was seen of older jobs under an id that Slurm has given out again is of no use: it has lost these jobs.
void SlurmExecutor::forget_lost(const std::string& array) {
  for (const std::string& folder : open_) {
    Entry& entry = entries_.at(folder);
    if (array_of(entry.job) == array) entry.seen_waiting = false;
  }
}

/// Ids rise, but for those that a controller which lost its last seconds gives out again.
void SlurmExecutor::note_new_id(const std::string& array) {
  const std::optional<int> id = whole_number(array);
  if (id && *id <= highest_id_) lost_s_ = clock_.monotonic_s();
  highest_id_ = std::max(highest_id_, id.value_or(0));
}

bool SlurmExecutor::lost_jobs_lately() const { return lost_s_ && clock_.monotonic_s() - *lost_s_ < kIdsAreKnownS; }

/// Whether nodes may know the id of this job, which has ended, from one that was lost. An earlier call, or other users, may
/// have had that one, and elements of arrays have ids that nobody was told: so also where the controller was started again in
/// the study's time, the job was submitted since then, and it ended soon after. Absent if the controller does not answer.
std::optional<bool> SlurmExecutor::may_have_known_id(const std::string& job) {
  if (lost_jobs_lately()) return true;
  if (!config().succeeded()) {
    say_once("scontrol",
             fmt::format("scontrol does not answer ({}); jobs that somebody cancelled wait for it", describe(config())));
    return std::nullopt;
  }
  const std::optional<double> start = parse_controller_start(config().output);
  if (!start || clock_.unix_s() > *start + kLongAgoS || !has_batch_before(*start)) return false;
  const auto [known, fresh] = job_times_.try_emplace(job);
  SlurmJobTimes& times = known->second;
  if (fresh) times = parse_job_times(call({"scontrol", "-o", "show", "job", job}).output);
  return times.submitted && *times.submitted >= *start && times.ended.value_or(clock_.unix_s()) < *start + kIdsAreKnownS;
}

/// Whether a study had handed over something before.
bool SlurmExecutor::has_batch_before(double unix_s) const {
  for (const SlurmSettings::Study& study : settings_.studies) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(study.results + "/batches", error), end; !error && entry != end;
         entry.increment(error)) {
      struct stat file {};
      const bool is_there = ::stat((entry->path() / "attempts.txt").c_str(), &file) == 0;
      if (is_there && static_cast<double>(file.st_mtime) < unix_s) return true;
    }
  }
  return false;
}

}  // namespace hpcbench

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/files.hpp"
#include "base/text.hpp"
#include "executors/slurm/slurm_executor.hpp"
#include "runfiles/block_claim.hpp"
#include "runfiles/claim.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

/// Of a job that has ended, or is not known any more. One that is taken for lost and begins after all finds its claim taken.
bool SlurmExecutor::block_began(const Entry& entry) const {
  return entry.in_block && block_has_begun(study_of(entry.folder).results + "/batches/" + entry.batch,
                                           static_cast<std::size_t>(entry.index), "its job ended before it began");
}

/// Whether its job has nothing to do any more: each of its attempts has finished, or will never run.
bool SlurmExecutor::block_is_over(const Entry& entry) {
  const Places& places = places_of(entry);
  const auto block = places.block.find(entry.index);
  if (block == places.block.end()) return false;
  return std::all_of(block->second.begin(), block->second.end(), [](const std::string& folder) {
    if (has_finished(folder)) return true;
    const std::optional<Claim> claim = read_claim(folder);
    return claim && claim->revoked;
  });
}

/// Why the launcher begins no more of its batch; empty where it does.
std::string SlurmExecutor::refusal_of_batch(const Entry& entry) const {
  const std::string path = study_of(entry.folder).results + "/batches/" + entry.batch + "/" + kRefusedFile;
  return std::string(trim(read_file_if_there(path).value_or("")));
}

/// Its turn never came. Runs that cannot go on side by side would not in another block either: they end here. A block that
/// began and then did nothing at all costs its first attempt a retry, or one that always ends so would be submitted for ever.
void SlurmExecutor::conclude_unbegun(Entry& entry, JobStatus end) {
  if (const std::string refusal = refusal_of_batch(entry); !refusal.empty()) {
    say_once("refused " + entry.batch, refusal);
    end.voids = false;
    end.unclaimed = State::cancelled;
    end.text = refusal;
    return conclude(entry, end);
  }
  const Places& places = places_of(entry);
  const auto block = places.block.find(entry.index);
  const bool nothing = block != places.block.end() && block->second.front() == entry.folder &&
                       std::none_of(block->second.begin(), block->second.end(), is_taken);
  end.voids = !nothing;
  end.unclaimed = State::lost;
  end.text += nothing ? ": its block ended before any of its runs began" : ": its block ended before its turn";
  conclude(entry, end);
}

/// The job goes on for the others. It is told of an attempt that runs, leaves out those that were revoked, and is cancelled
/// only when none of its attempts is left.
void SlurmExecutor::cancel_in_block(const Entry& entry, const SlurmJob* row, const std::string& id) {
  if (has_finished(entry.folder) || entry.name.empty() || id.empty()) return;
  const std::optional<Claim> claim = read_claim(entry.folder);
  if (claim && !claim->revoked) {
    request_end(entry.folder);
    to_tell_[entry.name].insert(id);
  } else if ((row == nullptr || phase_of(row->state) == JobState::waiting) && block_is_over(entry)) {
    to_cancel_[entry.name].push_back(id);
  }
}

/// Jobs of ours that may be in the queue.
int SlurmExecutor::count_queued() const {
  std::set<std::pair<std::string, int>> blocks;
  int count = 0;
  for (const std::string& folder : open_) {
    const Entry& entry = entries_.at(folder);
    if (!entry.in_block || blocks.insert({entry.name, entry.index}).second) ++count;
  }
  return count;
}

}  // namespace hpcbench

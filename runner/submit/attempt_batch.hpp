#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/run_name.hpp"
#include "render/attempt.hpp"

namespace hpcbench {

/// A batch on disk: batches/ID/attempts.txt says which attempts it holds, handed.txt which of them have left it. A line is
/// added to handed.txt before the attempt is handed to the executor, so an attempt without one was certainly never handed over
/// (as long as the machine has not been restarted since: the file's first line names host and boot).
class AttemptBatch {
 public:
  /// Writes attempts.txt and an empty handed.txt in a new folder below `results`/batches; before them blocks.txt, where the
  /// attempts are handed over in blocks of these sizes.
  static AttemptBatch create(const std::string& results, const std::string& id, const std::vector<AttemptKey>& attempts,
                             const std::vector<std::size_t>& blocks = {});
  /// Continues the batch of an earlier process: only to note what leaves it.
  static AttemptBatch resume(const std::string& results, const std::string& id);

  const std::string& id() const { return id_; }
  /// Writes the attempts' hashes where a launcher finds them. Returns the hash of that list, for the batch's script.
  std::string write_hashes(const std::vector<AttemptKey>& attempts, const std::vector<std::string>& hashes) const;
  /// Notes that an attempt leaves the batch: it is about to be handed over, or a newer batch holds it. UnavailableError if that
  /// cannot be written.
  void note_leaving(const AttemptKey& attempt);
  void note_leaving(const std::vector<AttemptKey>& attempts);
  /// Notes that attempts were certainly not taken by the executor: they are here again.
  void note_returned(const std::vector<AttemptKey>& attempts);
  void note_job(const AttemptKey& attempt, const std::string& job);
  /// Writes submitted.json: nothing reads this batch again.
  void close();

 private:
  AttemptBatch(std::string folder, std::string id, Descriptor log);

  std::string folder_;
  std::string id_;
  Descriptor log_;
  std::vector<std::pair<AttemptKey, std::string>> jobs_;
};

/// A batch that an earlier process left without submitted.json.
struct OpenBatch {
  std::string id;
  std::vector<AttemptKey> unhanded;  // certainly never handed over
  std::vector<AttemptKey> handed;    // handed over, or perhaps handed over
};

/// All open batches of an experiment, by id. It skips lines that name no attempt.
std::vector<OpenBatch> read_open_batches(const std::string& results);

/// The attempts that left a batch of the experiment, open or closed, as `CONFIG_ID/r01/a1`; among other lines.
std::set<std::string> read_handed_over(const std::string& results);

/// Writes run.json and job.sh of an attempt whose folder exists. Not durable by itself: one sync_file_system serves the batch.
/// Returns its attempt_hash.
std::string write_attempt_files(const RenderedAttempt& attempt);

}  // namespace hpcbench

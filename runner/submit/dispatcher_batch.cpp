#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "render/blocks.hpp"
#include "submit/dispatcher_impl.hpp"

namespace hpcbench {

namespace {

/// Attempts of one batch: one sync serves many, and a huge study is not rendered all at once.
constexpr std::size_t kBatchLimit = 1000;
constexpr int kBatchIdDigits = 16;

/// Attempt numbers that have a folder in a run's folder and are above `known`, ascending.
std::vector<int> attempts_above(const std::string& run_folder, int known) {
  std::vector<int> numbers;
  for (const auto& entry : std::filesystem::directory_iterator(run_folder)) {
    // The key's first parts do not matter here: only `aN` is read.
    const auto key = parse_attempt_key("0000000000000000/r01/" + entry.path().filename().string());
    if (key && key->attempt > known) numbers.push_back(key->attempt);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

void Dispatcher::Impl::make_batches() {
  do {
    if (!again.empty()) {
      std::vector<std::size_t> chosen;
      chosen.swap(again);
      std::sort(chosen.begin(), chosen.end());
      make_due_batches(chosen, true);
    }
    if (pending.empty()) {
      if (const std::vector<std::size_t> chosen = take_due(); !chosen.empty()) make_due_batches(chosen, false);
    }
    // Where attempts were found instead of made, there may be more to make.
  } while (pending.empty() && (!again.empty() || cursor < runs.size()));
}

std::vector<std::size_t> Dispatcher::Impl::take_due() {
  std::vector<std::size_t> chosen;
  const auto splits_block = [&] {
    return in_blocks() && cursor > 0 && runs[cursor].planned.block == runs[cursor - 1].planned.block;
  };
  while (cursor < runs.size() && (chosen.size() < kBatchLimit || splits_block())) {
    if (runs[cursor].state() == State::planned && !runs[cursor].skipped) chosen.push_back(cursor);
    ++cursor;
  }
  return chosen;
}

/// Makes batches of these runs' next attempts, one for each kind of resources that the executor is asked for.
void Dispatcher::Impl::make_due_batches(const std::vector<std::size_t>& chosen, bool first) {
  std::vector<std::size_t> taken;
  for (const std::size_t run : chosen) {
    if (make_attempt_folder(run)) taken.push_back(run);
  }
  const std::deque<Attempt> queue = make_job_batches(taken);
  pending.insert(first ? pending.begin() : pending.end(), queue.begin(), queue.end());
}

std::deque<Dispatcher::Impl::Attempt> Dispatcher::Impl::make_job_batches(const std::vector<std::size_t>& taken) {
  std::vector<PlannedRun> due;
  for (const std::size_t run : taken) {
    due.push_back(runs[run].planned);
    due.back().attempt = runs[run].highest() + 1;
  }
  const auto limit = static_cast<std::size_t>(std::max(1, executor.batch_limit()));
  std::deque<Attempt> queue;
  for (const JobBatch& batch : make_jobs(experiment, plan, due, limit, context, in_blocks())) {
    const std::deque<Attempt> made = write_batch(taken, batch);
    queue.insert(queue.end(), made.begin(), made.end());
  }
  return queue;
}

/// Folders are there; list, files, one sync, journal; in this order, so that at each point the disk tells what was certainly
/// not handed over. `jobs` has indices into `due`.
std::deque<Dispatcher::Impl::Attempt> Dispatcher::Impl::write_batch(const std::vector<std::size_t>& due, const JobBatch& jobs) {
  std::vector<std::size_t> taken;
  std::vector<std::size_t> sizes;
  for (const std::vector<std::size_t>& job : jobs.jobs) {
    for (const std::size_t i : job) taken.push_back(due[i]);
    sizes.push_back(job.size());
  }
  const std::string id = random_hex(kBatchIdDigits);
  std::vector<AttemptKey> keys;
  std::vector<RenderedAttempt> rendered;
  for (const std::size_t run : taken) {
    const PlannedRun& planned = runs[run].planned;
    keys.push_back(runs.key(run, runs[run].highest() + 1));
    rendered.push_back(render_attempt(experiment, plan, planned.configuration, planned.name, keys.back().attempt, id, context,
                                      next_segment(run)));
  }
  const auto batch = std::make_shared<LiveBatch>(LiveBatch{
      AttemptBatch::create(context.results, id, keys, in_blocks() ? sizes : std::vector<std::size_t>()), taken.size()});
  std::vector<std::string> hashes;
  for (const RenderedAttempt& attempt : rendered) hashes.push_back(write_attempt_files(attempt));
  if (!executor.runs_here()) context.hashes_sha256 = batch->batch.write_hashes(keys, hashes);
  const Configuration& any = plan.configurations[runs[taken.front()].planned.configuration];
  if (const auto text = render_batch_script(experiment, any, jobs, id, context, in_blocks()))
    write_file(context.results + "/" + batch_script_path(id), *text, Durability::none);
  sync_file_system(context.results);
  events.intended(id, keys);

  std::deque<Attempt> queue;
  std::size_t i = 0;
  for (std::size_t element = 0; element < sizes.size(); ++element) {
    for (const std::size_t end = i + sizes[element]; i < end; ++i) {
      leave_old_batches(taken[i]);
      runs.add_intended(taken[i], keys[i].attempt);
      queue.push_back({.run = taken[i],
                       .key = keys[i],
                       .folder = folder_of(keys[i]),
                       .batch = id,
                       .live = batch,
                       .index = static_cast<int>(element),
                       .hash = hashes[i]});
    }
  }
  return queue;
}

/// False if an attempt that nobody told us of is there: then it is taken over instead.
bool Dispatcher::Impl::make_attempt_folder(std::size_t run) {
  const std::string folder = folder_of(runs.key(run, runs[run].highest() + 1));
  if (::mkdir(folder.c_str(), kStudyFolder) == 0) return true;
  if (errno == ENOENT) {
    make_folders(folder);
    return true;
  }
  if (errno != EEXIST) throw UnavailableError(fmt::format("error: cannot create folder {}: {}", folder, std::strerror(errno)));
  if (unused.count(run) != 0) return true;
  // Nothing is handed over before its run.json is durable.
  if (!is_taken(folder) && ::access((folder + "/run.json").c_str(), F_OK) != 0) return true;
  discover_attempts(run);
  return false;
}

void Dispatcher::Impl::discover_attempts(std::size_t run) {
  const std::string run_folder = std::filesystem::path(folder_of(runs.key(run, 1))).parent_path().string();
  const std::string why = fmt::format("{}found without a record of it", kVoidPrefix);
  for (const int number : attempts_above(run_folder, runs[run].highest())) {
    const AttemptKey key = runs.key(run, number);
    runs.add_intended(run, number);
    // A lower one may have asked for another attempt; this one is that.
    again.erase(std::remove(again.begin(), again.end(), run), again.end());
    take_over(run, key, why);
  }
}

void Dispatcher::Impl::leave_old_batches(std::size_t run) {
  const auto found = unused.find(run);
  if (found == unused.end()) return;
  for (const std::string& id : vouchers[found->second]) {
    LiveBatch& old = old_batches.at(id);
    old.batch.note_leaving(found->second);
    if (--old.waiting == 0) old.batch.close();
  }
  unused.erase(found);
}

}  // namespace hpcbench

#include <fmt/format.h>

#include <algorithm>

#include "runfiles/claim.hpp"
#include "submit/dispatcher_impl.hpp"

namespace hpcbench {

namespace {

std::string recovery_why() { return fmt::format("{}an earlier call ended before its job began", kVoidPrefix); }

}  // namespace

void Dispatcher::Impl::recover(const std::vector<AttemptState>& known) {
  std::vector<AttemptKey> open;
  for (const AttemptState& attempt : known) {
    const auto run = runs.find(attempt.key.config_id, attempt.key.run);
    if (!run) continue;
    runs.add(*run, attempt, is_miss(attempt.key, attempt.state));
    if (!is_outcome(attempt.state)) open.push_back(attempt.key);
  }
  std::vector<OpenBatch> batches = read_open_batches(context.results);
  std::erase_if(batches, [&](const OpenBatch& batch) { return !has_any_of(batch); });
  const std::vector<AttemptKey> unknown = note_open_batches(batches);
  open.insert(open.end(), unknown.begin(), unknown.end());
  for (const AttemptKey& key : open) recover_attempt(key);
  close_left_batches(batches);

  for (std::size_t run = 0; run < runs.size() && !is_held(); ++run) {
    const NextAttempt next = next_of(run);
    if (next == NextAttempt::none) continue;
    const std::string folder = folder_of(runs.key(run, runs[run].highest()));
    if (next == NextAttempt::again || !has_finished(folder)) executor.cancel(folder, {});
    requeue(run);
  }
  runs.skip_idle_warmups();
}

/// Whether a run of the plan is in it. Other batches belong to other plans, of preparations or of the study.
bool Dispatcher::Impl::has_any_of(const OpenBatch& batch) const {
  const auto is_ours = [&](const AttemptKey& key) { return runs.find(key.config_id, key.run).has_value(); };
  return std::any_of(batch.handed.begin(), batch.handed.end(), is_ours) ||
         std::any_of(batch.unhanded.begin(), batch.unhanded.end(), is_ours);
}

/// Attempts of open batches that the record does not have (a crash came between files and journal); and who vouches for which.
std::vector<AttemptKey> Dispatcher::Impl::note_open_batches(const std::vector<OpenBatch>& batches) {
  std::vector<AttemptKey> unknown;
  for (const OpenBatch& batch : batches) {
    for (const auto* keys : {&batch.handed, &batch.unhanded}) {
      for (const AttemptKey& key : *keys) {
        const auto run = runs.find(key.config_id, key.run);
        if (!run || key.attempt <= runs[*run].highest()) continue;
        runs.add_intended(*run, key.attempt);
        unknown.push_back(key);
      }
    }
    old_batches.emplace(batch.id, LiveBatch{AttemptBatch::resume(context.results, batch.id), batch.unhanded.size()});
    for (const AttemptKey& key : batch.unhanded) vouchers[key].push_back(batch.id);
  }
  return unknown;
}

void Dispatcher::Impl::recover_attempt(const AttemptKey& key) {
  const std::size_t run = *runs.find(key.config_id, key.run);
  const std::string folder = folder_of(key);
  if (!is_taken(folder)) {
    const bool vouched = vouchers.count(key) != 0;
    // Nothing is handed over before its run.json is durable: where both are so, its program deleted the folder.
    const bool never_left = !has_run_json(folder) && !was_handed_over(key);
    if (vouched || never_left) return keep_unused(run, key);
  }
  take_over(run, key, recovery_why());
}

bool Dispatcher::Impl::was_handed_over(const AttemptKey& key) {
  if (!handed) handed = read_handed_over(context.results);
  return handed->contains(to_string(key));
}

/// Of jobs in a queue it takes time to say that one is not there: until then all that may be are watched.
void Dispatcher::Impl::take_over(std::size_t run, const AttemptKey& key, const std::string& why, const std::string& batch) {
  const std::string folder = folder_of(key);
  const std::optional<Claim> claim = executor.runs_here() ? std::nullopt : read_claim(folder);
  if (executor.runs_here() || has_finished(folder) || (claim && claim->revoked)) {
    apply(run, key, judge_attempt(folder, {}, std::nullopt, revoke_attempt(why), executor));
    return;
  }
  const std::string job = claim ? claim->job : "";
  executor.adopt(folder, job);
  watch(run, key, job, batch);
}

/// An attempt that was certainly never handed over can still be used: its files are made again, its number stays.
void Dispatcher::Impl::keep_unused(std::size_t run, const AttemptKey& key) {
  if (!is_highest(run, key)) return;
  runs.take_back_highest(run);
  requeue(run);
  unused.emplace(run, key);
}

/// Closes the batches of which nothing is left to hand over.
void Dispatcher::Impl::close_left_batches(const std::vector<OpenBatch>& batches) {
  for (const OpenBatch& open : batches) {
    LiveBatch& old = old_batches.at(open.id);
    for (const AttemptKey& key : open.handed) {
      const auto claim = read_claim(folder_of(key));
      if (claim && !claim->job.empty()) old.batch.note_job(key, claim->job);
    }
    for (const AttemptKey& key : open.unhanded) {
      const auto run = runs.find(key.config_id, key.run);
      const auto kept = run ? unused.find(*run) : unused.end();
      const bool waits = run ? kept != unused.end() && kept->second == key : !is_taken(folder_of(key));
      if (waits) continue;
      old.batch.note_leaving(key);
      --old.waiting;
    }
    if (old.waiting == 0) old.batch.close();
  }
}

long long Dispatcher::Impl::retry(const std::vector<AttemptKey>& finished) {
  long long taken = 0;
  for (const AttemptKey& key : finished) {
    const auto run = runs.find(key.config_id, key.run);
    if (!run || !is_outcome(runs[*run].state())) continue;
    const AttemptKey highest = runs.key(*run, runs[*run].highest());
    // A job that went without finished.json may have left processes behind.
    if (!has_finished(folder_of(highest))) executor.cancel(folder_of(highest), {});
    requeue(*run);
    asked_for = true;
    ++taken;
  }
  return taken;
}

}  // namespace hpcbench

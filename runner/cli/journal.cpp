#include "cli/journal.hpp"

#include <fmt/format.h>

#include "submit/judge.hpp"

namespace hpcbench {

namespace {

constexpr double kFlushInterval = 1;  // seconds between transactions
constexpr int kFailuresTold = 20;     // kinds of failures; each is told once, with a count in the end

}  // namespace

Journal::Journal(Store& store, std::string experiment, std::string results, Progress& progress, Clock& clock)
    : store_(store), experiment_(std::move(experiment)), results_(std::move(results)), progress_(progress), clock_(clock) {}

void Journal::intended(const std::string& /*batch*/, const std::vector<AttemptKey>& attempts) {
  std::vector<AttemptState> states;
  states.reserve(attempts.size());
  for (const AttemptKey& key : attempts) states.push_back({key, State::intended});
  store_.put_states(experiment_, states);
}

void Journal::submitted(const AttemptKey& attempt, const std::string& /*job*/) {
  states_.push_back({attempt, State::submitted});
  flush(false);
}

State Journal::settled(const AttemptKey& attempt, std::optional<State> without_finish, const std::string& reason) {
  const std::string folder = results_ + "/" + to_string(attempt);
  AttemptRecord record = without_finish ? settle_attempt(folder, *without_finish, reason) : read_attempt(folder);
  const State state = record.state;
  if (!attempt.run.is_warmup()) {
    if (state == State::succeeded) failures_.note_success();
    if (is_outcome(state) && state != State::succeeded) tell_failure(attempt, state, record);
  }
  records_.push_back(std::move(record));
  flush(false);
  return state;
}

void Journal::tell_failure(const AttemptKey& attempt, State state, const AttemptRecord& record) {
  const std::string reason = record.reason.value_or("no reason known");
  if (reason.starts_with(kVoidPrefix)) {
    progress_.print(fmt::format("{} {}; its run gets another attempt", to_string(attempt), explain_void(reason)));
    return;
  }
  if (cancels_expected_ && state == State::cancelled) return;
  if (!failures_.note_failure(attempt, state, reason)) return;
  if (kinds_told_ < kFailuresTold) {
    progress_.print(
        fmt::format("{} {}: {} ({}/{})", to_string(attempt), to_string(state), reason, results_, to_string(attempt)));
  } else if (kinds_told_ == kFailuresTold) {
    progress_.print("more runs do not succeed; `hpcbench status` lists them");
  }
  ++kinds_told_;
}

void Journal::tell_repeated_failures() {
  for (const std::string& line : failures_.repeated()) progress_.print(line);
}

void Journal::note(const std::string& text) { progress_.print(text); }

void Journal::flush(bool now) {
  if (!now && clock_.monotonic_s() - last_flush_s_ < kFlushInterval) return;
  last_flush_s_ = clock_.monotonic_s();
  // An attempt may be in both: its record, the later word, is written last.
  if (!states_.empty()) store_.put_states(experiment_, states_);
  if (!records_.empty()) store_.put(records_);
  states_.clear();
  records_.clear();
}

}  // namespace hpcbench

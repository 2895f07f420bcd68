#include "submit/events.hpp"

#include <utility>

#include "ingest/metric_files.hpp"

namespace hpcbench {

Events::Events(std::string results, Reading reading, std::vector<Listener*> listeners)
    : results_(std::move(results)), reading_(std::move(reading)), listeners_(std::move(listeners)) {}

void Events::intended(const std::string& batch, const std::vector<AttemptKey>& attempts) {
  for (Listener* const listener : listeners_) listener->intended(batch, attempts);
}

void Events::submitted(const AttemptKey& attempt, const std::string& job) {
  for (Listener* const listener : listeners_) listener->submitted(attempt, job);
}

State Events::ended(const AttemptKey& attempt, std::optional<State> without_finish, const std::string& reason) {
  const std::string folder = results_ + "/" + to_string(attempt);
  keep_outside_files_late(folder);
  const ReadingRules* const rules = reading_.find(attempt.config_id);
  const AttemptRecord record =
      without_finish ? settle_attempt(folder, *without_finish, reason, rules) : read_attempt(folder, rules);
  for (Listener* const listener : listeners_) listener->ended(record);
  return record.state;
}

void Events::tried_again(const AttemptKey& attempt) {
  for (Listener* const listener : listeners_) listener->tried_again(attempt);
}

void Events::note(const std::string& text) {
  for (Listener* const listener : listeners_) listener->note(text);
}

}  // namespace hpcbench

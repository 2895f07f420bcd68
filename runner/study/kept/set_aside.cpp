#include "study/kept/set_aside.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "ingest/reading.hpp"

namespace hpcbench {

namespace {

/// Marks the attempts in the index, changes their folders, and reads these again: a command after a crash reads them, too.
void change_folders(Store& store, const std::string& results, const std::string& experiment,
                    const std::vector<AttemptKey>& keys, const std::function<void(const std::string& folder)>& change) {
  store.reopen(experiment, keys);
  for (const AttemptKey& key : keys) change(results + "/" + to_string(key));
  const Reading reading = read_reading(results);
  std::vector<AttemptRecord> records;
  for (const AttemptKey& key : keys)
    records.push_back(read_attempt(results + "/" + to_string(key), reading.find(key.config_id)));
  store.put(records);
}

}  // namespace

std::vector<AttemptKey> ended_attempts(const std::vector<AttemptState>& states, const std::string& config_id, RunName run,
                                       int last) {
  const AttemptKey first{config_id, run, 0};
  auto state = std::lower_bound(states.begin(), states.end(), first,
                                [](const AttemptState& each, const AttemptKey& key) { return each.key < key; });
  std::vector<AttemptKey> keys;
  for (; state != states.end() && state->key.config_id == config_id && state->key.run == run; ++state) {
    if (state->is_void || !is_outcome(state->state)) continue;
    if (last == 0 || state->key.attempt <= last) keys.push_back(state->key);
  }
  return keys;
}

std::vector<AttemptKey> attempts_to_set_aside(const std::string& results, const std::vector<AttemptKey>& ended) {
  std::vector<AttemptKey> keys;
  for (const AttemptKey& key : ended) {
    if (!read_set_aside(results + "/" + to_string(key))) keys.push_back(key);
  }
  return keys.empty() ? last_set_aside(results, ended, true) : keys;
}

std::vector<AttemptKey> last_set_aside(const std::string& results, const std::vector<AttemptKey>& ended, bool with_again) {
  std::vector<AttemptKey> last;
  std::optional<double> last_unix_s;
  for (const AttemptKey& key : ended) {
    const std::optional<SetAside> aside = read_set_aside(results + "/" + to_string(key));
    if (!aside || (aside->again && !with_again)) continue;
    if (last.empty() || aside->unix_s > last_unix_s) {
      last.clear();
      last_unix_s = aside->unix_s;
    }
    if (aside->unix_s == last_unix_s) last.push_back(key);
  }
  return last;
}

void set_aside(Store& store, const std::string& results, const std::string& experiment, const std::vector<AttemptKey>& keys,
               const std::string& why, bool again) {
  const SetAside decision = decide_to_set_aside(why, again);
  change_folders(store, results, experiment, keys, [&](const std::string& folder) {
    SetAside aside = again ? read_set_aside(folder).value_or(decision) : decision;
    aside.again = again;
    write_set_aside(folder, aside);
  });
}

void undo_set_aside(Store& store, const std::string& results, const std::string& experiment,
                    const std::vector<AttemptKey>& keys) {
  change_folders(store, results, experiment, keys, [](const std::string& folder) { remove_set_aside(folder); });
}

}  // namespace hpcbench

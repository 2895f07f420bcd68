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

void set_aside(Store& store, const std::string& results, const std::string& experiment, const std::vector<AttemptKey>& keys,
               const std::string& why, bool again) {
  change_folders(store, results, experiment, keys, [&](const std::string& folder) {
    const std::optional<SetAside> before = read_set_aside(folder);
    write_set_aside(folder, before && again ? before->why : why, again);
  });
}

long long undo_set_aside(Store& store, const std::string& results, const std::string& experiment,
                         const std::vector<AttemptKey>& keys) {
  long long undone = 0;
  change_folders(store, results, experiment, keys,
                 [&](const std::string& folder) { undone += remove_set_aside(folder) ? 1 : 0; });
  return undone;
}

}  // namespace hpcbench

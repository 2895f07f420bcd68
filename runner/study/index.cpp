#include "study/index.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/key_order.hpp"
#include "base/run_history.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "study/reading.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

/// One transaction for this many records: enough to be fast, few enough to hold in memory.
constexpr std::size_t kRecordsAtOnce = 2000;

/// A folder that is kept open: what lies below it is found without the way to the folder itself, which a million names share.
class OpenFolder {
 public:
  explicit OpenFolder(const std::string& path) : folder_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_.get() < 0) require_absent(path);
  }
  bool has(const std::string& name) const {
    if (folder_.get() < 0) return false;
    if (::faccessat(folder_.get(), name.c_str(), F_OK, 0) == 0) return true;
    require_absent(name);
    return false;
  }

 private:
  /// What is there and cannot be looked at is not gone.
  static void require_absent(const std::string& path) {
    if (errno != ENOENT && errno != ENOTDIR)
      throw UnavailableError(fmt::format("error: cannot look at {}: {}", path, std::strerror(errno)));
  }

  Descriptor folder_;
};

/// Which of the attempts have a folder. Where they are many, threads share the work: it mostly waits, here for memory,
/// elsewhere for the server of the file system.
std::vector<char> find_folders(const OpenFolder& folder, const std::vector<AttemptState>& states) {
  constexpr std::size_t kOfThread = 10'000;
  constexpr std::size_t kMostThreads = 8;
  std::vector<char> there(states.size());
  const auto look = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) there[i] = folder.has(to_string(states[i].key)) ? 1 : 0;
  };
  const std::size_t threads = std::clamp<std::size_t>(states.size() / kOfThread, 1, kMostThreads);
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < threads; ++i)
    others.push_back(std::async(std::launch::async, look, states.size() * i / threads, states.size() * (i + 1) / threads));
  look(0, states.size() / threads);
  for (std::future<void>& each : others) each.get();
  return there;
}

/// Every attempt of a run in a batch, in no order. Preparations have batches too, and no place in the index.
std::vector<AttemptKey> attempts_of_batches(const std::string& results) {
  std::vector<AttemptKey> keys;
  std::error_code error;
  for (const fs::directory_entry& batch : fs::directory_iterator(results + "/batches", error)) {
    const std::optional<std::string> list = read_file_if_there(batch.path() / "attempts.txt");
    if (!list) continue;
    for (std::string_view rest = *list; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      std::optional<AttemptKey> key = parse_attempt_key(line);
      if (key && key->run.kind != RunKind::preparation) keys.push_back(*std::move(key));
    }
  }
  return keys;
}

/// Appends those that are on disk, but not among `states`, which are sorted.
void add_unknown(const std::vector<AttemptKey>& keys, const std::vector<AttemptState>& states, const OpenFolder& folder,
                 std::vector<AttemptKey>& unknown) {
  auto state = states.begin();
  for (const AttemptKey* key : in_key_order(keys, [](const AttemptKey& each) -> auto& { return each; })) {
    while (state != states.end() && state->key < *key) ++state;
    if (state != states.end() && state->key == *key) continue;
    if (folder.has(to_string(*key) + "/run.json")) unknown.push_back(*key);
  }
}

void read_into(Store& store, const std::string& results, const std::vector<AttemptKey>& keys, const Reading& reading) {
  std::vector<AttemptRecord> records;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    records.push_back(read_attempt(results + "/" + to_string(keys[i]), reading.find(keys[i].config_id)));
    if (records.size() == kRecordsAtOnce || i + 1 == keys.size()) {
      store.put(records);
      records.clear();
    }
  }
}

/// What the index of an experiment says, and where the run directories say something else.
struct IndexLook {
  std::vector<AttemptState> states;
  std::vector<AttemptKey> gone;    // deleted; not those without an outcome that a batch names: their jobs may run
  std::vector<AttemptKey> unread;  // no outcome yet, or not in the index
};

IndexLook look_at_index(const Store& store, const std::string& results, const std::string& experiment) {
  IndexLook look;
  look.states = store.states(experiment);
  const OpenFolder folder(results);
  const std::vector<char> there = find_folders(folder, look.states);
  const std::vector<AttemptKey> submitted = attempts_of_batches(results);
  std::set<AttemptKey> sorted;  // the same, made where a folder is missing
  for (std::size_t i = 0; i < look.states.size(); ++i) {
    const AttemptState& state = look.states[i];
    if (there[i] == 0) {
      const bool may_run = !is_outcome(state.state);
      if (may_run && sorted.empty()) sorted.insert(submitted.begin(), submitted.end());
      if (!may_run || !sorted.contains(state.key)) look.gone.push_back(state.key);
    } else if (!is_outcome(state.state)) {
      look.unread.push_back(state.key);
    }
  }
  add_unknown(submitted, look.states, folder, look.unread);
  add_unknown(imported_attempts(results), look.states, folder, look.unread);
  return look;
}

/// Attempts with an outcome whose records other rules made, in the order of `states`.
std::vector<const AttemptState*> read_by_other_rules(const IndexLook& look, const Reading& reading) {
  std::vector<const AttemptState*> stale;
  auto gone = look.gone.begin();
  for (const AttemptState& state : look.states) {
    while (gone != look.gone.end() && *gone < state.key) ++gone;
    if (!is_outcome(state.state) || state.key.run.is_imported() || (gone != look.gone.end() && *gone == state.key)) continue;
    const std::string& wanted = reading.hash_of(state.key.config_id);
    if (!wanted.empty() && state.rules != wanted) stale.push_back(&state);
  }
  return stale;
}

/// The rules that made a record: those before, or those that its run.json holds; absent if they are neither.
std::optional<ReadingRules> rules_that_made(const AttemptState& state, const Reading& before, const std::string& results) {
  const auto renamed = before.renamed.find(state.rules);
  const auto rules = before.rules.find(renamed == before.renamed.end() ? state.rules : renamed->second);
  if (rules != before.rules.end()) return rules->second;
  const std::string path = results + "/" + to_string(state.key) + "/run.json";
  const ReadingRules own = rules_of(parse_run_json(read_file_if_there(path).value_or("")));
  return rules_hash(own) == state.rules ? std::optional(own) : std::nullopt;
}

/// `read 480 runs again: the file's metrics changed`.
std::string tell_rereading(const std::vector<const AttemptState*>& stale, const Reading& before, const Reading& reading,
                           const std::string& results) {
  std::size_t runs = 0;
  const AttemptKey* last = nullptr;
  for (const AttemptState* state : stale) {
    const bool same = last != nullptr && last->config_id == state->key.config_id && last->run == state->key.run;
    if (!same && !state->is_void) ++runs;
    last = &state->key;
  }
  const std::optional<ReadingRules> old = rules_that_made(*stale.front(), before, results);
  return fmt::format("read {} run{} again: {}", runs, runs == 1 ? "" : "s",
                     what_changed(old ? &*old : nullptr, *reading.find(stale.front()->key.config_id)));
}

enum class Telling { aloud, silent };

/// Says that results are gone: their runs count as not yet measured.
void tell_gone(const std::vector<AttemptState>& states, const std::vector<AttemptKey>& gone, const std::string& results) {
  long long runs = 0;
  const AttemptKey* last = nullptr;
  auto state = states.begin();
  for (const AttemptKey& key : gone) {  // in the order of `states`
    while (!(state->key == key)) ++state;
    const bool same = last != nullptr && last->config_id == key.config_id && last->run == key.run;
    if (state->is_void || key.run.is_warmup() || same) continue;
    ++runs;
    last = &key;
  }
  if (runs > 0) {
    say(fmt::format("note: the folders of {} are gone from {}, and their results with them", counted(runs, "run", "runs"),
                    results));
  }
}

std::vector<AttemptState> bring_up_to_date(Store& store, const std::string& results, const std::string& experiment,
                                           IndexLook look, const Reading& before, const Reading& reading, Telling telling) {
  const std::vector<const AttemptState*> stale = read_by_other_rules(look, reading);
  std::string told = stale.empty() ? "" : tell_rereading(stale, before, reading, results);
  for (const AttemptState* state : stale) look.unread.push_back(state->key);
  if (look.gone.empty() && look.unread.empty()) return std::move(look.states);
  if (!look.gone.empty()) store.forget(experiment, look.gone);
  if (telling == Telling::aloud) tell_gone(look.states, look.gone, results);
  if (!look.unread.empty()) read_into(store, results, look.unread, reading);
  std::vector<AttemptState> states = store.states(experiment);
  if (!told.empty() && telling == Telling::aloud) {
    const std::string outcomes = changed_outcomes(look.states, states);
    if (!outcomes.empty()) told += fmt::format(" ({}; no run is repeated for that)", outcomes);
    say(told);
  }
  return states;
}

/// Opens the index and brings it up to date; where it cannot be written, makes it in memory, and that up to date.
template <class Refresh>
IndexView open_refreshed(const std::string& results_root, const std::string& experiment, const Refresh& refresh) {
  if (!fs::exists(results_root)) return {Store::open(":memory:"), {}};
  const std::string results = results_root + "/" + experiment;
  const std::string owner = other_owner(results);
  if (owner.empty()) {
    try {
      Store store = open_index(results_root);
      std::vector<AttemptState> states = refresh(store);
      return {std::move(store), std::move(states)};
    } catch (const UnavailableError&) {  // a folder that cannot be written, or a full disk
    }
  } else {
    say(fmt::format("note: {} belongs to {}: hpcbench reads it and writes nothing there", results, owner));
  }
  Store store = Store::open(":memory:");
  reindex(store, results_root, experiment);
  std::vector<AttemptState> states = refresh(store);
  return {std::move(store), std::move(states)};
}

Reading reading_today(const Study& study, const Reading& before, const IndexLook& look) {
  std::vector<AttemptKey> keys;
  keys.reserve(look.states.size() + look.unread.size());
  for (const AttemptState& state : look.states) keys.push_back(state.key);
  keys.insert(keys.end(), look.unread.begin(), look.unread.end());
  return reading_of_today(study, before, keys);
}

}  // namespace

void index_attempts(Store& store, const std::string& results, const std::vector<AttemptKey>& keys) {
  read_into(store, results, keys, read_reading(results));
}

std::vector<AttemptKey> imported_attempts(const std::string& results) {
  std::vector<AttemptKey> keys;
  for (const std::string& line : split(read_file_if_there(results + "/imports/attempts.txt").value_or(""), '\n')) {
    const std::optional<AttemptKey> key = parse_attempt_key(line);
    if (key && key->run.is_imported()) keys.push_back(*key);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

void note_imported_attempts(const std::string& results, const std::vector<AttemptKey>& keys) {
  if (keys.empty()) return;
  std::string text = read_file_if_there(results + "/imports/attempts.txt").value_or("");
  for (const AttemptKey& key : keys) text += to_string(key) + '\n';
  write_file(results + "/imports/attempts.txt", text, Durability::durable);
}

std::vector<AttemptKey> imported_attempts_of(const std::string& results, const std::string& config_id) {
  std::vector<AttemptKey> keys;
  std::error_code error;
  for (const fs::directory_entry& run : fs::directory_iterator(results + "/" + config_id, error)) {
    const std::optional<RunName> name = parse_run_name(run.path().filename().string());
    if (!name || !name->is_imported()) continue;
    std::error_code unreadable;
    for (const fs::directory_entry& attempt : fs::directory_iterator(run.path(), unreadable)) {
      const std::string path = fmt::format("{}/{}/{}", config_id, to_string(*name), attempt.path().filename().string());
      const std::optional<AttemptKey> key = parse_attempt_key(path);
      if (key && to_string(*key) == path) keys.push_back(*key);
    }
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<std::string> experiments_on_disk(const std::string& results_root) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(results_root, error)) {
    if (fs::exists(entry.path() / "batches") || fs::exists(entry.path() / "imports" / "attempts.txt"))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::size_t reindex(Store& store, const std::string& results_root, const std::string& experiment) {
  const std::string results = results_root + "/" + experiment;
  const std::vector<AttemptKey> keys = find_attempts(results);
  store.clear(experiment);
  read_into(store, results, keys, read_reading(results));
  return keys.size();
}

Store open_index(const std::string& results_root) {
  make_folders(results_root, kUserFolder);
  Store store = Store::open(results_root + "/hpcbench.db");
  if (store.rebuilt()) {
    say(fmt::format("note: {}/hpcbench.db is made anew from the run directories: {}", results_root, *store.rebuilt()));
    for (const std::string& experiment : experiments_on_disk(results_root)) reindex(store, results_root, experiment);
  }
  return store;
}

std::vector<AttemptState> refresh_index(Store& store, const std::string& results_root, const std::string& experiment) {
  const std::string results = results_root + "/" + experiment;
  const Reading reading = read_reading(results);
  return bring_up_to_date(store, results, experiment, look_at_index(store, results, experiment), reading, reading,
                          Telling::aloud);
}

std::vector<AttemptState> refresh_index(Store& store, const Study& study) {
  IndexLook look = look_at_index(store, study.results, study.experiment.name);
  const Reading before = read_reading(study.results);
  const Reading reading = reading_today(study, before, look);
  if (other_owner(study.results).empty()) keep_reading(study.results, reading);
  return bring_up_to_date(store, study.results, study.experiment.name, std::move(look), before, reading, Telling::aloud);
}

void refresh_copy(Store& store, const Study& study) {
  IndexLook look = look_at_index(store, study.results, study.experiment.name);
  const Reading before = read_reading(study.results);
  const Reading reading = reading_today(study, before, look);
  bring_up_to_date(store, study.results, study.experiment.name, std::move(look), before, reading, Telling::silent);
}

IndexView open_for_reading(const std::string& results_root, const std::string& experiment) {
  return open_refreshed(results_root, experiment, [&](Store& store) { return refresh_index(store, results_root, experiment); });
}

IndexView open_for_reading(const Study& study) {
  return open_refreshed(study.results_root, study.experiment.name, [&](Store& store) { return refresh_index(store, study); });
}

std::vector<AttemptKey> attempts_tried_again(const Experiment& experiment, const std::vector<AttemptState>& states) {
  const auto is_segment = [&](State state) { return experiment.continuation && experiment.continuation->goes_on_after(state); };
  std::vector<AttemptKey> again;
  const AttemptState* last = nullptr;
  for (const AttemptState& state : states) {
    // An import that was read again is its next attempt: it did not fail more often for that.
    if (state.is_void || state.key.run.is_warmup() || state.key.run.is_imported()) continue;
    if (state.standing != Standing::normal) continue;
    const bool same_run = last != nullptr && last->key.config_id == state.key.config_id && last->key.run == state.key.run;
    if (same_run && is_outcome(last->state) && last->state != State::succeeded && !is_segment(last->state))
      again.push_back(last->key);
    last = &state;
  }
  return again;
}

namespace {

/// Calls `visit(first, last, history)` for the attempts of each run but warm-ups; `states` are sorted.
template <class States, class Visit>
void for_each_run(States& states, const Visit& visit) {
  for (auto first = states.begin(); first != states.end();) {
    RunHistory history;
    auto last = first;
    for (; last != states.end() && last->key.run == first->key.run && last->key.config_id == first->key.config_id; ++last)
      history.add(*last);
    if (!first->key.run.is_warmup()) visit(first, last, history);
    first = last;
  }
}

}  // namespace

std::vector<AttemptState> counting_states(std::vector<AttemptState> states) {
  auto end = states.begin();  // of those that are returned
  for_each_run(states, [&](auto first, auto last, const RunHistory& history) {
    const int attempt = history.counting() > 0 ? history.counting() : history.aside();
    const auto found = std::find_if(first, last, [&](const AttemptState& each) { return each.key.attempt == attempt; });
    if (found == last) return;
    if (history.is_measured_again()) found->state = State::planned;
    if (history.counting() > 0) found->standing = Standing::normal;
    if (end != found) *end = std::move(*found);
    ++end;
  });
  states.erase(end, states.end());
  return states;
}

PlanDiff compare_with_index(const Study& study, const std::vector<AttemptState>& states) {
  std::vector<ExistingRun> runs;
  runs.reserve(states.size());
  std::string_view config_id;
  bool left_out = false;  // by --only: neither kept nor orphaned
  for_each_run(states, [&](auto first, auto /*last*/, const RunHistory& history) {
    if (first->key.config_id != config_id) {  // states are sorted
      config_id = first->key.config_id;
      left_out = study.plan.find(config_id) && !study.selected().find(config_id);
    }
    if (!first->key.run.is_repeat() || left_out) return;
    if (history.counting() > 0 || history.is_excluded()) runs.push_back({config_id, first->key.run});
  });
  return compare_plan(study.selected(), runs);
}

namespace {

/// A value in a tab-separated file: what would break a line is written as JSON writes it.
std::string tsv_field(const Value& value) {
  return value.text().find_first_of("\t\n\r") == std::string::npos ? value.text() : value.canonical();
}

}  // namespace

void write_index_file(const std::vector<AttemptState>& runs, const Study& study) {
  std::map<std::string, std::map<State, int>> outcomes;
  std::map<std::string, int> set_aside;
  for (const AttemptState& run : runs) {
    if (run.standing == Standing::set_aside) {
      ++set_aside[run.key.config_id];
    } else {
      ++outcomes[run.key.config_id][run.state];
    }
  }
  std::string text = "config_id\t";
  for (const std::string& axis : study.plan.axes) text += study.experiment.shows_axis(axis) ? axis + '\t' : "";
  text += "outcomes\n";
  for (const Configuration& configuration : study.plan.configurations) {
    text += configuration.id;
    for (const auto& [name, value] : study.experiment.shown_axes(study.plan.bindings(configuration)))
      text += '\t' + tsv_field(value);
    std::string counts;
    for (const auto& [state, count] : outcomes[configuration.id]) {
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, to_string(state));
    }
    if (const int count = set_aside[configuration.id]; count > 0)
      counts += fmt::format("{}{} set aside", counts.empty() ? "" : ", ", count);
    text += '\t' + (counts.empty() ? std::string("-") : counts) + '\n';
  }
  write_file(study.results + "/index.tsv", text, Durability::none);
}

}  // namespace hpcbench

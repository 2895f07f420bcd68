#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/completion/values.hpp"
#include "plan/plan.hpp"
#include "store/store.hpp"
#include "study/index.hpp"
#include "study/last_run.hpp"

namespace hpcbench {

namespace {

/// A shell waits for the answer: of larger studies only the runs of a configuration whose id is typed are offered.
constexpr std::size_t kMostRecords = 20'000;

/// The runs of one study, as the index has them.
struct IndexedRuns {
  std::vector<AttemptState> states;
  std::vector<AttemptRecord> records;  // those that count, with their axes; empty where there are too many
};

IndexedRuns read_indexed_runs(const std::string& results, const std::string& experiment) {
  const std::optional<Store> store = Store::open_readonly(results + "/hpcbench.db");
  if (!store) return {};
  IndexedRuns runs{store->states(experiment), {}};
  if (runs.states.size() <= kMostRecords) runs.records = store->counting_attempts(experiment, /*with_series=*/false);
  return runs;
}

/// The ids of the configurations that this text names.
std::set<std::string> named_configurations(const IndexedRuns& runs, const std::string& text) {
  std::set<std::string> ids;
  if (text.find('=') == std::string::npos) {
    for (const AttemptState& state : runs.states) {
      if (state.key.config_id.starts_with(text)) ids.insert(state.key.config_id);
    }
    return ids;
  }
  const Condition condition = parse_only(text);
  for (const AttemptRecord& record : runs.records) {
    if (matches(condition, record.axes)) ids.insert(record.key.config_id);
  }
  return ids;
}

std::vector<Offer> offer_configurations(const IndexedRuns& runs, const std::string& kept, const std::string& typed) {
  std::map<std::string, std::vector<std::string>> axes;
  std::map<std::string, std::string> ids;
  for (const AttemptRecord& record : runs.records) {
    ids[record.key.config_id] = describe(record.axes);
    for (const auto& [name, value] : record.axes) {
      std::vector<std::string>& values = axes[name];
      if (std::find(values.begin(), values.end(), point_value(value)) == values.end()) values.push_back(point_value(value));
    }
  }
  std::vector<Offer> offers = offer_points(axes, typed);
  for (const auto& [id, point] : ids) offers.push_back({id + "/", point});
  for (Offer& offer : offers) offer.word.insert(0, kept);
  return offers;
}

/// rNN of the configurations, and aN of a run.
std::vector<Offer> offer_names(const IndexedRuns& runs, const std::set<std::string>& ids, const std::string& kept,
                               const std::optional<RunName>& run) {
  std::map<std::string, std::string> found;
  for (const AttemptState& state : run ? runs.states : counting_states(runs.states)) {
    if (ids.count(state.key.config_id) == 0 || (run && state.key.run != *run)) continue;
    const std::string name = run ? "a" + std::to_string(state.key.attempt) : to_string(state.key.run);
    found[name] = std::string(shown_name(state.state));
  }
  std::vector<Offer> offers;
  for (const auto& [name, about] : found) offers.push_back({kept + name, about});
  return offers;
}

std::vector<Offer> offer_runs_of(const IndexedRuns& runs, const std::string& kept, const std::string& typed) {
  std::vector<std::string> parts = split(typed, '/');
  if (parts.size() < 2) return offer_configurations(runs, kept, typed);
  parts.pop_back();
  const std::string before = kept + join(parts, "/") + "/";
  const std::optional<RunName> run = parts.size() > 1 ? parse_run_name(parts.back()) : std::nullopt;
  if (run) parts.pop_back();
  return offer_names(runs, named_configurations(runs, join(parts, "/")), before, run);
}

}  // namespace

std::vector<Offer> offer_runs(const GivenWords& given, const std::string& typed) {
  const std::string results = last_given(given, "--results", "results");
  const std::vector<std::string> studies = experiments_on_disk(results);
  const std::string first = typed.substr(0, typed.find('/'));
  const bool has_study =
      typed.find('/') != std::string::npos && std::find(studies.begin(), studies.end(), first) != studies.end();
  std::vector<Offer> offers;
  try {
    if (has_study) {
      return offer_runs_of(read_indexed_runs(results, first), first + "/", typed.substr(first.size() + 1));
    }
    const std::optional<LastRun> last = read_last_run(results);
    if (last || studies.size() == 1) {
      offers = offer_runs_of(read_indexed_runs(results, last ? last->experiment : studies.front()), "", typed);
    }
  } catch (const InputError&) {  // `axis=` without a value
  } catch (const UnavailableError&) {
  }
  if (typed.find('/') != std::string::npos) return offers;
  for (const std::string& study : studies) offers.push_back({study + "/", "a study"});
  return offers;
}

}  // namespace hpcbench

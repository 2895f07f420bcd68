#include "study/leftovers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "study/index.hpp"
#include "study/status_view.hpp"
#include "submit/preparations.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

constexpr int kRemovedDigits = 8;

double size_of_folder(const fs::path& folder) {
  double bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unreadable;
    const bool is_file = entry->is_regular_file(unreadable) && !entry->is_symlink(unreadable);
    const auto size = is_file ? entry->file_size(unreadable) : 0;
    if (!unreadable) bytes += static_cast<double>(size);
  }
  return bytes;
}

/// Ids of all that the file asks for: as it was read, plain, under each of its profiles and those that it was run with
/// together. Of preparations the folders.
std::set<std::string> ids_asked_for(const Study& study) {
  std::set<std::string> ids;
  const auto add = [&](const Plan& plan) {
    for (const Configuration& configuration : plan.configurations) ids.insert(configuration.id);
    for (const PreparedInstance& instance : plan.prepared) ids.insert(instance.folder());
  };
  add(study.plan);
  std::vector<std::optional<std::string>> profiles = {std::nullopt};
  profiles.insert(profiles.end(), study.experiment.profiles.begin(), study.experiment.profiles.end());
  for (const std::string& together : read_profiles_together(study.results_root, study.experiment.name)) {
    const std::vector<std::string> names = split(together, ',');
    const std::vector<std::string>& there = study.experiment.profiles;
    const bool known = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return std::find(there.begin(), there.end(), name) != there.end();
    });
    if (known) profiles.emplace_back(together);
  }
  for (const std::optional<std::string>& profile : profiles) {
    ReadOptions options;
    options.profile = profile;
    options.looks_back = true;  // the caller has read the file: a retired key is not refused here
    if (!study.source.site.empty()) options.site = study.source.site;
    for (const bool with_settings : {false, true}) {
      if (with_settings && study.source.settings.empty()) continue;
      if (with_settings) options.settings = study.source.settings;
      add(make_plan(read_experiment(study.experiment.path, options)));
    }
  }
  return ids;
}

struct OrphanCounts {
  StateCounts counts;
  bool goes_on = false;
};

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Instances that nothing needs, but for those that are being made; and of the others attempts that failed or were lost before
/// the last one. One that succeeded stays: runs may have used it.
std::vector<Leftover> find_unused_preparations(const Study& study, const std::set<std::string>& asked) {
  std::vector<Leftover> found;
  for (const std::string& name : folders_in(study.results + "/prepare")) {
    const std::string path = "prepare/" + name;
    const std::string folder = study.results + "/" + path;
    std::vector<std::string> attempts = folders_in(folder);
    const auto is_open = [&](const std::string& attempt) { return !is_outcome(preparation_state(folder + "/" + attempt)); };
    if (asked.count(name) == 0) {
      if (std::none_of(attempts.begin(), attempts.end(), is_open))
        found.push_back({Leftover::Kind::preparation, path, "no run needs it", 0});
      continue;
    }
    // The last one stays: its number must not come again.
    std::sort(attempts.begin(), attempts.end(),
              [](const std::string& a, const std::string& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; });
    for (const std::string& attempt : attempts) {
      const State state = preparation_state(folder + "/" + attempt);
      if (attempt == attempts.back() || !is_outcome(state) || state == State::succeeded) continue;
      found.push_back({Leftover::Kind::preparation, path + "/" + attempt, "did not succeed", 0});
    }
  }
  return found;
}

std::vector<Leftover> find_orphans(const std::set<std::string>& asked, const std::vector<AttemptState>& states) {
  std::map<std::string, OrphanCounts> orphans;
  for (const AttemptState& attempt : states) {
    if (asked.count(attempt.key.config_id) == 0 && !is_outcome(attempt.state)) orphans[attempt.key.config_id].goes_on = true;
  }
  for (const AttemptState& run : counting_states(states)) {
    if (asked.count(run.key.config_id) == 0) ++orphans[run.key.config_id].counts[run.state];
  }
  std::vector<Leftover> found;
  for (const auto& [id, orphan] : orphans) {
    if (!orphan.goes_on) found.push_back({Leftover::Kind::orphan, id, "runs: " + orphan.counts.text(), 0});
  }
  return found;
}

std::vector<Leftover> find_void_attempts(const std::vector<AttemptState>& states) {
  std::vector<Leftover> found;
  for (std::size_t i = 0; i + 1 < states.size(); ++i) {
    // Attempts of a run come in rising order.
    const AttemptKey& next = states[i + 1].key;
    const bool is_last = next.config_id != states[i].key.config_id || next.run != states[i].key.run;
    if (states[i].is_void && is_outcome(states[i].state) && !is_last)
      found.push_back({Leftover::Kind::void_attempt, to_string(states[i].key), "never ran and does not count", 0});
  }
  return found;
}

}  // namespace

std::vector<Leftover> find_leftovers(const Study& study, const Store& store) {
  const std::vector<AttemptState> states = store.states(study.experiment.name);
  const std::set<std::string> asked = ids_asked_for(study);
  std::vector<Leftover> found = find_orphans(asked, states);
  for (Leftover& unused : find_unused_preparations(study, asked)) found.push_back(std::move(unused));
  for (Leftover& attempt : find_void_attempts(states)) {
    const bool within = std::any_of(found.begin(), found.end(), [&](const Leftover& orphan) {
      return orphan.kind == Leftover::Kind::orphan && attempt.path.starts_with(orphan.path + "/");
    });
    if (!within) found.push_back(std::move(attempt));
  }
  for (Leftover& leftover : found) leftover.bytes = size_of_folder(study.results + "/" + leftover.path);
  std::sort(found.begin(), found.end(), [](const Leftover& a, const Leftover& b) { return a.path < b.path; });
  return found;
}

void remove_leftovers(const Study& study, const std::vector<Leftover>& leftovers) {
  std::error_code ignored;
  for (const std::string& name : folders_in(study.results)) {
    if (name.starts_with(kRemovedPrefix)) fs::remove_all(fs::path(study.results) / name, ignored);
  }
  for (const Leftover& leftover : leftovers) {
    const fs::path from = study.results + "/" + leftover.path;
    const fs::path away = study.results + "/" + kRemovedPrefix + random_hex(kRemovedDigits);
    std::error_code error;
    fs::rename(from, away, error);
    if (!error) fs::remove_all(away, error);
    if (error) throw UnavailableError(fmt::format("error: cannot remove {}: {}", from.string(), error.message()));
  }
}

}  // namespace hpcbench

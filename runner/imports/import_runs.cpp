#include "imports/import_runs.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <set>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "imports/asked_by_hand.hpp"
#include "imports/import_folder.hpp"
#include "imports/problems.hpp"
#include "runfiles/claim.hpp"
#include "study/index.hpp"
#include "submit/experiment_lock.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

constexpr double kLockPatience = 30;  // seconds
constexpr double kLockLook = 0.1;     // seconds between looks
constexpr const char* kWithdrawn = "no longer among the imports of the experiment file";

/// An imported run on disk: its attempt that counts.
struct ExistingImport {
  AttemptKey key;
  Imported imported;
  bool revoked = false;
  bool matched = false;
};

/// What is to be done for a request.
struct Task {
  const ImportRequest* request = nullptr;
  std::vector<ImportedSource> sources;
  std::string identity, wanted;
  AttemptKey key;
  bool by_file = false;
};

class Importer {
 public:
  Importer(const Study& study, const ImportPlan& plan, ImportOrigin origin, bool withdraw)
      : study_(study),
        plan_(plan),
        origin_(origin),
        withdraw_(withdraw),
        changed_for_now_(origin == ImportOrigin::experiment_file &&
                         (!study.source.profile.empty() || !study.source.settings.empty())) {}

  ImportResult run() {
    // Mostly there is nothing to do: seen without a lock, and without a write.
    decide();
    if (!tasks_.empty() || !stale_.empty()) {
      make_folders(study_.results_root, kUserFolder);
      make_folders(study_.results + "/imports");
      const ExperimentLock lock = own();
      decide();
      write();
    }
    if (origin_ == ImportOrigin::experiment_file) find_gone();
    return std::move(result_);
  }

 private:
  ExperimentLock own() const {
    std::string owner;
    for (const double end = monotonic_s() + kLockPatience;;) {
      if (auto lock = ExperimentLock::try_acquire(study_.results + "/imports", &owner)) return *std::move(lock);
      if (monotonic_s() > end) {
        throw UnavailableError(
            fmt::format("error: {} takes in imports of {} for over 30 s: wait for it", owner, study_.experiment.name));
      }
      system_clock().sleep(kLockLook);
    }
  }

  /// Of each imported run the highest attempt.
  void look() {
    existing_.clear();
    earlier_.clear();
    std::set<std::string> configurations;
    for (const ImportRequest& request : plan_.requests)
      configurations.insert(study_.plan.configurations[request.configuration].id);
    for (const AttemptKey& key : imported_attempts(study_.results)) configurations.insert(key.config_id);
    for (const std::string& id : configurations) {
      for (const AttemptKey& key : imported_attempts_of(study_.results, id)) {
        const std::string folder = study_.results + '/' + to_string(key);
        std::optional<Imported> imported = parse_imported(read_file_if_there(folder + '/' + kImportedFile).value_or(""));
        const std::optional<Claim> claim = read_claim(folder);
        if (!imported) continue;
        std::vector<ExistingImport>& known = existing_[id];
        if (!known.empty() && known.back().key.run == key.run) known.pop_back();
        known.push_back({key, *std::move(imported), claim && claim->revoked});
      }
      for (const ExistingImport& import : existing_[id]) {
        if (import.revoked || !import.imported.by_file) continue;
        for (const ImportedSource& source : import.imported.sources) earlier_.insert(source.path);
      }
    }
  }

  void decide() {
    result_ = {};
    broken_ = plan_.broken;
    tasks_.clear();
    stale_.clear();
    look();
    std::vector<Task> fresh;
    std::map<std::string, const ImportRequest*> seen;
    std::map<std::string, int> without_sources;
    for (const ImportRequest& request : plan_.requests) {
      const std::string& id = study_.plan.configurations[request.configuration].id;
      Task task{&request, {}, {}, request_hash(study_, request), {}, origin_ == ImportOrigin::experiment_file};
      if (!find_sources(request, existing_[id], task.sources)) continue;
      const int ordinal = task.sources.empty() ? ++without_sources[id] : 0;
      task.identity = import_identity(study_, request, task.sources, ordinal);
      const ImportRequest* same = nullptr;
      for (const std::string& contents : std::set<std::string>{task.identity, contents_of(task)}) {
        const auto [first, is_new] = seen.emplace(id + contents, &request);
        if (!is_new && same == nullptr) same = first->second;
      }
      if (same != nullptr && request_hash(study_, *same) != task.wanted) {
        result_.problems.push_back(fmt::format(
            "{}: error: {} is imported twice with different values, metrics or facts, and one source is one run of a "
            "configuration\n  = name all its values in one entry of `import`",
            request.where, name_of(request)));
        continue;
      }
      if (same != nullptr) {
        note_same(*same, request);
        ++result_.known;
        continue;
      }
      ExistingImport* known = match(existing_[id], task);
      if (known == nullptr) {
        fresh.push_back(std::move(task));
      } else if (!known->revoked && (known->imported.request == task.wanted || changed_for_now_)) {
        ++result_.known;
        if (origin_ == ImportOrigin::command) result_.known_runs.push_back(fmt::format("{}/{}", id, to_string(known->key.run)));
      } else {
        next_attempt(*known, std::move(task));
      }
    }
    place_fresh(std::move(fresh));
    if (origin_ == ImportOrigin::experiment_file && !changed_for_now_) read_again_by_hand();
    find_stale();
  }

  /// The files of a run and what is given beside them: two requests with the same are one run. A line of a table without files
  /// is a run by itself, and so is one that its files' paths name.
  static std::string contents_of(const Task& task) {
    if (task.request->files.empty() || !task.request->name.empty()) return task.identity;
    std::vector<std::string> hashes;
    for (const ImportedSource& source : task.sources) {
      if (!source.line) hashes.push_back(source.sha256);
    }
    std::sort(hashes.begin(), hashes.end());
    return join(hashes, " ") + ' ' + task.wanted;
  }

  static std::string name_of(const ImportRequest& request) {
    return request.files.empty() ? request.where : fmt::format("{} ({})", join(request.files, ", "), request.where);
  }

  void note_same(const ImportRequest& first, const ImportRequest& second) {
    result_.notes.push_back(
        name_of(first) == name_of(second)
            ? fmt::format("{} is imported twice: it is one run", name_of(first))
            : fmt::format("{} and {} have the same contents: they are one run", name_of(first), name_of(second)));
  }

  /// What `hpcbench ingest` took in follows the file's metrics, too: it is read from the copies that it keeps.
  void read_again_by_hand() {
    by_hand_.clear();
    for (const auto& [id, imports] : existing_) {
      for (const ExistingImport& known : imports) {
        if (known.revoked || known.matched) continue;
        std::optional<ImportRequest> request = request_again(study_, known.key, known.imported);
        if (!request) continue;
        std::string wanted = request_hash(study_, *request);
        if (wanted == known.imported.request) continue;
        by_hand_.push_back(*std::move(request));
        next_attempt(known, {&by_hand_.back(), known.imported.sources, known.imported.identity, std::move(wanted), {}, false});
      }
    }
  }

  /// Of values alone, without a source, those of the file and those given by hand are two unless they are the same.
  static ExistingImport* match(std::vector<ExistingImport>& known, const Task& task) {
    for (ExistingImport& import : known) {
      if (import.imported.identity != task.identity || import.matched) continue;
      const bool is_same = import.imported.by_file == task.by_file || import.imported.request == task.wanted;
      if (task.sources.empty() && !is_same) continue;
      import.matched = true;
      return &import;
    }
    return nullptr;
  }

  void next_attempt(const ExistingImport& known, Task task) {
    task.key = known.key;
    ++task.key.attempt;
    ++result_.again;
    tasks_.push_back(std::move(task));
  }

  /// A changed source is a new content of the run that it was: where the file withdraws one, a new one takes its place. A line
  /// of a table that moved within it takes the place of the run with the same values.
  void place_fresh(std::vector<Task> fresh) {
    leave_out_beside_earlier(fresh);
    std::erase_if(fresh, [&](Task& task) { return task.request->files.empty() && take_place(task, true); });
    std::map<std::string, int> highest;
    for (Task& task : fresh) {
      if (take_place(task, false)) continue;
      const std::string& id = study_.plan.configurations[task.request->configuration].id;
      int& number = highest[id];
      for (const ExistingImport& import : existing_[id]) number = std::max(number, import.key.run.number);
      task.key = {id, {RunKind::imported, ++number}, 1};
      ++result_.taken;
      tasks_.push_back(std::move(task));
    }
  }

  /// Makes `task` the next attempt of a run that the file withdraws; `same_values`: of one with its values. False: there is
  /// none.
  bool take_place(Task& task, bool same_values) {
    std::vector<ExistingImport>& known = existing_[study_.plan.configurations[task.request->configuration].id];
    const auto left = std::find_if(known.begin(), known.end(), [&](const ExistingImport& import) {
      return may_withdraw(import) && (!same_values || import.imported.request == task.wanted);
    });
    if (left == known.end()) return false;
    left->matched = true;
    next_attempt(*left, std::move(task));
    return true;
  }

  bool may_withdraw(const ExistingImport& import) const {
    if (!withdraw_ || import.matched || import.revoked || !import.imported.by_file) return false;
    if (plan_.whole && plan_.problems.empty() && result_.problems.empty()) return true;
    const std::vector<ImportedSource>& sources = import.imported.sources;
    return !sources.empty() && study_.plan.find(import.key.config_id) &&
           std::all_of(sources.begin(), sources.end(), [&](const ImportedSource& source) {
             return plan_.read.contains(source.path) && !broken_.contains(source.path);
           });
  }

  /// A file that is broken now, and gave runs earlier, gives no others beside them: those count until it is read whole.
  void leave_out_beside_earlier(std::vector<Task>& fresh) {
    std::set<std::string> left_out;
    std::erase_if(fresh, [&](const Task& task) {
      const auto found = std::find_if(task.sources.begin(), task.sources.end(), [&](const ImportedSource& source) {
        return broken_.contains(source.path) && earlier_.contains(source.path);
      });
      if (found != task.sources.end()) left_out.insert(found->path);
      return found != task.sources.end();
    });
    for (const std::string& path : left_out) {
      result_.notes.push_back(fmt::format(
          "{}: what was read of it earlier still counts, and nothing of what it says now, until all of it can be read", path));
    }
  }

  void find_stale() {
    for (const auto& [id, imports] : existing_) {
      for (const ExistingImport& import : imports) {
        if (may_withdraw(import)) stale_.push_back(import);
      }
    }
  }

  void find_gone() {
    for (const auto& [id, imports] : existing_) {
      if (!study_.plan.find(id)) continue;
      for (const ExistingImport& known : imports) {
        const bool counts =
            known.imported.by_file && !known.matched && !known.revoked &&
            std::none_of(stale_.begin(), stale_.end(), [&](const ExistingImport& stale) { return stale.key == known.key; });
        const std::vector<ImportedSource>& sources = known.imported.sources;
        const auto lost = std::find_if(sources.begin(), sources.end(), [](const ImportedSource& source) {
          std::error_code error;
          return !fs::exists(source.path, error) && !error;
        });
        if (counts && lost != sources.end()) ++result_.gone[lost->path];
      }
    }
  }

  /// Hashes of what a run is made of; false, with a problem told, if some of it cannot be read.
  bool find_sources(const ImportRequest& request, const std::vector<ExistingImport>& known,
                    std::vector<ImportedSource>& sources) {
    std::vector<std::string> paths = request.files;
    if (request.line) paths.push_back(request.line->table);
    for (const std::string& path : paths) {
      const auto cached = hashes_.find(path);
      const std::optional<ImportedSource> source =
          cached != hashes_.end() ? std::optional(cached->second) : identify(path, known);
      if (!source) {
        result_.problems.push_back(fmt::format("{}: error: {} cannot be read", request.where, path));
        broken_.insert(path);
        return false;
      }
      hashes_[path] = *source;
      sources.push_back(*source);
      if (request.line && &path == &paths.back()) sources.back().line = request.line->line;
    }
    return true;
  }

  static std::optional<ImportedSource> identify(const std::string& path, const std::vector<ExistingImport>& known) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    ImportedSource source;
    source.path = path;
    source.size_bytes = status.st_size;
    source.changed_ns = static_cast<long long>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
    for (const ExistingImport& import : known) {
      for (const ImportedSource& other : import.imported.sources) {
        const bool same = other.path == path && other.size_bytes == source.size_bytes && other.changed_ns == source.changed_ns;
        if (same) source.sha256 = other.sha256;
      }
    }
    if (source.sha256.empty()) {
      const std::optional<std::string> hash = sha256_of_file(path);
      if (!hash) return std::nullopt;
      source.sha256 = *hash;
    }
    return source;
  }

  /// What a call that was killed had begun: nobody else is at it while we have the lock.
  void remove_left_over(const std::string& config_id) const {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(study_.results + '/' + config_id, error)) {
      std::error_code ignored;
      if (entry.path().filename().string().starts_with(kUnfinishedPrefix)) fs::remove_all(entry.path(), ignored);
    }
  }

  /// A run that was set aside stays so when the same sources, or a line with the same values, are read again.
  void keep_set_aside(const Task& task) {
    const std::string folder = study_.results + '/' + to_string(task.key);
    AttemptKey before = task.key;
    if (--before.attempt == 0 || !fs::exists(folder)) return;
    const std::string folder_before = study_.results + '/' + to_string(before);
    const std::optional<SetAside> aside = read_set_aside(folder_before);
    const std::optional<Imported> imported =
        parse_imported(read_file_if_there(folder_before + '/' + kImportedFile).value_or(""));
    if (!aside || !imported) return;
    const bool same_line = task.request->files.empty() && imported->request == task.wanted;
    if (imported->identity == task.identity || same_line) {
      write_set_aside(folder, *aside);
    } else {
      result_.notes.push_back(
          fmt::format("{} was set aside ({}) and has other values now: it counts again", to_string(task.key), aside->why));
    }
  }

  void write() {
    std::vector<ImportFolder> folders;
    std::vector<AttemptKey> keys;
    for (const Task& task : tasks_) remove_left_over(task.key.config_id);
    for (const Task& task : tasks_) {
      ImportFolder folder(study_, *task.request, task.key, task.sources, task.identity, task.wanted, task.by_file);
      if (const std::vector<std::string> problems = folder.prepare(); !problems.empty()) {
        for (const std::string& problem : problems)
          result_.problems.push_back(fmt::format("{}: error: {}", task.request->where, problem));
        for (const ImportedSource& source : task.sources) broken_.insert(source.path);
        (task.key.attempt == 1 ? result_.taken : result_.again) -= 1;
        continue;
      }
      folders.push_back(std::move(folder));
      keys.push_back(task.key);
    }
    sync_file_system(study_.results);
    for (ImportFolder& folder : folders) folder.finish();
    sync_file_system(study_.results);
    for (ImportFolder& folder : folders) folder.publish();
    for (const Task& task : tasks_) keep_set_aside(task);
    note_imported_attempts(study_.results, keys);
    for (const AttemptKey& key : keys) result_.paths.push_back(to_string(key));
    revoke_stale(keys);
    sync_file_system(study_.results);
    Store store = open_index(study_.results_root);
    index_attempts(store, study_.results, keys);
  }

  /// With all their attempts: of those that stand, the highest would count.
  void revoke_stale(std::vector<AttemptKey>& touched) {
    Claim claim;
    claim.revoked = true;
    claim.why = std::string(kVoidPrefix) + kWithdrawn;
    for (const ExistingImport& stale : stale_) {
      if (!may_withdraw(stale)) continue;  // a file that seemed whole was not
      for (AttemptKey key = stale.key; key.attempt > 0; --key.attempt) {
        const std::string folder = study_.results + '/' + to_string(key);
        if (!fs::exists(folder) || !try_claim(folder, claim)) continue;
        touched.push_back(key);
      }
      ++result_.revoked;
    }
  }

  const Study& study_;
  const ImportPlan& plan_;
  ImportOrigin origin_;
  bool withdraw_;
  bool changed_for_now_;  // a profile or --set: what is there is not read again for its sake
  std::map<std::string, std::vector<ExistingImport>> existing_;  // by config_id
  std::map<std::string, ImportedSource> hashes_;                 // by path
  std::vector<Task> tasks_;
  std::deque<ImportRequest> by_hand_;  // of tasks: their addresses stay
  std::vector<ExistingImport> stale_;
  std::set<std::string> earlier_;  // paths of files that gave runs which count
  std::set<std::string> broken_;   // of files of which something is wrong
  ImportResult result_;
};

}  // namespace

ImportResult import_runs(const Study& study, const ImportPlan& plan, ImportOrigin origin, bool withdraw) {
  return Importer(study, plan, origin, withdraw).run();
}

namespace {

/// Values of files that were deleted or moved would be shown as if they could be checked. A copy of the results without its
/// experiment file, and an archive, have no such files.
void refuse_gone_files(Study& study, const ImportPlan& plan, const ImportResult& result) {
  const bool is_copy = study.is_unpacked || study.experiment.path.starts_with(study.results_root + "/");
  if (is_copy || plan.missing.empty() || result.gone.empty()) return;
  for (const auto& [path, runs] : result.gone) {
    const std::string file = fs::path(path).filename().string();
    const auto named = std::find_if(plan.missing.begin(), plan.missing.end(), [&](const auto& missing) {
      return ::fnmatch(fs::path(missing.second).filename().c_str(), file.c_str(), 0) == 0;
    });
    study.broken_imports.push_back(printable(fmt::format("{}: error: {} is gone, and {} imported from it still {}",
                                                         (named == plan.missing.end() ? plan.missing.front() : *named).first,
                                                         path, counted(runs, "run", "runs"), runs == 1 ? "counts" : "count")) +
                                   "\n  = put the file back, or remove it from `import`, which withdraws its runs");
    say(study.broken_imports.back());
  }
  study.missing_imports.clear();
}

}  // namespace

void take_in_imports(Study& study) {
  const bool had_some = fs::exists(study.results + "/imports");
  if (study.experiment.imports.empty() && !had_some) return;
  if (const std::string owner = other_owner(study.results); !owner.empty()) {
    say(fmt::format("note: imports of {} are shown as {} last read them: its results belong to that user",
                    study.experiment.name, owner));
    return;
  }
  const ImportPlan plan = plan_imports(study);
  for (const std::string& note : plan.notes) {
    if (!study.is_unpacked) say("note: " + note);  // an archive has copies, not what they were copied from
  }
  for (const auto& [place, glob] : plan.missing) study.missing_imports.push_back(fmt::format("{}: no file is {}", place, glob));
  study.broken_imports = one_for_each_file(plan.problems);
  for (const std::string& problem : study.broken_imports) say(problem);
  const bool as_in_file = study.source.profile.empty() && study.source.settings.empty();
  try {
    const ImportResult result = import_runs(study, plan, ImportOrigin::experiment_file, as_in_file);
    for (const std::string& note : result.notes) say("note: " + printable(note));
    for (const std::string& problem : one_for_each_file(result.problems)) {
      say(problem);
      study.broken_imports.push_back(problem);
    }
    refuse_gone_files(study, plan, result);
    if (result.taken + result.again + result.revoked == 0) return;
    say(fmt::format("imports: {} taken in, {} read again, {} revoked, {} there already", result.taken, result.again,
                    result.revoked, result.known));
  } catch (const UnavailableError& error) {
    say(fmt::format("note: imports are not taken in: {}", error.what()));
  }
}

void check_imports(const Study& study) {
  const ImportPlan plan = plan_imports(study);
  for (const std::string& note : plan.notes) say("note: " + note);
  if (!plan.problems.empty()) throw InputError(join(one_for_each_file(plan.problems), "\n"));
}

}  // namespace hpcbench

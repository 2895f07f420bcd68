#include "archive/archive_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iterator>
#include <set>
#include <system_error>

#include "archive/tar.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "ingest/attempt_record.hpp"
#include "ingest/imported.hpp"
#include "ingest/metric_scan.hpp"
#include "runfiles/run_info.hpp"
#include "spec/site.hpp"
#include "study/leftovers.hpp"

namespace hpcbench {

namespace {

bool is_model(const std::filesystem::path& relative) {
  constexpr std::array kModelFolders = {"checkpoint", "checkpoints"};
  constexpr std::array kModelEndings = {".safetensors", ".ckpt", ".pt", ".pth"};
  const auto same = [](const std::string& text) { return [&text](const char* known) { return text == known; }; };
  for (const std::filesystem::path& part : relative.parent_path()) {
    if (std::any_of(kModelFolders.begin(), kModelFolders.end(), same(part.string()))) return true;
  }
  return std::any_of(kModelEndings.begin(), kModelEndings.end(), same(relative.extension().string()));
}

/// Returns whether a preparation built the file, prepare/NAME-HASH/aN/...; mostly programs for this machine.
bool is_made(const std::filesystem::path& relative) {
  constexpr std::array kRecords = {"run.json",     "job.sh",     "claim",      "started.json", "finished.json",
                                   "settled.json", "stdout.log", "stderr.log", "launch.log",   "alive"};
  constexpr auto kDepth = 4;
  if (relative.empty() || *relative.begin() != "prepare") return false;
  const std::string name = relative.filename().string();
  return std::distance(relative.begin(), relative.end()) != kDepth ||
         std::none_of(kRecords.begin(), kRecords.end(), [&](const char* record) { return name == record; });
}

/// Returns whether a file belongs to processes of this machine, not to the results.
bool is_of_this_machine(const std::filesystem::path& relative) {
  const std::string name = relative.filename().string();
  const bool top = !relative.has_parent_path();
  if (relative == "imports/lock" || relative == "imports/lock.owner") return true;
  constexpr auto kInAttempt = 4;  // CONFIG_ID/RUN/ATTEMPT/alive
  if (name == "alive" && std::distance(relative.begin(), relative.end()) == kInAttempt) return true;
  return name.ends_with(".tmp") || relative.begin()->string().starts_with(kRemovedPrefix) ||
         (top && (name == "lock" || name == "lock.owner" || name == "last_cancel" || name == "last_run.json"));
}

/// Visits everything in a folder and below. Skips files that a running job removes meanwhile.
void visit_entries(const std::filesystem::path& folder,
                   const std::function<void(const std::filesystem::directory_entry&)>& visit) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) return;
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    visit(*entry);
    std::error_code gone;
    if (!entry->is_symlink(gone) && entry->is_directory(gone)) visit_entries(entry->path(), visit);
  }
  if (error) throw UnavailableError(fmt::format("error: cannot read {}: {}", folder.string(), error.message()));
}

/// Gathers the files of an archive, each path once.
class ArchiveCollector {
 public:
  ArchiveCollector(const Study& study, bool models) : study_(study), models_(models) {}

  ArchivePlan collect() {
    add_study_files();
    if (!std::filesystem::exists(study_.results)) {
      throw InputError(fmt::format("error: {} has no results of {}", study_.results_root, study_.experiment.name));
    }
    add_results();
    for (const AttemptKey& key : find_attempts(study_.results)) {
      add_metric_files(key);
      add_import_sources(key);
    }
    if (models_left_out_ > 0) {
      plan_.notes.push_back(
          fmt::format("{} files of checkpoints and weights "
                      "are left out; --models takes them in",
                      models_left_out_));
    }
    if (made_left_out_ > 0) plan_.notes.push_back(fmt::format("{} files that preparations made are left out", made_left_out_));
    if (unsafe_left_out_ > 0) {
      plan_.notes.push_back(fmt::format("left out for names that no archive may have: {}, the first {}",
                                        counted(unsafe_left_out_, "file", "files"), first_unsafe_));
    }
    if (links_left_out_ > 0) plan_.notes.push_back(fmt::format("{} links are left out", links_left_out_));
    return std::move(plan_);
  }

 private:
  void add_text(const std::string& path, std::string content) {
    ArchiveFile file;
    file.path = path;
    file.size = content.size();
    file.content = std::move(content);
    if (known_.insert(path).second) plan_.files.push_back(std::move(file));
  }

  void add_disk(const std::string& path, const std::string& source) {
    struct stat status {};
    if (::stat(source.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || !known_.insert(path).second) return;
    if (const std::string why = why_unsafe(path); !why.empty()) {
      if (unsafe_left_out_++ == 0) first_unsafe_ = fmt::format("{}: {}", json_quote(path), why);
      return;
    }
    ArchiveFile file;
    file.path = path;
    file.source = source;
    file.size = static_cast<std::uint64_t>(status.st_size);
    file.executable = (status.st_mode & S_IXUSR) != 0;
    plan_.files.push_back(std::move(file));
  }

  /// Adds the file and the site as they were read. Without a site it adds an empty one,
  /// because the other machine may have one.
  void add_study_files() {
    plan_.study = study_.source;
    for (const FileCopy& copy : study_.experiment.copies) add_text("study/" + copy.name, copy.text);
    plan_.study.file = "study/" + study_.experiment.copies.front().name;
    const std::string site = study_.source.site.empty() ? default_site().value_or("") : find_site(study_.source.site);
    plan_.study.site = fmt::format("sites/{}.yaml", site.empty() ? "local" : std::filesystem::path(site).stem().string());
    add_text(plan_.study.site, site.empty() ? "name: local\n" : read_file(site));
  }

  void add_results() {
    namespace fs = std::filesystem;
    const std::string prefix = "results/" + study_.experiment.name + "/";
    visit_entries(study_.results, [&](const fs::directory_entry& entry) {
      const fs::path relative = entry.path().lexically_relative(study_.results);
      std::error_code gone;
      const bool is_file = entry.is_regular_file(gone);
      if (is_made(relative)) {
        made_left_out_ += is_file ? 1 : 0;
      } else if (entry.is_symlink(gone)) {
        links_left_out_ += 1;
      } else if (!is_file || is_of_this_machine(relative)) {
        return;
      } else if (!models_ && is_model(relative)) {
        models_left_out_ += 1;
      } else {
        add_disk(prefix + relative.string(), entry.path().string());
      }
    });
  }

  /// A metric's file in the working directory is searched beside the run first:
  /// the archive stores it there.
  void add_metric_files(const AttemptKey& key) {
    const std::string folder = study_.results + "/" + to_string(key);
    const RunInfo info = parse_run_json(read_file_if_there(folder + "/run.json").value_or(""));
    if (info.outside) return;  // copies of them are beside the run
    for (const Metric& metric : info.metrics) {
      if (metric.is_formula()) continue;
      if (!expand_glob(metric.file, folder, "").empty()) continue;
      for (const std::string& source : expand_glob(metric.file, folder, info.workdir)) {
        const std::filesystem::path relative = std::filesystem::path(source).lexically_relative(info.workdir);
        const std::string path = fmt::format("results/{}/{}/{}", study_.experiment.name, to_string(key), relative.string());
        if (relative.empty() || relative.string().starts_with("..")) {
          plan_.notes.push_back(
              fmt::format("{}: {} is read from outside of its working "
                          "directory and left out",
                          to_string(key), source));
        } else {
          add_disk(path, source);
        }
      }
    }
  }

  /// Adds tables and logs below the results folder that the file's `import` names,
  /// so that an import finds them in the archive.
  void add_import_sources(const AttemptKey& key) {
    const std::string file = study_.results + "/" + to_string(key) + "/" + kImportedFile;
    const std::optional<std::string> text = read_file_if_there(file);
    const std::optional<Imported> imported = text ? parse_imported(*text) : std::nullopt;
    if (!imported) return;
    for (const ImportedSource& source : imported->sources) {
      const std::filesystem::path relative = std::filesystem::path(source.path).lexically_relative(study_.results_root);
      const bool inside = !relative.empty() && *relative.begin() != "..";
      if (inside) add_disk("results/" + relative.string(), source.path);
      if (!inside && !source.file) {
        plan_.notes.push_back(
            fmt::format("{}: {} is too large to be kept with the run, and left out", to_string(key), source.path));
      }
    }
  }

  const Study& study_;
  bool models_;
  ArchivePlan plan_;
  std::set<std::string> known_;
  int models_left_out_ = 0;
  int links_left_out_ = 0;
  int made_left_out_ = 0;
  int unsafe_left_out_ = 0;
  std::string first_unsafe_;  // and why
};

}  // namespace

ArchivePlan plan_archive(const Study& study, bool models) { return ArchiveCollector(study, models).collect(); }

}  // namespace hpcbench

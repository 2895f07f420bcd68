#include "study/study.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "executors/slurm/slurm_users.hpp"
#include "render/attempt.hpp"
#include "render/batch_system_script.hpp"
#include "render/blocks.hpp"
#include "report/table.hpp"
#include "study/index.hpp"
#include "submit/experiment_lock.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

LastRun source_of(const StudyOptions& options) {
  return {"", fs::absolute(options.file).lexically_normal().string(), join(options.profiles, ","), options.site,
          options.settings};
}

bool has_study(const std::string& results_root, const std::string& experiment) {
  const std::vector<std::string> there = experiments_on_disk(results_root);
  return experiment.empty() ? !there.empty() : std::find(there.begin(), there.end(), experiment) != there.end();
}

LastRun last_source(const std::string& results_root) {
  const std::optional<LastRun> last = read_last_run(results_root);
  if (last) return *last;
  if (const std::vector<std::string> there = experiments_on_disk(results_root); !there.empty()) {
    throw InputError(
        fmt::format("error: {} holds only imported runs, of {}: give the experiment file", results_root, join(there, ", ")));
  }
  throw InputError(fmt::format("error: nothing has been run in {} yet; name an experiment file{}", results_root,
                               where_results_are(results_root, "", "")));
}

/// FILE may be the name of a study: a file of that name goes before it.
std::optional<LastRun> named_study(const StudyOptions& options, const std::string& results_root) {
  const bool is_there = fs::exists(options.file) && !fs::is_directory(options.file);
  if (options.file.ends_with(".tar.zst")) {
    throw InputError(
        fmt::format("error: {0} is an archive: `hpcbench report --archive {0}` reports it, `hpcbench export --extract "
                    "{0}` unpacks it for other commands",
                    shell_quote(options.file)));
  }
  const bool is_file = options.file.ends_with(".yaml") || options.file.ends_with(".yml") || is_there;
  if (is_file || !is_plain_name(options.file)) return std::nullopt;
  if (std::optional<LastRun> source = read_last_run_of(results_root, options.file)) {
    if (source->experiment == options.file) return source;
    throw InputError(fmt::format("error: {0}/{1} holds the results of the study {2}: rename the folder to {0}/{2}",
                                 results_root, options.file, source->experiment));
  }
  const std::vector<std::string> there = experiments_on_disk(results_root);
  if (std::find(there.begin(), there.end(), options.file) != there.end()) {
    throw InputError(
        fmt::format("error: `{0}` holds only imported runs: give its experiment file, for example `{0}.yaml`", options.file));
  }
  throw InputError(fmt::format("error: {} is neither a file nor a study in {}{}; there are: {}{}", options.file, results_root,
                               did_you_mean(options.file, there), there.empty() ? "none" : join(there, ", "),
                               where_results_are(results_root, options.file, "")));
}

/// A command that looks at results sees them as they were made.
void remember_site(LastRun& source, const std::string& results_root) {
  const std::optional<LastRun> last = find_last_run_of_file(results_root, source.file);
  if (!last || last->site.empty()) return;
  source.site = last->site;
  source.ours = last->ours;
  say(fmt::format("--site {}: as in the last run of {}", last->site, source.file));
}

/// The file as it was run, should the original be gone.
std::string readable_file(const LastRun& source, const std::string& results_root) {
  const std::string copy = results_root + "/" + source.experiment + "/experiment.yaml";
  if (!fs::exists(source.file) && !source.experiment.empty() && fs::exists(copy)) return copy;
  return source.file;
}

ReadOptions read_options(const LastRun& source, bool looks_back = true) {
  ReadOptions read;
  read.looks_back = looks_back;
  if (!source.profile.empty()) read.profile = source.profile;
  if (!source.site.empty()) read.site = source.site;
  read.settings = source.settings;
  return read;
}

/// The folder of all results: for a file that lies elsewhere, the one beside it, where only that has results of its study.
std::string find_results(const StudyOptions& options) {
  std::string root = fs::absolute(options.results).lexically_normal().string();
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  const bool is_default = options.results == StudyOptions{}.results;
  if (!options.looks_back || !is_default || !fs::is_regular_file(options.file)) return root;
  const std::string beside = results_beside(options.file);
  if (beside == root || !has_study(beside, "")) return root;
  const std::string name = read_experiment(options.file, read_options(source_of(options))).name;
  if (has_study(root, name) || !has_study(beside, name)) return root;
  say(fmt::format("--results {}: {} has no results of {}", beside, root, name));
  return beside;
}

/// A file that was run as one study and is another by now: what looks at results sees the first, as it was run.
void read_as_it_was_run(Study& study, const StudyOptions& options, const std::string& path, const std::string& name) {
  const bool is_renamed_now = std::any_of(options.settings.begin(), options.settings.end(),
                                          [](const std::string& setting) { return setting.starts_with("experiment="); });
  if (study.experiment.name == name || name.empty() || is_renamed_now) return;
  const std::string copy = study.results_root + "/" + name + "/experiment.yaml";
  const std::string other = study.experiment.name;
  if (options.looks_back && path != copy && fs::exists(copy))
    study.experiment = read_experiment(copy, read_options(study.source));
  if (study.experiment.name != name) {
    throw InputError(fmt::format("error: {} was run as the study {} and is {} now\n  = name the file: `hpcbench run {}`", path,
                                 name, other, shell_quote(path)));
  }
  say(fmt::format("note: {} is the study {} now; this is {} as it was run, by {}", path, other, name, copy));
}

/// Another file with the same name of a study made the results.
void note_other_file(const Study& study) {
  const std::optional<LastRun> last = read_last_run_of(study.results_root, study.experiment.name);
  if (!last || last->file == study.source.file || last->file.starts_with(study.results_root + "/")) return;
  std::error_code error;
  if (!fs::exists(last->file, error) || fs::equivalent(last->file, study.source.file, error)) return;
  try {
    if (read_experiment(last->file, read_options(*last)).name != study.experiment.name) return;
  } catch (const InputError&) {
    return;  // it is no experiment file by now
  }
  say(fmt::format("note: the results of {} were made from {}, not from {}: give each file an `experiment` of its own",
                  study.experiment.name, last->file, study.source.file));
}

/// What is said now goes on top of what was said when it was run.
void apply_options(LastRun& source, const StudyOptions& options) {
  if (!options.profiles.empty()) source.profile = join(options.profiles, ",");
  if (!options.site.empty()) source.site = options.site;
  source.settings.insert(source.settings.end(), options.settings.begin(), options.settings.end());
}

void apply_repeats(Study& study, const StudyOptions& options) {
  if (options.repeats <= 0) return;
  if (study.experiment.repeat_rule) {
    throw InputError(fmt::format(
        "{}: error: `repeats` has looks that were fixed beforehand, which --repeats {} would change\n  = without it "
        "`hpcbench run` goes on to the next look; a fixed number is `--set repeats={}`",
        study.experiment.repeat_rule->place, options.repeats, options.repeats));
  }
  study.experiment.repeats = options.repeats;
}

}  // namespace

std::string results_beside(const std::string& file) {
  return (fs::absolute(file).lexically_normal().parent_path() / StudyOptions{}.results).string();
}

std::string results_near(const std::string& results_root, const std::string& experiment, const std::string& file) {
  std::vector<std::string> candidates = {".", "..", "../results"};
  if (!file.empty()) candidates.insert(candidates.begin(), results_beside(file));
  std::error_code error;
  std::vector<std::string> below;
  for (const fs::directory_entry& entry : fs::directory_iterator(".", error)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory(error)) continue;
    below.push_back(name);
    below.push_back(name + "/results");
  }
  std::sort(below.begin(), below.end());
  candidates.insert(candidates.end(), below.begin(), below.end());
  for (const std::string& candidate : candidates) {
    if (!fs::equivalent(candidate, results_root, error) && has_study(candidate, experiment)) return candidate;
  }
  return "";
}

std::string where_results_are(const std::string& results_root, const std::string& experiment, const std::string& file) {
  const std::string near = results_near(results_root, experiment, file);
  if (near.empty()) return "";
  return fmt::format("\n  = {} holds {}: add `--results {}`", near,
                     experiment.empty() ? join(experiments_on_disk(near), ", ") : experiment, shell_quote(near));
}

namespace {

std::string advice_without_results(const Study& study) {
  const std::optional<LastRun> last = find_last_run_of_file(study.results_root, study.source.file);
  const std::string& name = study.experiment.name;
  if (last && last->experiment != name) {
    return fmt::format("\n  = {} was run as the study {}: name that instead of the file", study.experiment.path,
                       last->experiment);
  }
  const std::string nearby = where_results_are(study.results_root, name, study.source.file);
  if (!nearby.empty()) return nearby;
  const std::vector<std::string> there = experiments_on_disk(study.results_root);
  if (!there.empty()) return fmt::format("\n  = {} holds {}", study.results_root, join(there, ", "));
  return study.experiment.runs_anything() ? fmt::format("\n  = `hpcbench run {}` makes some", study.named()) : "";
}

}  // namespace

void refuse_without_results(const Study& study) {
  if (study.is_unpacked) throw UnavailableError(fmt::format("error: the archive has no results of {}", study.experiment.name));
  throw UnavailableError(
      fmt::format("error: no results of {} in {}{}", study.experiment.name, study.results_root, advice_without_results(study)));
}

void note_without_results(const Study& study) {
  if (has_study(study.results_root, study.experiment.name)) return;
  if (const std::optional<std::string> owner = experiment_owner(study.results)) {
    say(fmt::format("note: {} has no results yet: its runs wait until {} begins them", study.experiment.name, *owner));
    return;
  }
  say(fmt::format("note: no results of {} in {}{}", study.experiment.name, study.results_root, advice_without_results(study)));
}

std::string Study::named() const {
  if (from_last_run) return shell_quote(experiment.name) + in_results;
  LastRun as_typed = source;
  as_typed.file = experiment.path;
  return how_it_was_read(as_typed) + in_results;
}

std::string other_owner(const std::string& results) {
  struct stat status {};
  if (::stat(results.c_str(), &status) != 0) return "";
  std::error_code error;
  const fs::path place = fs::canonical(results, error);
  if (!error && is_own(results) && is_own(place)) return "";
  return user_name_of(status.st_uid);
}

void require_own_results(const std::string& results) {
  if (const std::string owner = other_owner(results); !owner.empty()) {
    throw UnavailableError(
        fmt::format("error: {} belongs to {}: only that user runs, changes or cancels it; `hpcbench report`, `status` and "
                    "`compare` read it\n  = for a study of your own, name another folder with --results",
                    results, owner));
  }
}

void require_own(const Study& study) {
  require_own_results(study.results);
  if (!study.source.ours) {
    throw UnavailableError(fmt::format(
        "error: another user wrote, or may write, the note in {} that tells how the study was run last\n  = name the "
        "experiment file{}; then it is noted again",
        study.results_root, study.source.site.empty() ? "" : ", and --site"));
  }
  struct stat status {};
  if (::stat(study.results.c_str(), &status) != 0 || (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return;
  const mode_t mode = status.st_mode & ~static_cast<mode_t>(S_IWGRP | S_IWOTH) & 07777U;
  if (::chmod(study.results.c_str(), mode) == 0)
    say(fmt::format("note: others could write in {}; now they can only read it", study.results));
}

void check_study(const Study& study) {
  if (executor_kind(study.experiment.executor).steps) {
    // These stand in lines that sbatch reads, and in file names in which it replaces `%`.
    for (const Configuration& configuration : study.plan.configurations) slurm_options(study.experiment, configuration);
    const bool plain = std::all_of(study.results.begin(), study.results.end(),
                                   [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '%' && c != '\\'; });
    if (!plain) {
      throw InputError(
          fmt::format("error: --results {}: Slurm cannot write below a folder whose name has `%`, `\\` or control "
                      "characters; choose another",
                      study.results));
    }
  }
  if (executor_kind(study.experiment.executor).described) {
    check_batch_system(study.experiment, study.plan);
    const bool plain = std::all_of(study.results.begin(), study.results.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("/._-+@=").find(c) != std::string_view::npos;
    });
    if (!plain) {
      throw InputError(
          fmt::format("error: --results {}: its name stands in lines that a batch system reads\n  = choose a folder "
                      "of letters, digits and . _ - + @ = alone",
                      study.results));
    }
  }
  check_blocks(study.experiment, study.plan);
  check_report(study.experiment, study.plan);
}

Study load_study(const StudyOptions& options) {
  Study study;
  study.results_root = find_results(options);
  const bool is_default = study.results_root == fs::absolute(StudyOptions{}.results).lexically_normal().string();
  const bool is_given = options.results != StudyOptions{}.results;
  if (!options.is_unpacked && (is_given || !is_default))
    study.in_results = " --results " + shell_quote(is_given ? options.results : study.results_root);
  const std::optional<LastRun> named = options.file.empty() ? std::nullopt : named_study(options, study.results_root);
  study.from_last_run = options.file.empty() || named;
  study.source = named ? *named : study.from_last_run ? last_source(study.results_root) : source_of(options);
  const std::string was = study.source.experiment;
  if (study.from_last_run) {
    apply_options(study.source, options);
  } else if (options.looks_back && options.site.empty()) {
    remember_site(study.source, study.results_root);
  }
  const std::string path = study.from_last_run ? readable_file(study.source, study.results_root) : options.file;
  if (path != study.source.file && study.from_last_run) study.source.ours = study.source.ours && is_own_alone(path);
  study.experiment = read_experiment(path, read_options(study.source, options.looks_back));
  study.is_unpacked = options.is_unpacked;
  if (study.from_last_run && !study.is_unpacked) {
    say(fmt::format("{}{}{}: what was run last {} {}", path,
                    study.source.profile.empty() ? "" : " --profile " + study.source.profile,
                    study.source.site.empty() ? "" : " --site " + study.source.site,
                    named ? "as " + options.file + " in" : "in", study.results_root));
  }
  if (study.from_last_run) read_as_it_was_run(study, options, path, was);
  study.source.profile = study.experiment.profile;  // a site may have named it
  apply_repeats(study, options);
  study.source.experiment = study.experiment.name;
  study.plan = make_plan(study.experiment);
  if (!options.only.empty()) study.narrowed = select(study.plan, parse_selection(options.only, "--only"));
  if (!options.only.empty()) study.narrowing += " --only " + shell_quote(options.only);
  if (options.repeats > 0) study.narrowing += fmt::format(" --repeats {}", options.repeats);
  study.results = study.results_root + "/" + study.experiment.name;
  if (options.looks_back && !study.from_last_run) note_other_file(study);
  if (const auto& retired = study.experiment.retired) {
    say(fmt::format("note: {}: `{}` was retired; `hpcbench report --orphans` shows the runs that had it",
                    describe(retired->place), retired->path));
  }
  return study;
}

}  // namespace hpcbench

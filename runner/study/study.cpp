#include "study/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "render/attempt.hpp"
#include "render/blocks.hpp"
#include "report/table.hpp"
#include "study/index.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

LastRun source_of(const StudyOptions& options) {
  return {"", fs::absolute(options.file).lexically_normal().string(), join(options.profiles, ","), options.site,
          options.settings};
}

LastRun last_source(const std::string& results_root) {
  const std::optional<LastRun> last = read_last_run(results_root);
  if (!last) {
    throw InputError(fmt::format("error: nothing has been run in {} yet; name an experiment file", results_root));
  }
  return *last;
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
  if (std::optional<LastRun> source = read_last_run_of(results_root, options.file)) return source;
  const std::vector<std::string> there = experiments_on_disk(results_root);
  if (std::find(there.begin(), there.end(), options.file) != there.end()) {
    throw InputError(
        fmt::format("error: `{0}` holds only imported runs: give its experiment file, for example `{0}.yaml`", options.file));
  }
  throw InputError(fmt::format("error: {} is neither a file nor a study in {}{}; there are: {}", options.file, results_root,
                               did_you_mean(options.file, there), there.empty() ? "none" : join(there, ", ")));
}

/// A command that looks at results sees them as they were made.
void remember_site(LastRun& source, const std::string& results_root) {
  const std::optional<LastRun> last = find_last_run_of_file(results_root, source.file);
  if (!last || last->site.empty()) return;
  source.site = last->site;
  say(fmt::format("--site {}: as in the last run of {}", last->site, source.file));
}

/// The file as it was run, should the original be gone.
std::string readable_file(const LastRun& source, const std::string& results_root) {
  const std::string copy = results_root + "/" + source.experiment + "/experiment.yaml";
  if (!fs::exists(source.file) && !source.experiment.empty() && fs::exists(copy)) return copy;
  return source.file;
}

ReadOptions read_options(const LastRun& source) {
  ReadOptions read;
  if (!source.profile.empty()) read.profile = source.profile;
  if (!source.site.empty()) read.site = source.site;
  read.settings = source.settings;
  return read;
}

}  // namespace

std::string Study::named() const {
  if (from_last_run) return shell_quote(experiment.name) + in_results;
  LastRun as_typed = source;
  as_typed.file = experiment.path;
  return how_it_was_read(as_typed) + in_results;
}

void check_study(const Study& study) {
  if (study.experiment.executor == "slurm") {
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
  check_blocks(study.experiment, study.plan);
  check_report(study.experiment, study.plan);
}

Study load_study(const StudyOptions& options) {
  Study study;
  if (!options.is_unpacked && options.results != StudyOptions{}.results)
    study.in_results = " --results " + shell_quote(options.results);
  study.results_root = fs::absolute(options.results).lexically_normal().string();
  while (study.results_root.size() > 1 && study.results_root.back() == '/') study.results_root.pop_back();
  const std::optional<LastRun> named = options.file.empty() ? std::nullopt : named_study(options, study.results_root);
  study.from_last_run = options.file.empty() || named;
  study.source = named ? *named : study.from_last_run ? last_source(study.results_root) : source_of(options);
  if (study.from_last_run) {
    // What is said now goes on top of what was said then.
    if (!options.profiles.empty()) study.source.profile = join(options.profiles, ",");
    if (!options.site.empty()) study.source.site = options.site;
    study.source.settings.insert(study.source.settings.end(), options.settings.begin(), options.settings.end());
  } else if (options.looks_back && options.site.empty()) {
    remember_site(study.source, study.results_root);
  }
  const std::string path = study.from_last_run ? readable_file(study.source, study.results_root) : options.file;
  study.experiment = read_experiment(path, read_options(study.source));
  study.is_unpacked = options.is_unpacked;
  if (study.from_last_run && !study.is_unpacked) {
    say(fmt::format("{}{}{}: what was run last {} {}", path,
                    study.source.profile.empty() ? "" : " --profile " + study.source.profile,
                    study.source.site.empty() ? "" : " --site " + study.source.site,
                    named ? "as " + options.file + " in" : "in", study.results_root));
  }
  study.source.profile = study.experiment.profile;  // a site may have named it
  if (options.repeats > 0 && study.experiment.repeat_rule) {
    throw InputError(fmt::format(
        "{}: error: `repeats` has looks that were fixed beforehand, which --repeats {} would change\n  = without it "
        "`hpcbench run` goes on to the next look; a fixed number is `--set repeats={}`",
        study.experiment.repeat_rule->place, options.repeats, options.repeats));
  }
  if (options.repeats > 0) study.experiment.repeats = options.repeats;
  study.source.experiment = study.experiment.name;
  study.plan = make_plan(study.experiment);
  if (!options.only.empty()) study.narrowed = select(study.plan, parse_selection(options.only, "--only"));
  study.results = study.results_root + "/" + study.experiment.name;
  return study;
}

}  // namespace hpcbench

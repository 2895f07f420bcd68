#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "archive/archive.hpp"
#include "archive/archive_files.hpp"
#include "archive/tracker_files.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/study_options.hpp"
#include "study/index.hpp"
#include "study/study.hpp"

namespace hpcbench {

namespace {

struct ExportOptions {
  StudyOptions study;
  std::string out;
  std::string extract;  // an archive to unpack
  std::string to;
  bool models = false;
  std::string mlflow;     // a folder for a file store of MLflow
  std::string wandb_csv;  // a file for the runs as W&B has them
  std::uint64_t limit_gb = kArchiveLimitGb;
};

/// Runs without an outcome yet: the archive has them as they are now.
std::size_t unfinished_runs(const std::vector<AttemptState>& states) {
  return std::count_if(states.begin(), states.end(), [](const AttemptState& state) { return !is_outcome(state.state); });
}

bool has_simulated_runs(const Study& study, const Store& store) {
  const std::vector<AttemptRecord> records = store.counting_attempts(study.experiment.name, false);
  return std::any_of(records.begin(), records.end(),
                     [](const AttemptRecord& record) { return record.facts.contains("simulated_nodes"); });
}

/// A name that promises another format would mislead whoever unpacks it.
void check_ending(const std::string& out) {
  const std::string ending = std::filesystem::path(out).extension().string();
  for (const std::string_view other : {".zip", ".gz", ".tgz", ".bz2", ".xz", ".txz", ".7z", ".rar"}) {
    if (ending != other) continue;
    throw InputError(fmt::format("error: `{}`: an archive is a tar with zstd, not {}: end its name with .tar.zst", out, other));
  }
}

int export_study(const ExportOptions& options) {
  check_ending(options.out);
  const Study study = load_study(options.study);
  const IndexView index = open_for_reading(study);
  if (index.states.empty()) refuse_without_results(study);
  const std::size_t unfinished = unfinished_runs(index.states);
  ArchivePlan plan = plan_archive(study, options.models);
  if (unfinished > 0) {
    plan.notes.push_back(fmt::format("{} runs have not ended: they are archived as they are now", unfinished));
  }
  if (has_simulated_runs(study, index.store)) {
    plan.notes.emplace_back("simulated nodes: configurations of several nodes ran on one machine, and every report says so");
  }
  for (const std::string& note : plan.notes) say("note: " + note);
  const std::size_t count = plan.files.size();
  const std::string out = options.out.empty() ? study.experiment.name + ".tar.zst" : options.out;
  write_archive(out, plan.study, std::move(plan.files));
  say(
      fmt::format("{}: {} files, {} bytes; `hpcbench report --archive {}` "
                  "prints its report anywhere",
                  out, count, std::filesystem::file_size(out), shell_quote(out)));
  return 0;
}

/// The runs that count, for experiment trackers.
int export_to_tracker(const ExportOptions& options) {
  const Study study = load_study(options.study);
  const IndexView index = open_for_reading(study);
  if (index.states.empty()) refuse_without_results(study);
  const std::vector<AttemptRecord> runs = index.store.counting_attempts(study.experiment.name, true);
  const std::string count = counted(static_cast<long long>(runs.size()), "run", "runs");
  if (!options.mlflow.empty()) {
    write_mlflow_store(study.experiment.name, runs, options.mlflow);
    say(fmt::format("{}: {} as a file store of MLflow; `MLFLOW_ALLOW_FILE_STORE=1 mlflow ui --backend-store-uri {}` shows it",
                    options.mlflow, count, shell_quote(options.mlflow)));
  }
  if (!options.wandb_csv.empty()) {
    if (!create_exclusively(options.wandb_csv, runs_as_wandb_csv(runs), kUserFile))
      throw InputError(fmt::format("error: {} exists already; name another file", options.wandb_csv));
    say(fmt::format("{}: {} in the form of W&B's exports", options.wandb_csv, count));
  }
  return 0;
}

/// `study.tar.zst` -> `study`.
std::string folder_of_archive(const std::string& archive) {
  std::string name = std::filesystem::path(archive).filename().string();
  for (const std::string_view ending : {".zst", ".tar"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name == std::filesystem::path(archive).filename().string() ? name + ".d" : name;
}

int extract_archive(const ExportOptions& options) {
  const std::string said = options.to.empty() ? folder_of_archive(options.extract) : options.to;
  std::string folder = std::filesystem::absolute(said).lexically_normal().string();
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  const ArchiveHead head = unpack_archive(options.extract, folder, options.limit_gb * kGigabyte);
  say(
      fmt::format("{}: {} files of {}; `hpcbench report --results {}` "
                  "prints its report",
                  folder, head.files, head.study.experiment, shell_quote(said + "/results")));
  return 0;
}

}  // namespace

void add_export(commandline::Command& command) {
  const auto options = std::make_shared<ExportOptions>();
  add_source_options(command, options->study, FileArgument::optional);
  add_results_option(command, options->study.results);
  command.add_option("-o,--out", options->out, "the archive; without it EXPERIMENT.tar.zst here").value_name("ARCHIVE");
  command.add_flag("--models", options->models, "also checkpoints and weights");
  command.add_option("--mlflow", options->mlflow, "write runs as a file store of MLflow instead")
      .value_name("DIR")
      .excludes({"--out", "--models"});
  command.add_option("--wandb-csv", options->wandb_csv, "write runs as CSV in the form of W&B's exports instead")
      .value_name("CSV")
      .excludes({"--out", "--models"});
  command.add_option("--extract", options->extract, "unpack an archive instead")
      .value_name("ARCHIVE")
      .excludes({"--out", "--models", "--mlflow", "--wandb-csv", "FILE"});
  command
      .add_option("--to", options->to,
                  "the folder to unpack into, new or empty; without it the "
                  "archive's name")
      .value_name("DIR")
      .needs("--extract");
  command.add_option("--limit-gb", options->limit_gb, "unpack at most so much").needs("--extract");
  command.action([=] {
    if (!options->mlflow.empty() || !options->wandb_csv.empty()) return export_to_tracker(*options);
    return options->extract.empty() ? export_study(*options) : extract_archive(*options);
  });
}

}  // namespace hpcbench

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/study_options.hpp"
#include "imports/import_runs.hpp"
#include "study/index.hpp"
#include "study/preflight.hpp"
#include "study/preparing.hpp"
#include "study/run_study.hpp"

namespace hpcbench {

namespace {

/// Where `report.metric` names what neither hpcbench nor the file gives: only a program that writes events may know it.
std::optional<std::string> undefined_report_metric(const Study& study) {
  const std::optional<std::string>& metric = study.experiment.report.metric;
  if (!metric) return std::nullopt;
  std::vector<std::string> names = measured_metrics();
  if (study.experiment.is_trainer()) names.insert(names.end(), trainer_metrics().begin(), trainer_metrics().end());
  for (const Configuration& configuration : study.plan.configurations) {
    if (&configuration != &study.plan.configurations.front() && configuration.work == (&configuration - 1)->work) continue;
    for (const Metric& each : configuration.work->metrics) names.push_back(each.name);
  }
  for (const Import& import : study.experiment.imports) {
    if (import.is_table) return std::nullopt;  // its columns are metrics
    for (const Metric& each : import.metrics.value_or(std::vector<Metric>())) names.push_back(each.name);
    for (const GivenValue& value : import.values) names.push_back(value.metric);
  }
  if (std::find(names.begin(), names.end(), *metric) != names.end()) return std::nullopt;
  const auto origin = study.experiment.origins.find("report.metric");
  return fmt::format(
      "{}: warning: `report.metric` is `{}`, which no entry of `metrics` defines{}: unless the program writes it as an event, "
      "no "
      "run will have a value",
      origin == study.experiment.origins.end() ? study.experiment.path : origin->second, *metric, did_you_mean(*metric, names));
}

int check_file(const StudyOptions& options) {
  const Study study = load_study(options);
  check_study(study);
  check_imports(study);
  if (const auto warning = undefined_report_metric(study)) say(*warning);
  for (const std::string& note : study.plan.notes) say("note: " + note);
  if (find_simulated(study)) {
    say("note: the executor local is one machine: `hpcbench run` takes the configurations of several nodes with --site (a "
        "cluster) or --simulate-nodes only");
  }
  std::string prepared;
  const std::vector<long long> instances = count_instances(study.experiment, study.plan);
  for (std::size_t i = 0; i < instances.size(); ++i) {
    prepared +=
        fmt::format(", {} of {}", counted(instances[i], "preparation", "preparations"), study.experiment.preparations[i].name);
  }
  print_data(fmt::format("{}: ok: {} configurations, {} runs{}\n", options.file, study.plan.configurations.size(),
                         study.plan.configurations.size() * static_cast<std::size_t>(study.plan.repeats), prepared));
  return 0;
}

/// Runs in the order of the plan as `run` hands them over together: with Slurm those of equal resources, up to the usual size.
std::vector<std::vector<PlannedRun>> batches_in_order(const Study& study, const RenderContext& context) {
  constexpr std::size_t kBatchLimit = 1000;
  std::vector<std::vector<PlannedRun>> batches;
  std::map<std::vector<std::string>, std::size_t> open;  // by options: where the batch that still grows is
  for (const PlannedRun& run : runs_in_order(study.selected())) {
    if (run.name.kind == RunKind::warmup && study.experiment.executor == "slurm") continue;
    const Configuration& configuration = study.selected().configurations[run.configuration];
    const auto options = batch_options(study.experiment, configuration, context);
    const auto found = open.find(options);
    if (found != open.end() && batches[found->second].size() < kBatchLimit) {
      batches[found->second].push_back(run);
    } else {
      open[options] = batches.size();
      batches.push_back({run});
    }
  }
  return batches;
}

/// The script of a batch as `run` would submit it, and its list of attempts, below `folder`.
void render_batch(const Study& study, const RenderContext& context, const std::string& folder, const std::string& id,
                  const std::vector<PlannedRun>& runs, const std::string& attempts) {
  const Configuration& any = study.selected().configurations[runs.front().configuration];
  const auto text = render_batch_script(study.experiment, any, id, static_cast<int>(runs.size()), context);
  if (!text) return;
  const std::filesystem::path script = std::filesystem::path(folder) / batch_script_path(id);
  make_folders(script.parent_path());
  write_file(script, *text, Durability::none);
  write_file(script.parent_path() / "attempts.txt", attempts, Durability::none);
}

/// Renders the first attempt of every run below `folder`, as `run` would, with Slurm the scripts of the batches, too, which
/// name the study's own results; runs nothing.
void render_scripts(const Study& study, const std::string& folder) {
  const RenderContext submitted = make_render_context(study);
  RenderContext context = submitted;
  find_made_preparations(study, context);
  context.results = std::filesystem::absolute(folder).lexically_normal().string();
  std::size_t count = 0;
  std::size_t number = 0;
  for (const std::vector<PlannedRun>& batch : batches_in_order(study, context)) {
    const std::string id = fmt::format("{:016x}", number++);
    std::string attempts;
    for (const PlannedRun& run : batch) {
      const RenderedAttempt attempt =
          render_attempt(study.experiment, study.selected(), run.configuration, run.name, 1, id, context);
      make_folders(attempt.folder);
      write_file(attempt.folder + "/run.json", attempt.run_json, Durability::none);
      write_file(attempt.folder + "/job.sh", attempt.job_sh, Durability::none);
      for (const FilledDeck& deck : attempt.decks) {
        const std::filesystem::path path = std::filesystem::path(attempt.folder) / deck.to;
        make_folders(path.parent_path().string());
        write_file(path.string(), deck.content, Durability::none);
      }
      attempts += to_string(attempt.key) + "\n";
      ++count;
    }
    render_batch(study, submitted, context.results, id, batch, attempts);
  }
  say(fmt::format("rendered {} job scripts below {}; each runs by hand with `bash job.sh`{}", count, context.results,
                  context.executor == "slurm"
                      ? fmt::format(" within `salloc`; {} below batches/",
                                    counted(static_cast<long long>(number), "batch script", "batch scripts"))
                      : ""));
}

/// Which code files differ from those that kept runs were made with.
void note_changed_code(const Study& study, const Store& store, std::vector<std::string>& notes) {
  if (study.experiment.is_trainer() || store.states(study.experiment.name).empty()) return;
  std::map<std::string, std::string> now;
  for (const Configuration& configuration : study.selected().configurations) {
    if (&configuration != &study.selected().configurations.front() && configuration.work == (&configuration - 1)->work)
      continue;
    for (const CodeFile& file : code_files(configuration.work->command, std::filesystem::current_path().string()))
      now[file.path] = file.sha256;
  }
  std::map<std::string, int> changed;
  for (const AttemptRecord& record : store.counting_attempts(study.experiment.name, false)) {
    for (const auto& [path, hash] : now) {
      const auto then = record.facts.find("code:" + path);
      if (then != record.facts.end() && !hash.starts_with(then->second)) ++changed[path];
    }
  }
  for (const auto& [path, count] : changed)
    notes.push_back(fmt::format("{} changed since {} kept run{}", path, count, count == 1 ? "" : "s"));
}

/// Kept is what has an attempt: it may still wait or run.
long long kept_without_outcome(const Study& study, const std::vector<AttemptState>& states) {
  const Plan& plan = study.selected();
  const std::vector<AttemptState> runs = counting_states(states);
  return std::count_if(runs.begin(), runs.end(), [&](const AttemptState& run) {
    const bool asked = run.key.run.is_repeat() && run.key.run.number <= plan.repeats && plan.find(run.key.config_id);
    return asked && !is_outcome(run.state);
  });
}

int plan_study(const StudyOptions& options, const std::string& format, const std::string& scripts) {
  Study study = load_study(options);
  const Store store = std::filesystem::exists(study.database()) ? open_for_reading(study) : Store::open(":memory:");
  const std::vector<AttemptState> states = store.states(study.experiment.name);
  const PlanDiff diff = compare_with_index(study, states);
  note_changed_code(study, store, study.selected().notes);
  if (const long long open = kept_without_outcome(study, states); open > 0) {
    study.selected().notes.push_back(fmt::format("{} of those kept {} no outcome yet: `hpcbench run` carries on with them",
                                                 open, open == 1 ? "has" : "have"));
  }
  print_data(format == "json" ? plan_json(study.experiment, study.selected(), diff)
                              : plan_text(study.experiment, study.selected(), diff));
  if (!scripts.empty()) render_scripts(study, scripts);
  return 0;
}

}  // namespace

void add_check(commandline::Command& command) {
  const auto options = std::make_shared<StudyOptions>();
  add_study_options(command, *options, FileArgument::required);
  command.action([options] { return check_file(*options); });
}

void add_plan(commandline::Command& command) {
  const auto options = std::make_shared<StudyOptions>();
  const auto format = std::make_shared<std::string>("text");
  const auto scripts = std::make_shared<std::string>();
  add_study_options(command, *options, FileArgument::required);
  command.add_option("--repeats", options->repeats, "repeats of each configuration instead of the file's").positive();
  command.add_option("--format", *format, "text or json").shows_initial().one_of({"text", "json"});
  command.add_option("--scripts", *scripts, "also render all job scripts below this folder, without running them")
      .value_name("DIR");
  command.action([=] { return plan_study(*options, *format, *scripts); });
}

}  // namespace hpcbench

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "base/tool_runner.hpp"
#include "cli/command.hpp"
#include "cli/formats/check_messages.hpp"
#include "cli/study_options.hpp"
#include "imports/import_runs.hpp"
#include "plan/prepared.hpp"
#include "render/blocks.hpp"
#include "runfiles/block_claim.hpp"
#include "runfiles/layout.hpp"
#include "study/blocks/find_block_times.hpp"
#include "study/index.hpp"
#include "study/kept/changed_program.hpp"
#include "study/preflight.hpp"
#include "study/preparing.hpp"
#include "study/rounds.hpp"
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
  return fmt::format(
      "{}: warning: `report.metric` is `{}`, which no entry of `metrics` defines{}: unless the program writes it as an event, "
      "no "
      "run will have a value",
      study.experiment.place_of_key("report.metric"), *metric, did_you_mean(*metric, names));
}

/// Metrics that `compare --fail-if` cannot name.
std::vector<std::string> ambiguous_metrics(const Study& study) {
  std::set<std::string> names;
  for (const Configuration& configuration : study.plan.configurations) {
    if (&configuration != &study.plan.configurations.front() && configuration.work == (&configuration - 1)->work) continue;
    for (const Metric& each : configuration.work->metrics) names.insert(each.name);
  }
  for (const Metric& each : study.experiment.described) names.insert(each.name);
  std::vector<std::string> warnings;
  for (const std::string& name : names) {
    if (!is_gate_word(name)) continue;
    warnings.push_back(
        fmt::format("{}: warning: the metric `{}` has the name of a rule of `compare --fail-if`, which refuses it there: give "
                    "it another name",
                    study.experiment.place_of_key("metrics"), name));
  }
  return warnings;
}

std::vector<std::string> remarks_on(const Study& study) {
  std::vector<std::string> remarks = ambiguous_metrics(study);
  if (const auto warning = undefined_report_metric(study)) remarks.push_back(*warning);
  for (const std::string& note : study.plan.notes) remarks.push_back("note: " + note);
  if (const auto note = note_of_threads(study)) remarks.push_back(*note);
  if (find_simulated(study)) {
    remarks.emplace_back(
        "note: the executor local is one machine: `hpcbench run` takes the configurations of several nodes with --site (a "
        "cluster) or --simulate-nodes only");
  }
  return remarks;
}

long long count_runs(const Study& study) {
  return static_cast<long long>(study.plan.configurations.size()) * study.plan.repeats;
}

Study load_checked(const StudyOptions& options) {
  Study study = load_study(options);
  check_study(study);
  check_imports(study);
  return study;
}

/// For another program: what is wrong is data, on standard output.
int check_for_program(const StudyOptions& options, const std::string& format) {
  CheckResult result{options.file, {}, {}, {}};
  try {
    const Study study = load_checked(options);
    for (const std::string& remark : remarks_on(study)) {
      for (CheckMessage& message : read_messages(remark)) result.messages.push_back(std::move(message));
    }
    result.configurations = static_cast<long long>(study.plan.configurations.size());
    result.runs = count_runs(study);
  } catch (const InputError& error) {
    result.messages = read_messages(error.what());
  }
  print_data(format == "json" ? json_of_check(result) : format == "github" ? github_of_check(result) : sarif_of_check(result));
  return result.runs ? 0 : 2;
}

int check_file(const StudyOptions& options) {
  const Study study = load_checked(options);
  for (const std::string& remark : remarks_on(study)) say(remark);
  std::string prepared;
  const std::vector<long long> instances = count_instances(study.experiment, study.plan);
  for (std::size_t i = 0; i < instances.size(); ++i) {
    prepared +=
        fmt::format(", {} of {}", counted(instances[i], "preparation", "preparations"), study.experiment.preparations[i].name);
  }
  const std::vector<int>& looks = study.experiment.report.looks;
  const std::string least =
      looks.empty() ? "" : fmt::format("{} to ", study.plan.configurations.size() * static_cast<std::size_t>(looks.front()));
  const auto configurations = static_cast<long long>(study.plan.configurations.size());
  print_data(fmt::format("{}: ok: {}, {}{}{}\n", options.file, counted(configurations, "configuration", "configurations"),
                         least, counted(configurations * study.plan.repeats, "run", "runs"), prepared));
  return 0;
}

/// Whether jobs of the study execute blocks.
bool in_blocks(const Study& study) { return study.experiment.in_blocks() && executor_kind(study.experiment.executor).blocks; }

/// The runs in order, in parts as `run` takes them: a thousand and, in blocks, the rest of the last block.
std::vector<std::vector<PlannedRun>> parts_in_order(const Study& study) {
  constexpr std::size_t kRunsOfPart = 1000;
  const bool with_warmups = executor_kind(study.experiment.executor).runs_here;
  std::vector<std::vector<PlannedRun>> parts(1);
  for (const PlannedRun& run : runs_in_order(study.selected())) {
    if (run.name.is_warmup() && !with_warmups) continue;
    const bool splits_block = in_blocks(study) && !parts.back().empty() && parts.back().back().block == run.block;
    if (parts.back().size() >= kRunsOfPart && !splits_block) parts.emplace_back();
    parts.back().push_back(run);
  }
  return parts;
}

/// A batch's script and its list of attempts, below `folder`.
void write_batch(const std::string& folder, const std::string& id, const std::string& script, const std::string& attempts) {
  const std::filesystem::path path = std::filesystem::path(folder) / batch_script_path(id);
  make_folders(path.parent_path());
  write_file(path, script, Durability::none);
  write_file(path.parent_path() / "attempts.txt", attempts, Durability::none);
}

/// The script of a batch as `run` would submit it, and its lists, below `folder`.
void render_batch(const Study& study, const RenderContext& context, const std::string& folder, const std::string& id,
                  const JobBatch& batch, const Configuration& any, const std::string& attempts) {
  const auto text = render_batch_script(study.experiment, any, batch, id, context, in_blocks(study));
  if (!text) return;
  write_batch(folder, id, *text, attempts);
  if (!in_blocks(study)) return;
  std::vector<std::size_t> sizes;
  for (const std::vector<std::size_t>& job : batch.jobs) sizes.push_back(job.size());
  write_file(folder + "/batches/" + id + "/" + kBlocksFile, blocks_text(sizes), Durability::none);
}

/// The jobs that make preparations which are not there yet, as `run` would submit them. Their batches are numbered from
/// `number` on.
void render_preparations(const Study& study, const RenderContext& submitted, const std::string& folder, std::size_t& number) {
  const Plan& plan = study.selected();
  const Experiment preparations = preparation_experiment(study.experiment, study.experiment.executor);
  for (const std::size_t i : instances_needed(plan)) {
    if (!has_own_job(study.experiment, plan, i) || submitted.prepared.contains(plan.prepared[i].folder())) continue;
    const std::string id = fmt::format("{:016x}", number++);
    const Plan of_instance = preparation_plan(preparations, plan, i);
    const RenderedAttempt attempt = render_attempt(preparations, of_instance, 0, {RunKind::preparation, 1}, 1, id, submitted);
    const std::string path = folder + "/" + to_string(attempt.key);
    make_folders(path);
    write_file(path + "/run.json", attempt.run_json, Durability::none);
    write_file(path + "/job.sh", attempt.job_sh, Durability::none);
    const Configuration& any = of_instance.configurations.front();
    const auto script = render_batch_script(
        preparations, any,
        make_jobs(preparations, of_instance, {runs_in_order(of_instance).front()}, 1, submitted, false).front(), id, submitted);
    if (script) write_batch(folder, id, *script, to_string(attempt.key) + "\n");
  }
}

/// Writes the first attempt of a run below the folder of `context`, with its job.sh as `submitted` has it, to the byte, also
/// where a script names its own folder.
void write_first_attempt(const Study& study, const PlannedRun& run, const std::string& batch, const RenderContext& context,
                         const RenderContext& submitted) {
  const auto rendered_in = [&](const RenderContext& where) {
    return render_attempt(study.experiment, study.selected(), run.configuration, run.name, 1, batch, where);
  };
  const RenderedAttempt attempt = rendered_in(context);
  const RenderedAttempt as_submitted = rendered_in(submitted);
  make_folders(attempt.folder);
  write_file(attempt.folder + "/run.json", attempt.run_json, Durability::none);
  write_file(attempt.folder + "/job.sh", as_submitted.job_sh, Durability::none);
  for (const FilledDeck& deck : as_submitted.decks) {
    const std::filesystem::path path = std::filesystem::path(output_folder(attempt.folder)) / deck.to;
    make_folders(path.parent_path().string());
    write_file(path.string(), deck.content, Durability::none);
  }
}

/// Renders the first attempt of every run below `folder`, as `run` would, with Slurm the scripts of the batches, too, which
/// name the study's own results; runs nothing.
void render_scripts(const Study& study, const BlockTimes& times, const std::string& folder) {
  constexpr std::size_t kMostJobs = 1000;  // of a batch
  const Plan& plan = study.selected();
  RenderContext submitted = make_render_context(study);
  submitted.block_times = times;
  find_made_preparations(study, submitted);
  RenderContext context = submitted;
  context.results = std::filesystem::absolute(folder).lexically_normal().string();
  std::size_t count = 0;
  std::size_t number = 0;
  render_preparations(study, submitted, context.results, number);
  for (const std::vector<PlannedRun>& runs : parts_in_order(study)) {
    for (const JobBatch& batch : make_jobs(study.experiment, plan, runs, kMostJobs, context, in_blocks(study))) {
      const std::string id = fmt::format("{:016x}", number++);
      std::string attempts;
      for (const std::vector<std::size_t>& job : batch.jobs) {
        for (const std::size_t i : job) {
          const PlannedRun& run = runs[i];
          write_first_attempt(study, run, id, context, submitted);
          attempts += to_string(AttemptKey{plan.configurations[run.configuration].id, run.name, 1}) + "\n";
          ++count;
        }
      }
      const Configuration& any = plan.configurations[runs[batch.jobs.front().front()].configuration];
      render_batch(study, submitted, context.results, id, batch, any, attempts);
    }
  }
  say(fmt::format("rendered {} job scripts below {}; each runs by hand with `bash job.sh`{}", count, context.results,
                  executor_kind(context.executor).steps
                      ? fmt::format(" within `salloc`; {} below batches/",
                                    counted(static_cast<long long>(number), "batch script", "batch scripts"))
                      : ""));
}

/// Kept is what has an attempt: it may still wait or run.
long long kept_without_outcome(const Study& study, const std::vector<AttemptState>& states) {
  const Plan& plan = study.selected();
  const std::vector<AttemptState> runs = counting_states(states);
  return std::count_if(runs.begin(), runs.end(), [&](const AttemptState& run) {
    const bool asked = run.key.run.is_repeat() && run.key.run.number <= plan.repeats && plan.find(run.key.config_id);
    return asked && run.standing == Standing::normal && !is_outcome(run.state);
  });
}

int plan_study(const StudyOptions& options, const std::string& format, const std::string& scripts) {
  Study study = load_study(options);
  check_blocks(study.experiment, study.plan);
  const bool begun = std::filesystem::exists(study.database());
  const auto [store, states] = begun ? open_for_reading(study) : IndexView{Store::open(":memory:"), {}};
  PlanDiff diff = compare_with_index(study, states);
  if (study.experiment.repeat_rule) count_next_round(study, look_at_rounds(study, store), diff);
  const std::string changed = text_of(changed_for_run({study.experiment, study.selected(), study.results}, store));
  if (!changed.empty()) study.selected().notes.push_back(changed);
  if (const long long open = kept_without_outcome(study, states); open > 0) {
    study.selected().notes.push_back(fmt::format("{} of those kept {} no outcome yet: `hpcbench run` carries on with them",
                                                 open, open == 1 ? "has" : "have"));
  }
  ProcessToolRunner tools;
  const BlockTimes times = find_block_times(study.experiment, study.selected(), store, tools);
  check_longest_jobs(study.experiment, study.selected(), times);
  for (std::string& line : describe_blocks(study.experiment, study.selected(), times))
    study.selected().notes.push_back(std::move(line));
  print_data(format == "json" ? plan_json(study.experiment, study.selected(), diff)
                              : plan_text(study.experiment, study.selected(), diff));
  if (!scripts.empty()) render_scripts(study, times, scripts);
  return 0;
}

}  // namespace

void add_check(commandline::Command& command) {
  const auto options = std::make_shared<StudyOptions>();
  const auto format = std::make_shared<std::string>("text");
  add_study_options(command, *options, FileArgument::required);
  command.add_option("--format", *format, "text; or for programs: json, github (annotations of a workflow), sarif")
      .one_of({"text", "json", "github", "sarif"});
  command.action([=] { return *format == "text" ? check_file(*options) : check_for_program(*options, *format); });
}

void add_plan(commandline::Command& command) {
  const auto options = std::make_shared<StudyOptions>();
  const auto format = std::make_shared<std::string>("text");
  const auto scripts = std::make_shared<std::string>();
  add_study_options(command, *options, FileArgument::required);
  command.add_option("--repeats", options->repeats, "repeats of each configuration instead of the file's").at_least(1);
  command.add_option("--format", *format, "text or json").one_of({"text", "json"});
  command.add_option("--scripts", *scripts, "also render all job scripts below this folder, without running them")
      .value_name("DIR");
  command.action([=] { return plan_study(*options, *format, *scripts); });
}

}  // namespace hpcbench

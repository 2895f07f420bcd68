#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/conductor.hpp"
#include "cli/import_runs.hpp"
#include "cli/index.hpp"
#include "cli/preflight.hpp"
#include "cli/terminal.hpp"

namespace hpcbench {

namespace {

void init_file(const std::string& file) {
  if (!create_exclusively(file, starter_experiment())) {
    throw InputError(fmt::format("error: {} exists already; name another file", file));
  }
  // As a shell takes it: a name may have blanks, or begin like an option.
  const std::string argument = shell_quote(file.front() == '-' ? "./" + file : file);
  say(fmt::format("wrote {}. Next: hpcbench check {}", file, argument));
}

int check_file(const StudyOptions& options) {
  const Study study = load_study(options);
  check_study(study);
  check_imports(study);
  for (const std::string& note : study.plan.notes) say("note: " + note);
  if (find_simulated(study)) {
    say("note: the executor local is one machine: `hpcbench run` takes the configurations of several nodes with --site (a "
        "cluster) or --simulate-nodes only");
  }
  print_data(fmt::format("{}: ok: {} configurations, {} runs\n", options.file, study.plan.configurations.size(),
                         study.plan.configurations.size() * static_cast<std::size_t>(study.plan.repeats)));
  return 0;
}

/// Renders the first attempt of every run below `folder`, as `run` would, and runs nothing.
void render_scripts(const Study& study, const std::string& folder) {
  RenderContext context = make_render_context(study);
  context.results = std::filesystem::absolute(folder).lexically_normal().string();
  std::size_t count = 0;
  for (const PlannedRun& run : runs_in_order(study.selected())) {
    const RenderedAttempt attempt =
        render_attempt(study.experiment, study.selected(), run.configuration, run.name, 1, "0000000000000000", context);
    make_folders(attempt.folder);
    write_file(attempt.folder + "/run.json", attempt.run_json, Durability::none);
    write_file(attempt.folder + "/job.sh", attempt.job_sh, Durability::none);
    ++count;
  }
  say(fmt::format("rendered {} job scripts below {}; each runs by hand with `bash job.sh`", count, context.results));
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

int plan_study(const StudyOptions& options, const std::string& format, const std::string& scripts) {
  Study study = load_study(options);
  const Store store = std::filesystem::exists(study.database()) ? open_for_reading(study.results_root, study.experiment.name)
                                                                : Store::open(":memory:");
  const PlanDiff diff = compare_with_index(study, store.states(study.experiment.name));
  note_changed_code(study, store, study.selected().notes);
  print_data(format == "json" ? plan_json(study.experiment, study.selected(), diff)
                              : plan_text(study.experiment, study.selected(), diff));
  if (!scripts.empty()) render_scripts(study, scripts);
  return 0;
}

}  // namespace

void add_init(CLI::App& app, int& exit_code) {
  const auto file = std::make_shared<std::string>("experiment.yaml");
  app.add_option("FILE", *file, "the file to write")->capture_default_str();
  app.callback([file, &exit_code] {
    init_file(*file);
    exit_code = 0;
  });
}

void add_check(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<StudyOptions>();
  add_study_options(app, *options, FileArgument::required);
  app.callback([options, &exit_code] { exit_code = check_file(*options); });
}

void add_plan(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<StudyOptions>();
  const auto format = std::make_shared<std::string>("text");
  const auto scripts = std::make_shared<std::string>();
  add_study_options(app, *options, FileArgument::required);
  app.add_option("--repeats", options->repeats, "repeats of each configuration instead of the file's")
      ->check(CLI::PositiveNumber);
  app.add_option("--format", *format, "text or json")->capture_default_str()->check(CLI::IsMember({"text", "json"}));
  app.add_option("--scripts", *scripts, "also render all job scripts below this folder, without running them")
      ->type_name("DIR");
  app.callback([=, &exit_code] { exit_code = plan_study(*options, *format, *scripts); });
}

}  // namespace hpcbench

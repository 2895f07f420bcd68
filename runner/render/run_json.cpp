#include <algorithm>
#include <cstdlib>

#include "base/host.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "plan/formula_names.hpp"
#include "render/resolved_run.hpp"
#include "runfiles/layout.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

/// Parameters, then computed settings, then axes, then seed and task: later ones replace earlier ones of the same name.
Bindings trainer_settings(const ResolvedRun& run) {
  Bindings settings;
  const auto put = [&](const std::string& name, const Value& value) {
    const auto found = std::find_if(settings.begin(), settings.end(), [&](const auto& known) { return known.first == name; });
    if (found == settings.end()) {
      settings.emplace_back(name, value);
    } else {
      found->second = value;
    }
  };
  for (const auto& [name, value] : run.work().parameters) put(name, value);
  for (const auto& [name, value] : run.derived) {
    if (is_trainer_setting(name)) put(name, value);
  }
  for (const auto& [name, value] : run.axes) {
    put(name, value);
  }
  put("seed", Value::from_integer(run.seed));
  if (run.work().trainer && !run.resume_from.empty()) put("resume", Value::from_text(run.resume_from + "/checkpoint"));
  if (run.work().trainer) put("task", Value::from_text(*run.work().trainer));
  return settings;
}

Variables environment_of(const ResolvedRun& run) {
  Variables variables;
  for (const auto& [name, value] : run.work().environment) variables.emplace_back(name, fill_placeholders(value, run.bindings));
  for (const auto& [name, value] : added_variables(run)) variables.emplace_back(name, value);
  return variables;
}

std::vector<std::string> srun_options(const ResolvedRun& run) {
  std::vector<std::string> options;
  for (const std::string& option : run.work().srun) options.push_back(fill_placeholders(option, run.bindings));
  return options;
}

void write_resources(JsonWriter& json, const Resources& resources) {
  json.begin_object().member("time_s", resources.time_s).member("cpus_per_task", resources.cpus_per_task);
  json.member("mem", resources.mem).member("gres", resources.gres).member("constraint", resources.constraint);
  json.member("exclusive", resources.exclusive).end();
}

/// Which part of its run the attempt is, and how it is warned of its time limit.
void write_segment(JsonWriter& json, const ResolvedRun& run) {
  const std::optional<double>& limit_s = run.work().resources.time_s;
  std::optional<double> warn_s;
  if (limit_s) warn_s = run.experiment.continuation->warning_s(*limit_s);
  json.begin_object().member("number", run.segment.before.size() + 1).member("before", run.segment.before);
  json.member("from", run.segment.from).member("warn_s", warn_s).end();
}

}  // namespace

void write_metrics(JsonWriter& json, const std::vector<Metric>& metrics) {
  json.begin_array();
  for (const Metric& metric : metrics) write_metric(json, metric, true);
  json.end();
}

void write_json(JsonWriter& json, const Success& success) {
  std::vector<std::string> require;
  for (const LocatedExpression& each : success.require) require.push_back(each.expression().text());
  write_success(json, success.exit_code, success.pattern, require);
}

std::vector<OutsideGlob> outside_globs(const ResolvedRun& run) {
  std::vector<OutsideGlob> globs;
  for (const Metric& metric : run.work().metrics) {
    if (metric.is_formula() || metric.source == "accounting") continue;  // the latter's file hpcbench writes, when Slurm knows
    const std::string glob = outside_glob(metric.file, run.folder, run.workdir);
    const bool known =
        std::any_of(globs.begin(), globs.end(), [&](const OutsideGlob& other) { return other.file == metric.file; });
    if (!glob.empty() && !known) globs.push_back({metric.file, glob});
  }
  return globs;
}

namespace {

/// Words of a shell's text that may be names of files, without those that output is redirected to.
std::vector<std::string> words_of_shell_text(const std::string& text) {
  constexpr std::string_view kBetween = " \t\r\n'\"`;|&<>()$";
  std::vector<std::string> words = {""};  // no word of it is known to be the program
  std::size_t begin = text.find_first_not_of(kBetween);
  bool is_redirected = false;
  while (begin != std::string::npos) {
    const std::size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    if (!is_redirected) words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBetween, end);
    is_redirected = text.substr(end, begin - end).find('>') != std::string::npos;
  }
  return words;
}

std::vector<std::string> command_words(const ResolvedRun& run) {
  return run.is_shell() ? words_of_shell_text(join(run.argv, " ")) : run.argv;
}

/// The program, if it is found on PATH. nullopt where modules, `setup` or a container may change what PATH finds.
std::optional<ProgramFile> program_of(const ResolvedRun& run) {
  const Work& work = run.work();
  if (work.trainer || !work.modules.empty() || !work.setup.empty() || run.container) return std::nullopt;
  std::vector<std::string> words = command_words(run);
  std::erase_if(words, [](const std::string& word) { return word.empty() || word.find('=') != std::string::npos; });
  const char* const inherited = std::getenv("PATH");
  const auto own = std::find_if(work.environment.begin(), work.environment.end(),
                                [](const auto& variable) { return variable.first == "PATH"; });
  const std::string path_variable = own != work.environment.end() ? fill_placeholders(own->second, run.bindings)
                                                                  : std::string(inherited == nullptr ? "" : inherited);
  std::optional<ProgramFile> program = program_on_path(words, path_variable, run.workdir);
  // The inputs of a preparation identify what it made.
  if (program && program->path.starts_with(run.context.results + "/prepare/")) program.reset();
  return program;
}

std::vector<CodeFile> code_of(const ResolvedRun& run) {
  if (run.work().trainer) return {};  // its code is hpcbench's own: the version says it
  std::vector<std::string> words = command_words(run);
  // What was made for a run is known by what it was made of.
  const std::string made = run.context.results + "/prepare/";
  for (std::string& word : words) {
    if (word.find(made) != std::string::npos) word.clear();
  }
  return code_files(words, run.workdir);
}

/// What the instances that a run needs were made of, each file once.
std::vector<CodeFile> inputs_of(const ResolvedRun& run) {
  std::vector<CodeFile> files;
  std::vector<std::size_t> open = run.configuration.prepared;
  while (!open.empty()) {
    const PreparedInstance& instance = run.plan.prepared[open.back()];
    open.pop_back();
    open.insert(open.end(), instance.needs.begin(), instance.needs.end());
    const auto made = run.context.prepared.find(instance.folder());
    if (made == run.context.prepared.end()) continue;
    for (const CodeFile& file : made->second.inputs) {
      const bool known =
          std::any_of(files.begin(), files.end(), [&](const CodeFile& other) { return other.path == file.path; });
      if (!known) files.push_back(file);
    }
  }
  return files;
}

}  // namespace

std::string formulas_json(const Work& work, const std::vector<Derived>& derive) {
  const FormulaNames names = formula_names(work, derive);
  return names.empty() ? "" : to_json(names);
}

void write_json(JsonWriter& json, const CodeFile& file) {
  json.begin_object().member("path", file.path).member("sha256", file.sha256).end();
}

namespace {

/// Where metrics find files outside of the attempt's folder.
void write_outside(JsonWriter& json, const ResolvedRun& run) {
  json.begin_array();
  for (const OutsideGlob& each : outside_globs(run))
    json.begin_object().member("file", each.file).member("glob", each.glob).end();
  json.end();
}

void write_decks(JsonWriter& json, const ResolvedRun& run) {
  json.begin_array();
  for (const FilledDeck& deck : run.decks)
    json.begin_object().member("path", deck.to).member("from", deck.from).member("sha256", deck.sha256).end();
  json.end();
}

void add_identity(JsonWriter& json, const ResolvedRun& run) {
  json.member("schema", 1);
  json.member("experiment", run.experiment.name);
  json.member("description", run.experiment.description);
  json.member("config_id", run.key.config_id);
  json.member("run", to_string(run.key.run));
  json.member("attempt", run.key.attempt);
  json.member("batch", run.batch);
  json.member("executor", run.context.executor);
}

void add_point(JsonWriter& json, const ResolvedRun& run) {
  json.member("axes", run.axes);
  json.member("parameters", run.work().parameters);
  if (!run.derived.empty()) json.member("derived", run.derived);
  json.member("varied", run.plan.varied);
  json.member("nodes", run.configuration.nodes);
  json.member("gpus_per_node", run.configuration.gpus_per_node);
  json.member("gpus", run.configuration.gpus());
  if (!run.experiment.has_gpus) json.member("has_gpus", false);
  if (run.configuration.ranks_per_node) {
    json.member("ranks_per_node", *run.configuration.ranks_per_node);
    json.member("ranks", run.configuration.ranks());
  }
  json.member("launch", to_string(run.work().launch));
  json.member("processes", process_count(run.configuration));
  json.member("repeat", run.key.run.number);
  json.member("repeats", run.experiment.repeats);  // of a part of a study, too: what all of it asks for
  json.member("seed", run.seed);
}

void add_container(JsonWriter& json, const ResolvedRun& run) {
  const std::optional<Container>& container = run.container;
  json.member("container", container ? std::optional(container->image) : std::nullopt);
  if (container && container->runtime != ContainerRuntime::apptainer) {
    json.member("container_runtime", to_string(container->runtime));
  }
  if (container && !container->args.empty()) json.member("container_args", container->args);
  if (container && !container->mounts.empty()) json.member("container_mounts", container->mounts);
}

/// OMP_NUM_THREADS of a program whose experiment file does not decide it: the calling shell's, else 1. Empty where it does.
std::string threads_of_shell(const ResolvedRun& run) {
  const auto names_it = [](const std::string& text) { return text.find(kThreadsVariable) != std::string::npos; };
  const bool is_decided = run.work().trainer || run.work().sets_threads() ||
                          std::any_of(run.argv.begin(), run.argv.end(), names_it) ||
                          std::any_of(run.setup.begin(), run.setup.end(), names_it);
  return is_decided ? "" : run.context.omp_num_threads.value_or("1");
}

void add_work(JsonWriter& json, const ResolvedRun& run) {
  const Work& work = run.work();
  json.member("task", work.trainer);
  json.member("settings", trainer_settings(run));
  json.member("argv", run.argv);
  json.member("shell", run.is_shell());
  json.member("workdir", run.workdir);
  json.member("run_dir", kOutputFolder);
  json.member("setup", run.setup);
  json.member("modules", work.modules);
  if (!work.environment.empty() || !added_variables(run).empty()) json.member("environment", environment_of(run));
  if (const std::string threads = threads_of_shell(run); !threads.empty()) json.member("omp_num_threads", threads);
  if (!work.srun.empty()) json.member("srun", srun_options(run));
  add_container(json, run);
  write_resources(json.key("resources"), work.resources);
  if (const RunEstimate* const estimate = run.context.block_times.estimate_of(run.configuration.id, run.key.attempt)) {
    json.member("estimated_s", estimate->seconds);
  }
  if (run.experiment.packs_runs()) {
    json.member("side_by_side", run.experiment.side_by_side);
    if (run.experiment.shares_numa) json.member("numa", "shared");
  }
  if (run.experiment.continuation) write_segment(json.key("segment"), run);
  if (work.partition) json.member("partition", *work.partition);
  if (run.experiment.merged_output) json.member("output", "merged");
  if (run.experiment.monitor_s.value_or(0) > 0) json.member("monitor_s", run.experiment.monitor_s);
  write_metrics(json.key("metrics"), work.metrics);
  write_outside(json.key("outside"), run);
  if (!run.decks.empty()) write_decks(json.key("files"), run);
  json.member("success", work.success);
  if (const std::string formulas = formulas_json(work, run.experiment.derive); !formulas.empty())
    json.member("formulas", JsonText{formulas});
}

void add_provenance(JsonWriter& json, const ResolvedRun& run) {
  const Provenance& provenance = run.context.provenance;
  json.member("call_folder", run.context.call_folder);
  json.member("intended_unix_s", json_time(run.context.intended_unix_s.value_or(unix_time_s())));
  json.member("hpcbench", provenance.hpcbench_version);
  json.member("commit", provenance.commit);
  json.member("dirty", provenance.dirty);
  json.member("code", code_of(run));
  if (const std::optional<ProgramFile> program = program_of(run)) {
    json.key("program").begin_object().member("name", program->name).member("path", program->path);
    json.member("sha256", program->sha256).end();
  }
  if (!run.configuration.makes && !run.configuration.prepared.empty()) json.member("inputs", inputs_of(run));
}

/// Which instance the run makes, and of what.
void add_preparation(JsonWriter& json, const ResolvedRun& run) {
  const PreparedInstance& instance = run.plan.prepared[*run.configuration.makes];
  json.member("prepare", instance.name).member("instance", instance.id);
  std::vector<std::string> needs;
  for (const auto& [name, folder] : preparation_folders(run.plan, instance.needs, run.context)) needs.push_back(folder.text());
  json.member("needs", needs);
  json.member("inputs", input_files(run.experiment.preparations[instance.definition], run.context.call_folder));
}

}  // namespace

std::string imported_run_json(const Experiment& experiment, const Plan& plan, const Configuration& configuration,
                              const AttemptKey& key, const std::string& executor, const std::vector<Metric>& metrics) {
  const Work& work = *configuration.work;
  JsonWriter json;
  json.begin_object(JsonLayout::lines);
  json.member("schema", 1);
  json.member("experiment", experiment.name);
  json.member("config_id", key.config_id);
  json.member("run", to_string(key.run));
  json.member("attempt", key.attempt);
  json.member("executor", executor);
  json.member("axes", plan.bindings(configuration));
  json.member("parameters", work.parameters);
  json.member("nodes", configuration.nodes);
  json.member("gpus_per_node", configuration.gpus_per_node);
  json.member("gpus", configuration.gpus());
  if (!experiment.has_gpus) json.member("has_gpus", false);
  write_metrics(json.key("metrics"), metrics);
  json.member("success", work.success);
  if (const std::string formulas = formulas_json(work, experiment.derive); !formulas.empty())
    json.member("formulas", JsonText{formulas});
  return json.end().take() + "\n";
}

std::string run_json_text(const ResolvedRun& run) {
  JsonWriter json;
  json.begin_object(JsonLayout::lines);
  add_identity(json, run);
  add_point(json, run);
  add_work(json, run);
  add_provenance(json, run);
  if (run.configuration.makes) add_preparation(json, run);
  return json.end().take() + "\n";
}

}  // namespace hpcbench

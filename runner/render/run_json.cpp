#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "base/host.hpp"
#include "base/text.hpp"
#include "plan/formula_names.hpp"
#include "plan/json_text.hpp"
#include "render/resolved_run.hpp"
#include "runfiles/layout.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

/// The fields of run.json in order, one a line: people read it, too.
class RunFields {
 public:
  void add(std::string_view key, const std::string& json) {
    text_ += fmt::format("{}  \"{}\": {}", text_.empty() ? "{\n" : ",\n", key, json);
  }
  void add_text(std::string_view key, const std::string& text) { add(key, json_quote(text)); }
  void add_number(std::string_view key, long long number) { add(key, std::to_string(number)); }
  std::string finish() const { return text_ + "\n}\n"; }

 private:
  std::string text_;
};

std::string boolean_json(bool flag) { return flag ? "true" : "false"; }

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

std::string environment_json(const ResolvedRun& run) {
  std::string out;
  for (const auto& [name, value] : run.work().environment) {
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", json_quote(name), json_quote(fill_placeholders(value, run.bindings)));
  }
  for (const auto& [name, value] : added_variables(run))
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", json_quote(name), json_quote(value));
  return '{' + out + '}';
}

std::string srun_json(const ResolvedRun& run) {
  std::vector<std::string> options;
  for (const std::string& option : run.work().srun) options.push_back(fill_placeholders(option, run.bindings));
  return json_list(options);
}

std::string resources_json(const Resources& resources) {
  return fmt::format(R"({{"time_s":{},"cpus_per_task":{},"mem":{},"gres":{},"constraint":{},"exclusive":{}}})",
                     json_number(resources.time_s), resources.cpus_per_task, json_or_null(resources.mem),
                     json_or_null(resources.gres), json_or_null(resources.constraint), boolean_json(resources.exclusive));
}

/// Which part of its run the attempt is, and how it is warned of its time limit.
std::string segment_json(const ResolvedRun& run) {
  const std::optional<double>& limit_s = run.work().resources.time_s;
  std::optional<double> warn_s;
  if (limit_s) warn_s = run.experiment.continuation->warning_s(*limit_s);
  return fmt::format(R"({{"number":{},"before":[{}],"from":{},"warn_s":{}}})", run.segment.before.size() + 1,
                     fmt::join(run.segment.before, ","), run.segment.from, json_number(warn_s));
}

}  // namespace

std::string metrics_json(const std::vector<Metric>& metrics) {
  std::string out = "[";
  for (const Metric& metric : metrics) {
    out += fmt::format(R"({}{{"name":{},"file":{},"{}":{},"unit":{},"series":{}{}}})", out.size() > 1 ? "," : "",
                       json_quote(metric.name), json_quote(metric.file), metric.source, json_quote(metric.selector),
                       json_quote(metric.unit), json_or_null(metric.series), optional_metric_json(metric));
  }
  return out + ']';
}

std::string formulas_json(const Work& work, const std::vector<Derived>& derive) {
  const FormulaNames names = formula_names(work, derive);
  if (names.empty()) return "";
  std::string derived;
  for (const auto& [name, text] : names.derived)
    derived += fmt::format("{}{}:{}", derived.empty() ? "" : ",", json_quote(name), json_quote(text));
  return fmt::format(R"({{"parameters":{},"derived":{{{}}}}})", json_object(names.parameters), derived);
}

std::string success_json(const Success& success) {
  std::string require;
  for (const LocatedExpression& each : success.require)
    require += (require.empty() ? "" : ",") + json_quote(each.expression().text());
  if (!require.empty()) require = ",\"require\":[" + require + ']';
  return fmt::format(R"({{"exit_code":{},"pattern":{}{}}})", success.exit_code,
                     success.pattern ? json_quote(*success.pattern) : "null", require);
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

std::string code_json(const ResolvedRun& run) {
  if (run.work().trainer) return "[]";  // its code is hpcbench's own: the version says it
  std::vector<std::string> words = command_words(run);
  // What was made for a run is known by what it was made of.
  const std::string made = run.context.results + "/prepare/";
  for (std::string& word : words) {
    if (word.find(made) != std::string::npos) word.clear();
  }
  return code_files_json(code_files(words, run.workdir));
}

/// What the instances that a run needs were made of, each file once.
std::string inputs_json(const ResolvedRun& run) {
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
  return code_files_json(files);
}

}  // namespace

std::string code_files_json(const std::vector<CodeFile>& files) {
  std::string out = "[";
  for (const CodeFile& file : files) {
    out += fmt::format(R"({}{{"path":{},"sha256":"{}"}})", out.size() > 1 ? "," : "", json_quote(file.path), file.sha256);
  }
  return out + ']';
}

namespace {

/// Where metrics find files outside of the attempt's folder.
std::string outside_json(const ResolvedRun& run) {
  std::string out;
  for (const OutsideGlob& each : outside_globs(run))
    out += fmt::format(R"({}{{"file":{},"glob":{}}})", out.empty() ? "" : ",", json_quote(each.file), json_quote(each.glob));
  return '[' + out + ']';
}

std::string decks_json(const ResolvedRun& run) {
  std::string out;
  for (const FilledDeck& deck : run.decks) {
    out += fmt::format(R"({}{{"path":{},"from":{},"sha256":"{}"}})", out.empty() ? "" : ",", json_quote(deck.to),
                       json_quote(deck.from), deck.sha256);
  }
  return '[' + out + ']';
}

void add_identity(RunFields& fields, const ResolvedRun& run) {
  fields.add_number("schema", 1);
  fields.add_text("experiment", run.experiment.name);
  fields.add_text("description", run.experiment.description);
  fields.add_text("config_id", run.key.config_id);
  fields.add_text("run", to_string(run.key.run));
  fields.add_number("attempt", run.key.attempt);
  fields.add_text("batch", run.batch);
  fields.add_text("executor", run.context.executor);
}

void add_point(RunFields& fields, const ResolvedRun& run) {
  fields.add("axes", json_object(run.axes));
  fields.add("parameters", json_object(run.work().parameters));
  if (!run.derived.empty()) fields.add("derived", json_object(run.derived));
  fields.add("varied", json_list(run.plan.varied));
  fields.add_number("nodes", run.configuration.nodes);
  fields.add_number("gpus_per_node", run.configuration.gpus_per_node);
  fields.add_number("gpus", run.configuration.gpus());
  if (!run.experiment.has_gpus) fields.add("has_gpus", "false");
  if (run.configuration.ranks_per_node) {
    fields.add_number("ranks_per_node", *run.configuration.ranks_per_node);
    fields.add_number("ranks", run.configuration.ranks());
  }
  fields.add_text("launch", to_string(run.work().launch));
  fields.add_number("processes", process_count(run.configuration));
  fields.add_number("repeat", run.key.run.number);
  fields.add_number("repeats", run.experiment.repeats);  // of a part of a study, too: what all of it asks for
  fields.add_number("seed", run.seed);
}

void add_container(RunFields& fields, const ResolvedRun& run) {
  const std::optional<Container>& container = run.container;
  fields.add("container", container ? json_quote(container->image) : "null");
  if (container && container->runtime != ContainerRuntime::apptainer) {
    fields.add_text("container_runtime", to_string(container->runtime));
  }
  if (container && !container->args.empty()) fields.add("container_args", json_list(container->args));
  if (container && !container->mounts.empty()) fields.add("container_mounts", json_list(container->mounts));
  if (run.runs_script()) fields.add("script", "true");
}

void add_work(RunFields& fields, const ResolvedRun& run) {
  const Work& work = run.work();
  fields.add("task", json_or_null(work.trainer));
  fields.add("settings", json_object(trainer_settings(run)));
  fields.add("argv", json_list(run.argv));
  fields.add("shell", boolean_json(run.is_shell()));
  fields.add_text("workdir", run.workdir);
  fields.add_text("run_dir", kOutputFolder);
  fields.add("setup", json_list(run.setup));
  fields.add("modules", json_list(work.modules));
  if (!work.environment.empty() || !added_variables(run).empty()) fields.add("environment", environment_json(run));
  if (!work.srun.empty()) fields.add("srun", srun_json(run));
  add_container(fields, run);
  fields.add("resources", resources_json(work.resources));
  if (const RunEstimate* const estimate = run.context.block_times.estimate_of(run.configuration.id, run.key.attempt)) {
    fields.add("estimated_s", json_number(estimate->seconds));
  }
  if (run.experiment.packs_runs()) {
    fields.add_number("side_by_side", run.experiment.side_by_side);
    if (run.experiment.shares_numa) fields.add_text("numa", "shared");
  }
  if (run.experiment.continuation) fields.add("segment", segment_json(run));
  if (work.partition) fields.add_text("partition", *work.partition);
  if (run.experiment.merged_output) fields.add_text("output", "merged");
  if (run.experiment.monitor_s.value_or(0) > 0) fields.add("monitor_s", json_number(run.experiment.monitor_s));
  fields.add("metrics", metrics_json(work.metrics));
  fields.add("outside", outside_json(run));
  if (!run.decks.empty()) fields.add("files", decks_json(run));
  fields.add("success", success_json(work.success));
  const std::string formulas = formulas_json(work, run.experiment.derive);
  if (!formulas.empty()) fields.add("formulas", formulas);
}

void add_provenance(RunFields& fields, const ResolvedRun& run) {
  const Provenance& provenance = run.context.provenance;
  fields.add_text("call_folder", run.context.call_folder);
  fields.add("intended_unix_s", fmt::format("{:.3f}", run.context.intended_unix_s.value_or(unix_time_s())));
  fields.add_text("hpcbench", provenance.hpcbench_version);
  fields.add("commit", json_or_null(provenance.commit));
  fields.add("dirty", provenance.dirty ? boolean_json(*provenance.dirty) : "null");
  fields.add("code", code_json(run));
  if (const std::optional<ProgramFile> program = program_of(run)) {
    fields.add("program", fmt::format(R"({{"name":{},"path":{},"sha256":"{}"}})", json_quote(program->name),
                                      json_quote(program->path), program->sha256));
  }
  if (!run.configuration.prepared.empty()) fields.add("inputs", inputs_json(run));
}

}  // namespace

std::string imported_run_json(const Experiment& experiment, const Plan& plan, const Configuration& configuration,
                              const AttemptKey& key, const std::string& executor, const std::vector<Metric>& metrics) {
  const Work& work = *configuration.work;
  RunFields fields;
  fields.add_number("schema", 1);
  fields.add_text("experiment", experiment.name);
  fields.add_text("config_id", key.config_id);
  fields.add_text("run", to_string(key.run));
  fields.add_number("attempt", key.attempt);
  fields.add_text("executor", executor);
  fields.add("axes", json_object(plan.bindings(configuration)));
  fields.add("parameters", json_object(work.parameters));
  fields.add_number("nodes", configuration.nodes);
  fields.add_number("gpus_per_node", configuration.gpus_per_node);
  fields.add_number("gpus", configuration.gpus());
  if (!experiment.has_gpus) fields.add("has_gpus", "false");
  fields.add("metrics", metrics_json(metrics));
  fields.add("success", success_json(work.success));
  const std::string formulas = formulas_json(work, experiment.derive);
  if (!formulas.empty()) fields.add("formulas", formulas);
  return fields.finish();
}

std::string run_json_text(const ResolvedRun& run) {
  RunFields fields;
  add_identity(fields, run);
  add_point(fields, run);
  add_work(fields, run);
  add_provenance(fields, run);
  return fields.finish();
}

}  // namespace hpcbench

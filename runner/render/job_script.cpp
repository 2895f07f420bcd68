#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/module_command.hpp"
#include "base/text.hpp"
#include "render/job_template.hpp"
#include "render/resolved_run.hpp"

namespace hpcbench {

namespace {

/// Text for a comment: one line, whatever it holds.
std::string comment_text(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return text;
}

/// One word of the script that stands for `text` with its placeholders filled in. `{{run_dir}}` stays open until the script
/// runs, as a run by hand has another folder: it becomes the script's `variable`. `value_text` says how other values stand.
template <typename ValueText>
std::string script_word(const std::string& text, const Bindings& bindings, std::string_view variable, ValueText value_text) {
  std::string word;
  std::string closed;
  for (const TextPiece& piece : split_placeholders(text, bindings)) {
    if (piece.is_name && piece.text == "run_dir") {
      if (!closed.empty()) word += shell_quote(closed);
      word += fmt::format("\"${}\"", variable);
      closed.clear();
    } else {
      closed += piece.is_name ? value_text(placeholder_value(piece.text, bindings)) : piece.text;
    }
  }
  return word.empty() || !closed.empty() ? word + shell_quote(closed) : word;
}

std::string argument_word(const std::string& argument, const Bindings& bindings) {
  return script_word(argument, bindings, "run_dir", [](const Value& value) { return value.text(); });
}

void add_argument_words(const std::string& argument, const Bindings& bindings, std::vector<std::string>& words) {
  const auto list = spread_argument(argument, bindings);
  if (!list) return words.push_back(argument_word(argument, bindings));
  for (const std::string& each : *list) words.push_back(shell_quote(each));
}

/// For the text of a shell: values are words in it, so they are quoted once more, as `$run_dir_word` is.
std::string shell_text_word(const std::string& command, const Bindings& bindings) {
  return script_word(command, bindings, "run_dir_word", shell_words_of);
}

std::vector<std::string> shell_words(const ResolvedRun& run) {
  return {"bash", "-c", shell_text_word(join(run.work().command, " "), run.bindings), "bash"};
}

std::vector<std::string> argument_words(const ResolvedRun& run) {
  if (run.is_shell()) return shell_words(run);
  std::vector<std::string> words;
  if (run.work().trainer) {
    for (const std::string& argument : run.argv) words.push_back(shell_quote(argument));
  } else {
    for (const std::string& argument : run.work().command) add_argument_words(argument, run.bindings, words);
  }
  return words;
}

int local_processes_per_node(const ResolvedRun& run) {
  const int processes = process_count(run.configuration);
  return processes % run.configuration.nodes == 0 ? processes / run.configuration.nodes : processes;
}

/// `NAME=value` each, as words of the shell.
std::vector<std::string> environment_words(const ResolvedRun& run) {
  std::vector<std::string> words;
  for (const auto& [name, value] : run.work().environment) words.push_back(name + '=' + argument_word(value, run.bindings));
  for (const auto& [name, value] : added_variables(run)) words.push_back(name + '=' + shell_quote(value));
  return words;
}

/// What a step of a job of many steps is asked for by itself: no more than the job has, or it would wait for it until the job's
/// end.
std::vector<std::string> step_words(const Experiment& experiment, const Configuration& configuration) {
  const Resources& resources = configuration.work->resources;
  const Site& site = experiment.site;
  std::vector<std::string> words = {"--immediate=60", shell_quote("--mem=" + resources.mem.value_or("0"))};
  if (experiment.packs_runs()) words.emplace_back("--exact");  // or the step has all of the job's cores
  if (experiment.mixes_shapes()) words.emplace_back("${HPCBENCH_NODELIST:+--nodelist=\"$HPCBENCH_NODELIST\"}");
  if (resources.gres) {
    words.push_back(shell_quote("--gres=" + *resources.gres));
  } else if (configuration.gpus_per_node > 0 && site.gres_type != "none") {
    words.push_back(site.gres_type ? shell_quote(fmt::format("--gres=gpu:{}:{}", *site.gres_type, configuration.gpus_per_node))
                                   : fmt::format("--gpus-per-node={}", configuration.gpus_per_node));
  }
  return words;
}

std::vector<std::string> srun_words(const ResolvedRun& run, std::vector<std::string> words) {
  std::vector<std::string> said;
  for (const std::string& option : run.work().srun) said.push_back(argument_word(option, run.bindings));
  words.insert(words.begin(), said.begin(), said.end());
  if (run.experiment.in_blocks()) {
    const std::vector<std::string> step = step_words(run.experiment, run.configuration);
    words.insert(words.begin(), step.begin(), step.end());
  }
  return words;
}

/// Pairs: as a metric names its files, and where they are outside.
std::vector<std::string> outside_words(const ResolvedRun& run) {
  std::vector<std::string> words;
  for (const OutsideGlob& each : outside_globs(run)) words.insert(words.end(), {each.file, each.glob});
  return words;
}

/// Names of input decks: a run by hand takes copies of them.
std::vector<std::string> deck_names(const ResolvedRun& run) {
  std::vector<std::string> names;
  for (const FilledDeck& deck : run.decks) names.push_back(deck.to);
  return names;
}

std::vector<std::pair<std::string, bool>> job_flags(const ResolvedRun& run) {
  const bool local = !executor_kind(run.context.executor).steps;
  const bool once = !local && run.work().launch == Launch::once;
  const bool mpirun = run.by_mpirun() || (!local && !once && run.experiment.launcher == "mpirun");
  return {{"here", local},
          {"local", local && !mpirun},  // the script itself starts the ranks
          {"shell", run.is_shell()},
          {"finds_module", calls_module(run.work().modules, run.work().setup)},
          {"once", once},
          {"mpirun", mpirun},
          {"mpirun_here", mpirun && local},
          {"mpirun_threads", mpirun && !local && slurm_shape(run.configuration).cpus_per_task > 1},  // else all on one core
          {"srun", !local && !once && !mpirun},
          {"monitored", run.experiment.monitor_s.value_or(0) > 0}};
}

TemplateValues job_values(const ResolvedRun& run) {
  const Configuration& configuration = run.configuration;
  const Resources& resources = run.work().resources;
  const std::vector<std::string> none;
  const ContainerWords container = container_words(run);
  const auto whole_seconds = static_cast<long long>(std::ceil(resources.time_s.value_or(0)));
  TemplateValues values;
  values.texts = {
      {"title", comment_text(run.experiment.name + ' ' + to_string(run.key))},
      {"point", comment_text(describe(run.axes))},
      {"version", comment_text(run.context.provenance.hpcbench_version)},
      {"experiment", run.experiment.name},
      {"config_id", run.key.config_id},
      {"run", to_string(run.key.run)},
      {"attempt", std::to_string(run.key.attempt)},
      {"batch", run.batch},
      {"attempt_dir", run.folder},
      {"call_folder", run.context.call_folder},
      {"hpcbench", run.context.hpcbench},
      {"nodes", std::to_string(configuration.nodes)},
      {"gpus_per_node", std::to_string(configuration.gpus_per_node)},
      {"gpus", std::to_string(configuration.gpus())},
      {"ranks_per_node", std::to_string(configuration.node_ranks())},
      {"ranks", std::to_string(configuration.ranks())},
      {"launch", to_string(run.work().launch)},
      {"processes", std::to_string(process_count(configuration))},
      {"processes_per_node", std::to_string(local_processes_per_node(run))},
      {"cpus_per_task", std::to_string(resources.cpus_per_task)},
      {"cpus_per_process", std::to_string(slurm_shape(configuration).cpus_per_task)},
      {"monitor_s", fmt::format("{}", run.experiment.monitor_s.value_or(0))},
      {"time_limit_s", std::to_string(whole_seconds)},
      {"find_module", std::string(kFindModule)},
      {"good_exit_code", std::to_string(run.work().success.exit_code)},
  };
  values.flags = job_flags(run);
  values.lists = {
      {"workdir", run.workdir_is_attempt() ? none : std::vector<std::string>{run.workdir}},
      {"argv", argument_words(run)},
      {"container", container.prefix.empty() ? none : std::vector<std::string>{run.container->image}},
      {"modules", run.work().modules},
      {"setup", run.setup},
      {"decks", deck_names(run)},
      {"outside", outside_words(run)},
      {"environment", environment_words(run)},
      {"srun_options", srun_words(run, container.srun_options)},
      {"container_words", container.prefix},
      {"container_gpus", container.gpu_option ? std::vector<std::string>{*container.gpu_option} : none},
  };
  return values;
}

/// A template that claims by itself, as they did once, would run the program where nobody looks.
void require_ranks(const RenderContext& context) {
  const std::string& text = context.job_template;
  for (std::size_t at = text.find("hpcbench}}"); at != std::string::npos; at = text.find("hpcbench}}", at + 1)) {
    if (trim(std::string_view(text).substr(text.find_first_not_of('}', at + 8))).starts_with("rank")) return;
  }
  throw InputError(
      fmt::format("error: {}: a job script starts its processes by `{{{{hpcbench}}}} rank -- ...`, and leaves the claim to "
                  "hpcbench; this one "
                  "does not. Begin again from templates/job.sh.mustache",
                  context.job_template_name));
}

/// Without `-n` one process alone would be started here, and the run would wait for the reports of the others.
void require_local_ranks(const RenderContext& context) {
  const std::string& text = context.job_template;
  const bool says_how_many = text.find("{{#local}}") != std::string::npos || text.find("rank -n") != std::string::npos;
  if (executor_kind(context.executor).steps || says_how_many) return;
  throw InputError(
      fmt::format("error: {}: this template starts ranks by srun alone: it has no {{{{#local}}}}, and the executor is local\n"
                  "  = take the line with `rank` from templates/job.sh.mustache, or remove `template` from the site",
                  context.job_template_name));
}

/// A template of an earlier version gives the program the attempt's own folder.
void require_run_dir(const RenderContext& context) {
  const std::string& text = context.job_template;
  if (text.find("run_dir") == std::string::npos || text.find("HPCBENCH_RUN_DIR") != std::string::npos) return;
  throw InputError(
      fmt::format("error: {}: this template sets run_dir to the folder of run.json, which is hpcbench's own\n"
                  "  = take the lines with `run_dir` from templates/job.sh.mustache, or remove `template` from the site",
                  context.job_template_name));
}

/// Compiled once for all attempts of a call.
ShellTemplate& compiled_template(const RenderContext& context) {
  static std::unique_ptr<ShellTemplate> last;
  if (!last || last->text() != context.job_template) {
    require_ranks(context);
    require_local_ranks(context);
    require_run_dir(context);
    last = std::make_unique<ShellTemplate>(context.job_template, context.job_template_name);
  }
  return *last;
}

}  // namespace

std::string job_script_text(const ResolvedRun& run) { return compiled_template(run.context).render(job_values(run)); }

}  // namespace hpcbench

#include "render/attempt.hpp"

#include <filesystem>
#include <optional>

#include "base/text.hpp"
#include "render/resolved_run.hpp"
#include "runfiles/layout.hpp"

namespace hpcbench {

namespace {

/// Axes, parameters, derived values and the names that are always defined; the first of a name is the one that counts.
Bindings placeholder_bindings(const ResolvedRun& run) {
  Bindings bindings = run.axes;
  bindings.insert(bindings.end(), run.work().parameters.begin(), run.work().parameters.end());
  bindings.insert(bindings.end(), run.derived.begin(), run.derived.end());
  bindings.emplace_back("gpus", Value::from_integer(run.configuration.gpus()));
  if (run.configuration.ranks_per_node) bindings.emplace_back("ranks", Value::from_integer(run.configuration.ranks()));
  bindings.emplace_back("run_dir", Value::from_text(output_folder(run.folder)));
  bindings.emplace_back("resume_from", Value::from_text(run.resume_from));
  bindings.emplace_back("repeat", Value::from_integer(run.key.run.number));
  bindings.emplace_back("seed", Value::from_integer(run.seed));
  const Bindings folders = preparation_folders(run.plan, run.configuration.prepared, run.context);
  bindings.insert(bindings.end(), folders.begin(), folders.end());
  if (run.work().trainer) bindings.emplace_back("task", Value::from_text(*run.work().trainer));
  return bindings;
}

std::vector<std::string> filled_command(const ResolvedRun& run) {
  if (run.work().trainer) return {run.context.trainer, "run"};
  if (!run.is_shell()) return fill_arguments(run.work().command, run.bindings);
  std::vector<std::string> argv;
  for (const std::string& text : run.work().command) argv.push_back(fill_shell_text(text, run.bindings));
  return argv;
}

Container filled_container(const ResolvedRun& run) {
  Container container = *run.work().container;
  container.image = fill_placeholders(container.image, run.bindings);
  for (std::vector<std::string>* const texts : {&container.args, &container.mounts}) {
    for (std::string& text : *texts) text = fill_placeholders(text, run.bindings);
  }
  if (!run.resume_from.empty()) container.mounts.push_back(run.resume_from + ":" + run.resume_from + ":ro");
  return container;
}

}  // namespace

std::string absolute_workdir(const Experiment& experiment, const Bindings& bindings, const std::string& call_folder,
                             const std::string& attempt_folder) {
  if (!experiment.workdir) return call_folder;
  if (experiment.workdir == "attempt") return output_folder(attempt_folder);
  const std::filesystem::path path = std::filesystem::path(call_folder) / fill_placeholders(*experiment.workdir, bindings);
  std::string text = path.lexically_normal().string();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

std::vector<std::pair<std::string, std::string>> added_variables(const ResolvedRun& run) {
  std::vector<std::pair<std::string, std::string>> added;
  if (run.experiment.continuation) {
    added = {{"HPCBENCH_SEGMENT", std::to_string(run.segment.before.size() + 1)}, {"HPCBENCH_RESUME_FROM", run.resume_from}};
  }
  if (run.context.omp_num_threads && !run.work().sets_threads())
    added.emplace_back(kThreadsVariable, *run.context.omp_num_threads);
  return added;
}

ResolvedRun resolve_run(const Experiment& experiment, const Plan& plan, std::size_t configuration, RunName run, int attempt,
                        const std::string& batch, const RenderContext& context, const Segment& segment) {
  const Configuration& point = plan.configurations.at(configuration);
  ResolvedRun resolved{.experiment = experiment,
                       .plan = plan,
                       .configuration = point,
                       .context = context,
                       .key = {point.id, run, attempt},
                       .batch = batch,
                       .folder = {},
                       .workdir = {},
                       .axes = plan.bindings(point),
                       .derived = plan.derived_bindings(point),
                       .bindings = {},
                       .argv = {},
                       .setup = {},
                       .container = {},
                       .decks = {},
                       .seed = run_seed(experiment, run),
                       .segment = segment,
                       .resume_from = {}};
  resolved.folder = context.results + '/' + to_string(resolved.key);
  if (segment.from > 0)
    resolved.resume_from = run_dir_of(context.results + '/' + to_string(AttemptKey{point.id, run, segment.from}));
  resolved.bindings = placeholder_bindings(resolved);
  resolved.workdir = absolute_workdir(experiment, resolved.bindings, context.call_folder, resolved.folder);
  resolved.argv = filled_command(resolved);
  for (const std::string& line : resolved.work().setup) resolved.setup.push_back(fill_shell_text(line, resolved.bindings));
  if (resolved.work().container) resolved.container = filled_container(resolved);
  for (const InputDeck& deck : resolved.work().files) {
    FilledDeck filled{deck.from, deck.to, {}, {}};
    const std::string path = (std::filesystem::path(context.call_folder) / deck.from).string();
    filled.content = filled_deck(path, resolved.bindings, filled.sha256);
    resolved.decks.push_back(std::move(filled));
  }
  return resolved;
}

RenderedAttempt render_attempt(const Experiment& experiment, const Plan& plan, std::size_t configuration, RunName run,
                               int attempt, const std::string& batch, const RenderContext& context, const Segment& segment) {
  const ResolvedRun resolved = resolve_run(experiment, plan, configuration, run, attempt, batch, context, segment);
  return {resolved.key, resolved.folder, run_json_text(resolved), job_script_text(resolved), resolved.decks};
}

}  // namespace hpcbench

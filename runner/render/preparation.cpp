#include <fmt/format.h>

#include <memory>

#include "base/executor_kind.hpp"
#include "base/host.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "plan/prepared.hpp"
#include "render/attempt.hpp"
#include "runfiles/layout.hpp"

namespace hpcbench {

std::string preparation_folder(const std::string& results, const PreparedInstance& instance, int attempt) {
  return fmt::format("{}/prepare/{}/a{}", results, instance.folder(), attempt);
}

Bindings preparation_folders(const Plan& plan, const std::vector<std::size_t>& instances, const RenderContext& context) {
  Bindings folders;
  for (const std::size_t i : instances) {
    const PreparedInstance& instance = plan.prepared[i];
    const auto made = context.prepared.find(instance.folder());
    folders.emplace_back(
        instance.name + ".dir",
        Value::from_text(made != context.prepared.end() ? made->second.folder
                                                        : output_folder(preparation_folder(context.results, instance, 1))));
  }
  return folders;
}

bool has_own_job(const Experiment& experiment, const Plan& plan, std::size_t instance) {
  return executor_kind(experiment.executor).preparation_jobs &&
         experiment.preparations[plan.prepared[instance].definition].on_job;
}

/// As for a run of one rank that uses no GPU. Nothing warns it of its time limit: what makes programs would only die of that.
std::string preparation_script(const Experiment& experiment, const Plan& plan, std::size_t instance, const std::string& batch,
                               const RenderContext& context) {
  const PreparedInstance& wanted = plan.prepared[instance];
  const Preparation& definition = experiment.preparations[wanted.definition];
  const auto work = std::make_shared<Work>();
  work->resources = definition.resources;
  if (definition.partition) work->partition = fill_placeholders(*definition.partition, wanted.bindings);
  Configuration job;
  job.gpus_per_node = 0;
  job.ranks_per_node = 1;
  job.work = work;
  std::vector<std::string> options = slurm_options(experiment, job);
  std::erase_if(options, [](const std::string& option) { return option.starts_with("--signal="); });
  return render_array_script(experiment, options, batch, 1, context);
}

std::string preparation_json(const Experiment& experiment, const Plan& plan, std::size_t instance, int attempt,
                             const std::vector<CodeFile>& inputs, const std::string& batch, const RenderContext& context) {
  const PreparedInstance& wanted = plan.prepared[instance];
  const Preparation& definition = experiment.preparations[wanted.definition];
  Bindings bindings = wanted.bindings;
  const Bindings folders = preparation_folders(plan, wanted.needs, context);
  bindings.insert(bindings.end(), folders.begin(), folders.end());
  bindings.emplace_back(definition.dir(),
                        Value::from_text(output_folder(preparation_folder(context.results, wanted, attempt))));
  const FilledPreparation filled = fill_preparation(definition, bindings);
  std::vector<std::string> needs;
  for (const auto& [name, folder] : folders) needs.push_back(folder.text());
  JsonWriter json;
  json.begin_object(JsonLayout::lines).member("schema", 1).member("experiment", experiment.name);
  json.member("prepare", wanted.name).member("instance", wanted.id).member("attempt", attempt);
  json.member("executor", batch.empty() ? std::string("local") : experiment.executor)
      .member("batch", text_or_null(batch))
      .member("processes", 1);
  json.member("argv", filled.command).member("shell", false).member("workdir", context.call_folder);
  json.member("run_dir", kOutputFolder).member("setup", filled.setup).member("modules", filled.modules);
  json.member("environment", filled.environment).member("call_folder", context.call_folder);
  json.member("intended_unix_s", json_time(unix_time_s())).member("hpcbench", context.provenance.hpcbench_version);
  json.member("needs", needs).key("resources").begin_object(JsonLayout::spaced);
  json.member("cpus_per_task", definition.resources.cpus_per_task).end();
  return json.member("inputs", inputs).end().take() + "\n";
}

}  // namespace hpcbench

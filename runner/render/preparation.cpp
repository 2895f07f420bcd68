#include <fmt/format.h>

#include <memory>

#include "base/host.hpp"
#include "base/text.hpp"
#include "plan/json_text.hpp"
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
  return experiment.executor == "slurm" && experiment.preparations[plan.prepared[instance].definition].on_job;
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
  std::string environment;
  for (const auto& [name, value] : filled.environment)
    environment += fmt::format("{}{}:{}", environment.empty() ? "" : ",", json_quote(name), json_quote(value));
  std::vector<std::string> needs;
  for (const auto& [name, folder] : folders) needs.push_back(folder.text());
  return fmt::format(
      "{{\n  \"schema\": 1,\n  \"experiment\": {},\n  \"prepare\": {},\n  \"instance\": \"{}\",\n  \"attempt\": {},\n"
      "  \"executor\": {},\n  \"batch\": {},\n  \"processes\": 1,\n  \"argv\": {},\n  \"shell\": false,\n  \"workdir\": {},\n"
      "  \"run_dir\": {},\n  \"setup\": {},\n  \"modules\": {},\n  \"environment\": {{{}}},\n  \"call_folder\": {},\n"
      "  \"intended_unix_s\": {:.3f},\n  \"hpcbench\": {},\n  \"needs\": {},\n"
      "  \"resources\": {{\"cpus_per_task\": {}}},\n  \"inputs\": {}\n}}\n",
      json_quote(experiment.name), json_quote(wanted.name), wanted.id, attempt, json_quote(batch.empty() ? "local" : "slurm"),
      batch.empty() ? "null" : json_quote(batch), json_list(filled.command), json_quote(context.call_folder),
      json_quote(kOutputFolder), json_list(filled.setup), json_list(filled.modules), environment,
      json_quote(context.call_folder), unix_time_s(), json_quote(context.provenance.hpcbench_version), json_list(needs),
      definition.resources.cpus_per_task, code_files_json(inputs));
}

}  // namespace hpcbench

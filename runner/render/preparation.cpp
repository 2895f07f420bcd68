#include <fmt/format.h>

#include "base/host.hpp"
#include "base/text.hpp"
#include "plan/json_text.hpp"
#include "plan/prepared.hpp"
#include "render/attempt.hpp"

namespace hpcbench {

std::string preparation_folder(const std::string& results, const PreparedInstance& instance, int attempt) {
  return fmt::format("{}/prepare/{}/a{}", results, instance.folder(), attempt);
}

Bindings preparation_folders(const Plan& plan, const std::vector<std::size_t>& instances, const RenderContext& context) {
  Bindings folders;
  for (const std::size_t i : instances) {
    const PreparedInstance& instance = plan.prepared[i];
    const auto made = context.prepared.find(instance.folder());
    folders.emplace_back(instance.name + ".dir",
                         Value::from_text(made != context.prepared.end() ? made->second.folder
                                                                         : preparation_folder(context.results, instance, 1)));
  }
  return folders;
}

std::string preparation_json(const Experiment& experiment, const Plan& plan, std::size_t instance, int attempt,
                             const std::vector<CodeFile>& inputs, const RenderContext& context) {
  const PreparedInstance& wanted = plan.prepared[instance];
  const Preparation& definition = experiment.preparations[wanted.definition];
  Bindings bindings = wanted.bindings;
  const Bindings folders = preparation_folders(plan, wanted.needs, context);
  bindings.insert(bindings.end(), folders.begin(), folders.end());
  bindings.emplace_back(definition.dir(), Value::from_text(preparation_folder(context.results, wanted, attempt)));
  const FilledPreparation filled = fill_preparation(definition, bindings);
  std::string environment;
  for (const auto& [name, value] : filled.environment)
    environment += fmt::format("{}{}:{}", environment.empty() ? "" : ",", json_quote(name), json_quote(value));
  std::vector<std::string> needs;
  for (const auto& [name, folder] : folders) needs.push_back(folder.text());
  return fmt::format(
      "{{\n  \"schema\": 1,\n  \"experiment\": {},\n  \"prepare\": {},\n  \"instance\": \"{}\",\n  \"attempt\": {},\n"
      "  \"executor\": \"local\",\n  \"processes\": 1,\n  \"argv\": {},\n  \"shell\": false,\n  \"workdir\": {},\n"
      "  \"setup\": {},\n  \"modules\": {},\n  \"environment\": {{{}}},\n  \"call_folder\": {},\n"
      "  \"intended_unix_s\": {:.3f},\n  \"hpcbench\": {},\n  \"needs\": {},\n  \"inputs\": {}\n}}\n",
      json_quote(experiment.name), json_quote(wanted.name), wanted.id, attempt, json_list(filled.command),
      json_quote(context.call_folder), json_list(filled.setup), json_list(filled.modules), environment,
      json_quote(context.call_folder), unix_time_s(), json_quote(context.provenance.hpcbench_version), json_list(needs),
      code_files_json(inputs));
}

}  // namespace hpcbench

#include "plan/prepared.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/host.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "plan/placeholders.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

namespace {

constexpr int kInstanceDigits = 16;

std::vector<std::string> texts_of(const Preparation& definition) {
  std::vector<std::string> texts = definition.command;
  texts.insert(texts.end(), definition.modules.begin(), definition.modules.end());
  texts.insert(texts.end(), definition.setup.begin(), definition.setup.end());
  for (const auto& variable : definition.environment) texts.push_back(variable.second);
  if (definition.partition) texts.push_back(*definition.partition);
  return texts;
}

bool names_any(const std::vector<std::string>& texts, const std::string& name) {
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
    const std::vector<std::string> names = placeholders_in(text);
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

/// What an instance is known by: its filled definition, in which a folder is the instance that makes it.
std::string instance_id(const Preparation& definition, const FilledPreparation& filled, const std::vector<std::string>& needs) {
  Variables variables = filled.environment;
  std::sort(variables.begin(), variables.end());
  JsonWriter json;
  json.begin_object().member("command", filled.command).member("environment", variables);
  if (definition.on_job) {
    json.key("job").begin_object().member("constraint", definition.resources.constraint);
    json.member("gres", definition.resources.gres).member("partition", filled.partition).end();
  }
  json.member("modules", filled.modules).member("needs", needs).member("setup", filled.setup).end();
  return sha256_hex(json.take(), kInstanceDigits);
}

}  // namespace

FilledPreparation fill_preparation(const Preparation& definition, const Bindings& bindings) {
  FilledPreparation filled;
  filled.command = fill_arguments(definition.command, bindings);
  filled.modules = fill_arguments(definition.modules, bindings);
  for (const std::string& line : definition.setup) filled.setup.push_back(fill_shell_text(line, bindings));
  for (const auto& [name, value] : definition.environment)
    filled.environment.emplace_back(name, fill_placeholders(value, bindings));
  if (definition.partition) filled.partition = fill_placeholders(*definition.partition, bindings);
  return filled;
}

Experiment preparation_experiment(const Experiment& experiment, const std::string& executor) {
  Experiment preparations;
  preparations.name = experiment.name;
  preparations.description = experiment.description;
  preparations.path = experiment.path;
  preparations.site = experiment.site;
  preparations.executor = executor;
  preparations.retries = experiment.retries;
  preparations.retries.failed = 0;
  preparations.preparations = experiment.preparations;
  preparations.repeats = 1;
  preparations.has_gpus = experiment.has_gpus;
  return preparations;
}

namespace {

/// `text` with `{{name}}` in place of `{{build.dir}}`.
std::string renamed(const std::string& text, const std::string& from, const std::string& to) {
  std::string result;
  for (const TextPiece& piece : split_placeholders(text, {}))
    result += piece.is_name ? "{{" + (piece.text == from ? to : piece.text) + "}}" : piece.text;
  return result;
}

}  // namespace

Plan preparation_plan(const Experiment& experiment, const Plan& plan, std::size_t instance) {
  const PreparedInstance& wanted = plan.prepared[instance];
  const Preparation& definition = experiment.preparations[wanted.definition];
  const auto with_run_dir = [&](const std::string& text) { return renamed(text, definition.dir(), "run_dir"); };
  const auto work = std::make_shared<Work>();
  for (const std::string& text : definition.command) work->command.push_back(with_run_dir(text));
  for (const std::string& line : definition.setup) work->setup.push_back(with_run_dir(line));
  for (const auto& [name, value] : definition.environment) work->environment.emplace_back(name, with_run_dir(value));
  work->modules = fill_arguments(definition.modules, wanted.bindings);
  if (definition.partition) work->partition = fill_placeholders(*definition.partition, wanted.bindings);
  work->launch = Launch::once;
  work->parameters = wanted.bindings;
  work->resources = definition.resources;
  Configuration configuration;
  configuration.id = wanted.folder();
  configuration.gpus_per_node = 0;
  configuration.ranks_per_node = 1;
  configuration.work = work;
  configuration.prepared = wanted.needs;
  configuration.makes = instance;
  Plan of_instance;
  of_instance.prepared = plan.prepared;
  of_instance.configurations = {std::move(configuration)};
  of_instance.has_gpus = plan.has_gpus;
  return of_instance;
}

const std::vector<std::size_t>& InstanceFinder::used_by(const std::shared_ptr<const Work>& work) {
  const auto [found, is_new] = used_.try_emplace(work);
  if (!is_new) return found->second;
  std::vector<std::string> texts;
  for (const std::string* text : texts_of_run(*work)) texts.push_back(*text);
  if (experiment_.workdir) texts.push_back(*experiment_.workdir);
  for (std::size_t i = 0; i < experiment_.preparations.size(); ++i) {
    const Preparation& each = experiment_.preparations[i];
    // Any name may stand in a deck, and an identity never needs the disk.
    if (each.for_all || !work->files.empty() || names_any(texts, each.dir())) found->second.push_back(i);
  }
  return found->second;
}

std::size_t InstanceFinder::instance_of(std::size_t definition, const Bindings& bindings) {
  const Preparation& wanted = experiment_.preparations[definition];
  Bindings all = bindings;
  all.emplace_back(wanted.dir(), Value::from_text("{{" + wanted.dir() + "}}"));
  PreparedInstance instance{definition, wanted.name, "", bindings, {}};
  std::vector<std::string> needs;
  const std::vector<std::string> texts = texts_of(wanted);
  for (std::size_t i = 0; i < definition; ++i) {  // they stand in order of need
    const std::string dir = experiment_.preparations[i].dir();
    if (!names_any(texts, dir)) continue;
    instance.needs.push_back(instance_of(i, bindings));
    needs.push_back(instances_[instance.needs.back()].folder());
    all.emplace_back(dir, Value::from_text("{{" + dir + "}}"));
  }
  instance.id = instance_id(wanted, fill_preparation(wanted, all), needs);
  const auto [found, is_new] = known_.try_emplace({definition, instance.id}, instances_.size());
  if (is_new) instances_.push_back(std::move(instance));
  return found->second;
}

std::vector<std::size_t> InstanceFinder::find(const std::shared_ptr<const Work>& work, const Bindings& bindings) {
  std::vector<std::size_t> found;
  for (const std::size_t definition : used_by(work)) found.push_back(instance_of(definition, bindings));
  return found;
}

void InstanceFinder::note_unused(std::vector<std::string>& notes) const {
  for (std::size_t i = 0; i < experiment_.preparations.size(); ++i) {
    const auto of_it = [&](const PreparedInstance& instance) { return instance.definition == i; };
    if (std::any_of(instances_.begin(), instances_.end(), of_it)) continue;
    const Preparation& unused = experiment_.preparations[i];
    notes.push_back(fmt::format("{}: nothing needs the preparation `{}`: no {{{{{}}}}} stands in `command` or `setup`",
                                describe(unused.place), unused.name, unused.dir()));
  }
}

std::vector<std::size_t> instances_needed(const Plan& plan) {
  std::vector<bool> needed(plan.prepared.size(), false);
  for (const Configuration& configuration : plan.configurations) {
    for (const std::size_t i : configuration.prepared) needed[i] = true;
  }
  std::vector<std::size_t> instances;
  for (std::size_t i = needed.size(); i-- > 0;) {  // each stands after those that it needs
    if (!needed[i]) continue;
    instances.push_back(i);
    for (const std::size_t other : plan.prepared[i].needs) needed[other] = true;
  }
  std::reverse(instances.begin(), instances.end());
  return instances;
}

std::vector<long long> count_instances(const Experiment& experiment, const Plan& plan) {
  std::vector<long long> counts(experiment.preparations.size(), 0);
  for (const std::size_t i : instances_needed(plan)) ++counts[plan.prepared[i].definition];
  return counts;
}

}  // namespace hpcbench

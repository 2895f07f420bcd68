#include <fmt/format.h>

#include "base/text.hpp"
#include "spec/fields.hpp"
#include "spec/merge.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

constexpr long long kMostRepeats = 100'000;
constexpr long long kMostRetries = 100;
constexpr long long kLargestSeed = 1'000'000'000'000;

void read_seed(const YamlNode& node, Experiment& experiment, Diagnostics& diagnostics) {
  MapReader reader(node, "seed", diagnostics);
  assign(experiment.seed_per_repeat, reader.choice<bool>("policy", {{"per_repeat", true}, {"fixed", false}}));
  assign(experiment.seed, reader.integer("value", 0, kLargestSeed));
  reader.finish();
}

void read_retries(const YamlNode& node, Experiment& experiment, Diagnostics& diagnostics) {
  MapReader reader(node, "retries", diagnostics);
  assign(experiment.retries.lost, reader.integer("lost", 0, kMostRetries));
  assign(experiment.retries.node_failure, reader.integer("node_failure", 0, kMostRetries));
  assign(experiment.retries.preempted, reader.integer("preempted", 0, kMostRetries));
  assign(experiment.retries.failed, reader.integer("failed", 0, kMostRetries));
  reader.finish();
}

void read_limits(const YamlNode& node, Experiment& experiment, Diagnostics& diagnostics) {
  constexpr long long kMostConfigurations = 100'000'000;
  MapReader reader(node, "limits", diagnostics);
  assign(experiment.limits.configurations, reader.integer("configurations", 1, kMostConfigurations));
  const std::optional<double> gpu_hours = reader.number("gpu_hours");
  if (gpu_hours) experiment.limits.gpu_hours = gpu_hours;
  if (gpu_hours.value_or(0) < 0) {
    diagnostics.add(node.find("gpu_hours")->location, "`limits.gpu_hours` cannot be below 0");
  }
  reader.finish();
}

void read_settings(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  Experiment& experiment = parsed.experiment;
  assign(experiment.description, reader.text("description"));
  assign(experiment.repeats, reader.integer("repeats", 1, kMostRepeats));
  assign(experiment.warmups, reader.integer("warmups", 0, kMostRepeats));
  if (const YamlNode* node = reader.take("seed")) read_seed(*node, experiment, diagnostics);
  assign(experiment.executor,
         reader.choice<std::string>("executor", {{"auto", "auto"}, {"local", "local"}, {"slurm", "slurm"}}));
  assign(experiment.order,
         reader.choice<Order>("order", {{"interleaved", Order::interleaved}, {"sequential", Order::sequential}}));
  assign(experiment.launcher, reader.choice<std::string>("launcher", {{"srun", "srun"}, {"mpirun", "mpirun"}}));
  read_prepare(reader, parsed, diagnostics);
  experiment.workdir = reader.filled_text("workdir");
  experiment.monitor_s = reader.duration("monitor");
  assign(experiment.merged_output, reader.choice<bool>("output", {{"per_rank", false}, {"merged", true}}));
  if (const YamlNode* node = reader.take("retries")) read_retries(*node, experiment, diagnostics);
  if (const YamlNode* node = reader.take("report")) read_report(*node, parsed, diagnostics);
  if (const YamlNode* node = reader.take("limits")) read_limits(*node, experiment, diagnostics);
  if (const YamlNode* node = reader.take("import")) read_imports(*node, parsed, diagnostics);
}

void read_name(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  assign(parsed.experiment.name, reader.filled_text("experiment"));
  if (parsed.experiment.name.empty() || is_plain_name(parsed.experiment.name)) return;
  diagnostics.add(parsed.root->find("experiment")->location,
                  fmt::format("{} is no plain file name", cite(parsed.experiment.name)),
                  "results go to a folder of this name: letters, digits, `.`, `_` and `-`, not starting with `.` or `-`");
}

/// Sites are no axis: each has a queue, modules and results of its own.
void refuse_sites(MapReader& reader, Diagnostics& diagnostics) {
  for (const char* const key : {"sites", "site"}) {
    if (!reader.has(key)) continue;
    reader.take(key);
    diagnostics.add(
        reader.location_of(key), fmt::format("a study runs on one site: `{}` cannot stand in the file", key),
        "run the file on each, `hpcbench run FILE --site NAME --results FOLDER`, then `hpcbench compare FILE --results "
        "FOLDER FOLDER`");
  }
}

void read_parts(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  read_settings(reader, parsed, diagnostics);
  read_work(reader, parsed, diagnostics);
  read_points(reader, parsed, diagnostics);
  read_derived(reader, parsed, diagnostics);
  refuse_sites(reader, diagnostics);
  reader.finish();
}

}  // namespace

void read_root(const YamlNode& root, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  parsed.root = &root;
  MapReader reader(root, "", diagnostics);
  read_name(reader, parsed, diagnostics);
  reader.take("profiles");
  reader.take("use");  // laid under the file before
  read_parts(reader, parsed, diagnostics);
}

void check_profile(const YamlNode& said, const ParsedExperiment& base, Diagnostics& diagnostics) {
  refuse_vain_removals(*base.root, said, diagnostics);
  const YamlNode profile = without_removals(said);
  ParsedExperiment parsed;
  parsed.root = &profile;
  parsed.experiment.work.shell = base.experiment.work.shell;
  MapReader reader(profile, "", diagnostics);
  for (const char* const key : {"experiment", "profiles", "use"}) {
    if (const std::size_t index = said.index_of(key); index != YamlNode::npos)
      diagnostics.add(said.keys[index].location, fmt::format("a profile cannot change `{}`", key));
    reader.take(key);
  }
  read_parts(reader, parsed, diagnostics);
}

}  // namespace hpcbench

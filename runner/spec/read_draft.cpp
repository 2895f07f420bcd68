#include <fmt/format.h>

#include "base/text.hpp"
#include "spec/draft.hpp"
#include "spec/fields.hpp"
#include "spec/overlay.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

constexpr long long kMostRepeats = 100'000;
constexpr long long kMostRetries = 100;
constexpr long long kLargestSeed = 1'000'000'000'000;

void read_seed(const YamlNode& node, Experiment& experiment, Complaints& complaints) {
  MapReader reader(node, "seed", complaints);
  assign(experiment.seed_per_repeat, reader.choice<bool>("policy", {{"per_repeat", true}, {"fixed", false}}));
  assign(experiment.seed, reader.integer("value", 0, kLargestSeed));
  reader.finish();
}

void read_retries(const YamlNode& node, Experiment& experiment, Complaints& complaints) {
  MapReader reader(node, "retries", complaints);
  assign(experiment.retries.lost, reader.integer("lost", 0, kMostRetries));
  assign(experiment.retries.node_failure, reader.integer("node_failure", 0, kMostRetries));
  assign(experiment.retries.preempted, reader.integer("preempted", 0, kMostRetries));
  reader.finish();
}

void read_limits(const YamlNode& node, Experiment& experiment, Complaints& complaints) {
  constexpr long long kMostConfigurations = 100'000'000;
  MapReader reader(node, "limits", complaints);
  assign(experiment.limits.configurations, reader.integer("configurations", 1, kMostConfigurations));
  const std::optional<double> gpu_hours = reader.number("gpu_hours");
  if (gpu_hours) experiment.limits.gpu_hours = gpu_hours;
  if (gpu_hours.value_or(0) < 0) {
    complaints.add(node.find("gpu_hours")->spot, "`limits.gpu_hours` cannot be below 0");
  }
  reader.finish();
}

void read_settings(MapReader& reader, Draft& draft, Complaints& complaints) {
  Experiment& experiment = draft.experiment;
  assign(experiment.description, reader.text("description"));
  assign(experiment.repeats, reader.integer("repeats", 1, kMostRepeats));
  assign(experiment.warmups, reader.integer("warmups", 0, kMostRepeats));
  if (const YamlNode* node = reader.take("seed")) read_seed(*node, experiment, complaints);
  assign(experiment.executor,
         reader.choice<std::string>("executor", {{"auto", "auto"}, {"local", "local"}, {"slurm", "slurm"}}));
  assign(experiment.order,
         reader.choice<Order>("order", {{"interleaved", Order::interleaved}, {"sequential", Order::sequential}}));
  assign(experiment.launcher, reader.choice<std::string>("launcher", {{"srun", "srun"}, {"mpirun", "mpirun"}}));
  assign(experiment.prepare, reader.texts("prepare"));
  experiment.workdir = reader.filled_text("workdir");
  experiment.monitor_s = reader.duration("monitor");
  if (const YamlNode* node = reader.take("retries")) read_retries(*node, experiment, complaints);
  if (const YamlNode* node = reader.take("report")) read_report(*node, draft, complaints);
  if (const YamlNode* node = reader.take("limits")) read_limits(*node, experiment, complaints);
  if (const YamlNode* node = reader.take("import")) read_imports(*node, draft, complaints);
}

void read_name(MapReader& reader, Draft& draft, Complaints& complaints) {
  assign(draft.experiment.name, reader.filled_text("experiment"));
  if (draft.experiment.name.empty() || is_plain_name(draft.experiment.name)) return;
  complaints.add(draft.root->find("experiment")->spot, fmt::format("{} is no plain file name", cite(draft.experiment.name)),
                 "results go to a folder of this name: letters, digits, `.`, `_` and `-`, not starting with `.` or `-`");
}

void read_parts(MapReader& reader, Draft& draft, Complaints& complaints) {
  read_settings(reader, draft, complaints);
  read_work(reader, draft, complaints);
  read_points(reader, draft, complaints);
  read_derived(reader, draft, complaints);
  reader.finish();
}

}  // namespace

void read_draft(const YamlNode& root, Draft& draft, Complaints& complaints) {
  draft.root = &root;
  MapReader reader(root, "", complaints);
  read_name(reader, draft, complaints);
  reader.take("profiles");
  read_parts(reader, draft, complaints);
}

void check_profile(const YamlNode& said, const Draft& base, Complaints& complaints) {
  refuse_vain_removals(*base.root, said, complaints);
  const YamlNode profile = without_removals(said);
  Draft draft;
  draft.root = &profile;
  draft.experiment.work.shell = base.experiment.work.shell;
  MapReader reader(profile, "", complaints);
  for (const char* const key : {"experiment", "profiles"}) {
    if (const std::size_t index = said.index_of(key); index != YamlNode::npos)
      complaints.add(said.keys[index].spot, fmt::format("a profile cannot change `{}`", key));
    reader.take(key);
  }
  read_parts(reader, draft, complaints);
}

}  // namespace hpcbench

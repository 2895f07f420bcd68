#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "spec/experiment.hpp"

namespace hpcbench {

/// Returns `{"1", "ddp"}` as YAML's plain scalars.
inline std::vector<Value> plain_values(std::initializer_list<const char*> scalars) {
  std::vector<Value> values;
  for (const char* scalar : scalars) values.push_back(Value::from_plain(scalar));
  return values;
}

inline Axis plain_axis(const std::string& name, std::initializer_list<const char*> scalars) {
  return {name, plain_values(scalars)};
}

inline Bindings plain_bindings(std::initializer_list<std::pair<const char*, const char*>> pairs) {
  Bindings bindings;
  for (const auto& [name, scalar] : pairs) bindings.emplace_back(name, Value::from_plain(scalar));
  return bindings;
}

/// Returns a study of a foreign program without a reader: strategy x gpus_per_node, two repeats.
inline Experiment example_experiment() {
  Experiment experiment;
  experiment.name = "example";
  experiment.path = "example.yaml";
  experiment.matrix = {plain_axis("strategy", {"baseline", "ddp"}), plain_axis("gpus_per_node", {"1", "2"})};
  experiment.work.command = {"python", "train.py", "--strategy={{strategy}}", "--lr={{lr}}"};
  experiment.work.parameters = plain_bindings({{"batch_size", "8"}, {"lr", "1e-5"}});
  experiment.work.resources.time_s = 1800;
  experiment.repeats = 2;
  return experiment;
}

}  // namespace hpcbench

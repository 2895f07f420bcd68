// libFuzzer entry: any bytes given as an experiment file are read to an experiment or to an InputError, and an accepted
// experiment can be planned. Every other exception, crash, leak or undefined behaviour is a finding.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "plan/plan.hpp"
#include "spec/read_experiment.hpp"

namespace {

constexpr long long kMostPoints = 2000;  // more find nothing new and cost time

long long point_count(const hpcbench::Experiment& experiment) {
  double points = 1;
  for (const hpcbench::Axis& axis : experiment.matrix) points *= static_cast<double>(axis.values.size());
  for (const auto& block : experiment.zip) points *= static_cast<double>(block.front().values.size());
  return points > kMostPoints ? kMostPoints + 1 : static_cast<long long>(points);
}

void read_and_plan(const std::string& text, const hpcbench::ReadOptions& options) {
  try {
    const hpcbench::Experiment experiment = hpcbench::parse_experiment(text, "fuzz.yaml", options);
    if (point_count(experiment) > kMostPoints) return;
    const hpcbench::Plan plan = hpcbench::make_plan(experiment);
    if (experiment.repeats <= 10 && experiment.warmups <= 10) hpcbench::runs_in_order(plan);
  } catch (const hpcbench::InputError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_and_plan(text, {});
  // The same text under a profile, and as a setting.
  if (text.find("profiles") != std::string::npos) read_and_plan(text, {.profile = "laptop", .site = {}, .settings = {}});
  constexpr std::size_t kLongestSetting = 200;
  if (size <= kLongestSetting) {
    const std::string base = "experiment: a\ncommand: [p, \"{{x}}\"]\nmatrix: {x: [1, 2], nodes: [1]}\nbaseline: {x: 1}\n";
    read_and_plan(base, {.profile = {}, .site = {}, .settings = {text}});
  }
  return 0;
}

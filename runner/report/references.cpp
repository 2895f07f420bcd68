#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/samples.hpp"
#include "stats/stats.hpp"

namespace hpcbench {
namespace {

std::vector<std::size_t> configurations_of(const Plan& plan, const MetricReference& reference) {
  if (reference.when_if && reference.may_be_empty) return find_configurations_where(plan, *reference.when_if);
  if (reference.when_if) return configurations_where(plan, *reference.when_if);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    if (matches(reference.when, plan.bindings(plan.configurations[i]))) found.push_back(i);
  }
  return found;
}

}  // namespace

std::optional<Summary> summarise_metric(const Sample& sample, const std::string& metric, const Confidence& confidence) {
  std::vector<double> values;
  for (const AttemptRecord* run : sample.runs) {
    if (const auto value = metric_value(*run, metric); value && sample.counts(run->key.run)) values.push_back(*value);
  }
  return summarise(std::move(values), confidence);
}

std::vector<std::vector<std::size_t>> match_references(const Experiment& experiment, const Plan& plan) {
  std::vector<std::vector<std::size_t>> found;
  for (const MetricReference& reference : experiment.report.references) found.push_back(configurations_of(plan, reference));
  return found;
}

}  // namespace hpcbench

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/plan.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// The baselines of a plan: one for the points that are alike but for what `baseline` names and their size, or one for each
/// size.
class Baselines {
 public:
  Baselines(const Experiment& experiment, const Plan& plan);

  /// InputError where no configuration is a baseline, or two are for the same points.
  void require_good() const;

  /// compared_sizes of the plan.
  const std::vector<std::string>& sizes() const { return sizes_; }
  /// Of the configurations that are one.
  const std::vector<std::size_t>& indices() const { return indices_; }
  bool of_each_size() const;
  /// Of several the one of equal size, as far as `baseline` does not name what it is.
  std::optional<std::size_t> of(const Bindings& axes) const;

 private:
  void add(const Plan& plan, std::size_t index);

  const Experiment& experiment_;
  std::vector<std::string> sizes_;
  std::vector<std::string> matched_;  // those of them in which a baseline and its rows are equal
  std::unordered_map<std::string, std::unordered_map<std::string, std::size_t>> by_key_;
  std::vector<std::size_t> indices_;
  std::optional<std::pair<Bindings, Bindings>> ambiguous_;  // the first two that are baselines of the same points
};

}  // namespace hpcbench

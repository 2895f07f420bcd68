#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/value.hpp"
#include "plan/plan.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// A definition with its placeholders filled in.
struct FilledPreparation {
  std::vector<std::string> command, modules, setup;
  Variables environment;
  std::optional<std::string> partition;  // of its job
};

/// `bindings`: names of a point, and the folders of preparations (`build.dir`). InputError for a name that has no value.
FilledPreparation fill_preparation(const Preparation& definition, const Bindings& bindings);

/// Preparations are runs of an experiment of their own: it shares with `experiment` where and by whom runs are executed.
/// `executor`: of these. A run of it is tried again where it was lost, never where it failed.
Experiment preparation_experiment(const Experiment& experiment, const std::string& executor);
/// A plan with the one run that makes an instance of `plan`: one process on one node, which knows its folder as {{run_dir}}.
Plan preparation_plan(const Experiment& experiment, const Plan& plan, std::size_t instance);

/// Finds the instances of preparations that points need. Points whose names say the same share one.
class InstanceFinder {
 public:
  /// Keeps references to both; adds to `instances`, those that another needs before it.
  InstanceFinder(const Experiment& experiment, std::vector<PreparedInstance>& instances)
      : experiment_(experiment), instances_(instances) {}
  bool any() const { return !experiment_.preparations.empty(); }
  /// The instances whose folders a run of this work is given, as indices. `bindings` are the names of its point.
  std::vector<std::size_t> find(const std::shared_ptr<const Work>& work, const Bindings& bindings);
  /// A note for each preparation that no run needs.
  void note_unused(std::vector<std::string>& notes) const;

 private:
  std::size_t instance_of(std::size_t definition, const Bindings& bindings);
  const std::vector<std::size_t>& used_by(const std::shared_ptr<const Work>& work);

  const Experiment& experiment_;
  std::vector<PreparedInstance>& instances_;
  std::map<std::shared_ptr<const Work>, std::vector<std::size_t>> used_;  // definitions
  std::map<std::pair<std::size_t, std::string>, std::size_t> known_;      // by definition and id
};

}  // namespace hpcbench

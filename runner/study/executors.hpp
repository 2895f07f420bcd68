#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "study/study.hpp"
#include "submit/executor.hpp"

namespace hpcbench {

/// The executor that the study asks for. `slots`: of the local one. `note` gets messages for the user.
std::unique_ptr<Executor> choose_executor(const Study& study, int slots, std::function<void(const std::string&)> note);

/// The executors of one call, each made when it is first asked for: one for all processes of this machine, so that the studies
/// share its slots, one for preparations here, and one for each queue, which polls the jobs of all studies at once, runs and
/// preparations.
class Executors {
 public:
  /// `studies` must outlive it. `note` gets messages for the user.
  Executors(const std::vector<Study>& studies, int slots, std::function<void(const std::string&)> note);
  /// One executor for all that the call starts; it must outlive this.
  explicit Executors(Executor& one) : one_(&one) {}

  /// Of processes of this machine.
  Executor& here();
  /// Of preparations that are made on this machine: one at a time, whatever the slots of runs.
  Executor& workshop();
  /// The one that the study asks for.
  Executor& of(const Study& study);
  /// Waits until something may have changed, at most `seconds`.
  void wait(double seconds);
  /// Slots of this machine that are free now.
  int free_here();

 private:
  const std::vector<Study>* studies_ = nullptr;
  int slots_ = 1;
  std::function<void(const std::string&)> note_;
  Executor* one_ = nullptr;
  std::unique_ptr<Executor> here_, workshop_;
  std::map<std::string, std::unique_ptr<Executor>> queues_;  // by name: those whose jobs wait in a queue
};

/// Seconds after which a tool of Slurm is given up: HPCBENCH_SLURM_TIMEOUT, else 60.
double slurm_tool_timeout_s();

}  // namespace hpcbench

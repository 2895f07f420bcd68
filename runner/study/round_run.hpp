#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/tool_runner.hpp"
#include "study/accounting.hpp"
#include "study/call.hpp"
#include "study/listeners.hpp"
#include "study/pace.hpp"
#include "study/preparing.hpp"
#include "study/round_queue.hpp"
#include "study/study_watch.hpp"
#include "submit/dispatcher.hpp"

namespace hpcbench {

/// A round on its way: its preparations are made, jobs of earlier calls are taken over, and its runs are submitted and settled
/// until each has an outcome, or something ends the call before that.
class RoundRun {
 public:
  enum class Ending {
    finished,
    stopped,      // by failures or a broken executor, which was said; its jobs were asked to end
    interrupted,  // by a person; jobs continue
    cancelled,    // by `hpcbench cancel`; its jobs were asked to end
    detached,     // all is submitted; jobs continue
  };

  /// `states`: the study's attempts on record. `rounds` says when nothing more may begin. All but `states` must outlive it.
  RoundRun(const Study& study, const RunOptions& options, Round round, std::vector<AttemptState> states, RoundQueue& rounds,
           StudyWatch& watch, Call& call);

  Pace step();
  /// Once it has ended.
  Ending ending() const { return ending_; }
  const Plan& plan() const { return round_.plan; }
  /// Whether it had anything to do.
  bool has_done_anything() const { return has_done_anything_; }

 private:
  void take_over();
  bool may_begin();
  Pace carry_out();
  Pace end(Ending ending);
  bool is_cancelled() const { return call_.cancelled.contains(study_.experiment.name); }
  Pace cancel();
  void end_jobs();
  void stop_early(const std::string& why);
  void say_detached();

  const Study& study_;
  const RunOptions& options_;
  Round round_;
  std::vector<AttemptState> states_;
  RoundQueue& rounds_;
  StudyWatch& watch_;
  Call& call_;
  ProcessToolRunner tools_;
  std::vector<AttemptKey> retried_;
  std::vector<std::size_t> open_;      // configurations with runs that are to begin or have not ended
  RenderContext context_;              // until the dispatcher has it
  std::optional<Listed> taking_over_;  // until jobs of earlier calls are taken over
  std::optional<Preparing> preparing_;
  std::optional<RunnablePart> runnable_;
  Executor* executor_ = nullptr;
  std::optional<StudyListeners> listeners_;
  std::optional<Dispatcher> dispatcher_;
  std::optional<Accounting> accounting_;
  bool has_begun_ = false;  // to hand over
  bool has_done_anything_ = false;
  Ending ending_ = Ending::finished;
};

}  // namespace hpcbench

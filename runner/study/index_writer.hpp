#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ingest/reading.hpp"
#include "store/store.hpp"
#include "study/progress.hpp"
#include "study/study.hpp"
#include "study/study_watch.hpp"
#include "submit/dispatcher.hpp"

namespace hpcbench {

/// Keeps the index during a campaign, and reports what matters. Records are written in groups: what a crash leaves unwritten
/// stands in the run directories and is read from there.
class IndexWriter : public DispatchObserver {
 public:
  IndexWriter(Store& store, const Study& study, Progress& progress, Clock& clock, StudyWatch& watch);

  void intended(const std::string& batch, const std::vector<AttemptKey>& attempts) override;
  void submitted(const AttemptKey& attempt, const std::string& job) override;
  State settled(const AttemptKey& attempt, std::optional<State> without_finish, const std::string& reason) override;
  void tried_again(const AttemptKey& attempt) override { watch_.failures.forgive(attempt); }
  void note(const std::string& text) override;

  /// Writes what is pending, if that is due; with `now` in any case.
  void flush(bool now);
  /// From here on runs are cancelled because the campaign stops: that is no news.
  void expect_cancels() { cancels_expected_ = true; }
  /// What the attempts cost that were settled, in the study's unit.
  double settled_hours() const { return settled_hours_; }

 private:
  void warn_of_missed_metrics(const AttemptRecord& record, const std::string& folder);
  void warn_of_nan(const AttemptRecord& record, const std::string& metric);
  static void log_verdict(const AttemptRecord& record, const std::string& folder);
  void tell_failure(const AttemptKey& attempt, State state, const AttemptRecord& record);

  Store& store_;
  std::string experiment_;
  std::string results_;
  CostUnit cost_unit_;
  Reading reading_;  // of the file that the campaign runs
  Progress& progress_;
  Clock& clock_;
  StudyWatch& watch_;
  std::vector<AttemptRecord> records_;
  std::vector<AttemptState> states_;
  double last_flush_s_ = 0;
  bool cancels_expected_ = false;
  double settled_hours_ = 0;
};

}  // namespace hpcbench

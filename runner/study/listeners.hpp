#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ingest/reading.hpp"
#include "store/store.hpp"
#include "study/progress.hpp"
#include "study/study.hpp"
#include "study/study_watch.hpp"
#include "submit/events.hpp"

namespace hpcbench {

/// Keeps the index during a campaign. Records are written in groups: what a crash leaves unwritten stands in the run
/// directories and is read from there.
class IndexListener : public Listener {
 public:
  IndexListener(Store& store, std::string experiment, Clock& clock);

  void intended(const std::string& batch, const std::vector<AttemptKey>& attempts) override;
  void submitted(const AttemptKey& attempt, const std::string& job) override;
  void ended(const AttemptRecord& record) override;
  /// Writes what is pending, if that is due; with `now` in any case.
  void flush(bool now);

 private:
  Store& store_;
  std::string experiment_;
  Clock& clock_;
  std::vector<AttemptRecord> records_;
  std::vector<AttemptState> states_;
  double last_flush_s_ = 0;
};

/// Writes hpcbench.log.
class LogListener : public Listener {
 public:
  explicit LogListener(std::string results) : results_(std::move(results)) {}

  void intended(const std::string& batch, const std::vector<AttemptKey>& attempts) override;
  void submitted(const AttemptKey& attempt, const std::string& job) override;
  void ended(const AttemptRecord& record) override;

 private:
  std::string results_;
};

/// Sums up the cost of attempts that have ended.
class CostListener : public Listener {
 public:
  explicit CostListener(CostUnit unit) : unit_(unit) {}

  void ended(const AttemptRecord& record) override;
  /// In the unit.
  double hours() const { return hours_; }

 private:
  CostUnit unit_;
  double hours_ = 0;
};

/// Shows messages, and tells the estimate of the time that is left when repeats end.
class ProgressListener : public Listener {
 public:
  explicit ProgressListener(Progress& progress) : progress_(progress) {}

  void ended(const AttemptRecord& record) override;
  void note(const std::string& text) override { progress_.print(text); }

 private:
  Progress& progress_;
};

/// Counts failures, and shows the first of each kind.
class FailureListener : public Listener {
 public:
  FailureListener(std::string results, StudyWatch& watch, Progress& progress)
      : results_(std::move(results)), watch_(watch), progress_(progress) {}

  void ended(const AttemptRecord& record) override;
  void tried_again(const AttemptKey& attempt) override { watch_.failures.forgive(attempt); }
  /// From here on runs are cancelled because the campaign stops: that is no news.
  void expect_cancels() { cancels_expected_ = true; }

 private:
  void show(const AttemptRecord& record);

  std::string results_;
  StudyWatch& watch_;
  Progress& progress_;
  bool cancels_expected_ = false;
};

/// Warns of metrics without a value after the first success of a configuration, while the others can still be saved the time;
/// once a metric, as configurations mostly share what is wrong.
class MissedMetricListener : public Listener {
 public:
  MissedMetricListener(std::string results, const Reading& reading, StudyWatch& watch, Progress& progress)
      : results_(std::move(results)), reading_(reading), watch_(watch), progress_(progress) {}

  void ended(const AttemptRecord& record) override;
  /// Names the metrics that runs of this call lack, and how many runs; once.
  void tell_runs_without_value();

 private:
  void warn_of_nan(const AttemptRecord& record, const std::string& metric);

  std::string results_;
  const Reading& reading_;
  StudyWatch& watch_;
  Progress& progress_;
};

/// The listeners of a campaign of a study.
struct StudyListeners {
  StudyListeners(Store& store, const Study& study, Progress& progress, Clock& clock, StudyWatch& watch);
  StudyListeners(const StudyListeners&) = delete;
  StudyListeners& operator=(const StudyListeners&) = delete;

  Reading reading;  // of the file that the campaign runs
  LogListener log;
  CostListener cost;
  FailureListener failures;
  ProgressListener progress;
  MissedMetricListener missed;
  IndexListener index;
  Events events;
};

}  // namespace hpcbench

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "fakes/fake_executor.hpp"
#include "fakes/manual_clock.hpp"
#include "fakes/temporary_folder.hpp"
#include "submit/dispatcher.hpp"
#include "submit/events.hpp"

namespace hpcbench {

/// Keeps what a campaign tells, across campaigns.
class RecordingListener : public Listener {
 public:
  explicit RecordingListener(std::string results) : results_(std::move(results)) {}

  struct Settlement {
    AttemptKey key;
    State state;
    std::string reason;
  };
  FaultPoints* faults = nullptr;
  bool late = false;  // only `intended` is journaled, as where a crash comes before the next transaction
  std::map<AttemptKey, State> journal;
  std::vector<std::vector<AttemptKey>> batches;
  std::vector<std::string> batch_ids;
  std::vector<AttemptKey> submissions;
  std::vector<Settlement> settlements;
  std::vector<std::string> notes;
  std::vector<AttemptKey> forgiven;

  void intended(const std::string& batch, const std::vector<AttemptKey>& attempts) override {
    pass();
    batches.push_back(attempts);
    batch_ids.push_back(batch);
    for (const AttemptKey& key : attempts) journal[key] = State::intended;
    pass();
  }
  void submitted(const AttemptKey& attempt, const std::string& /*job*/) override {
    pass();
    submissions.push_back(attempt);
    if (!late) journal[attempt] = State::submitted;
  }
  void ended(const AttemptRecord& record) override {
    pass();
    settlements.push_back({record.key, record.state, record.reason.value_or("")});
    if (!late) journal[record.key] = record.state;
    pass();
  }
  void tried_again(const AttemptKey& attempt) override { forgiven.push_back(attempt); }
  void note(const std::string& text) override { notes.push_back(text); }

  std::vector<AttemptState> known() const {
    std::vector<AttemptState> attempts;
    for (const auto& [key, state] : journal) {
      const auto claim = read_claim(results_ + "/" + to_string(key));
      attempts.push_back({.key = key, .state = state, .is_void = claim && claim->is_void()});
    }
    return attempts;
  }

 private:
  void pass() {
    if (faults != nullptr) faults->pass();
  }
  std::string results_;
};

/// A study in a folder of its own: an experiment, its plan, a machine that outlives campaigns, and a journal.
struct StudyFixture {
  explicit StudyFixture(int configurations = 2, int repeats = 2, int warmups = 0);

  FakeExecutor make_executor(int slots = 1) { return FakeExecutor(machine, clock, slots); }
  std::unique_ptr<Dispatcher> make_dispatcher(Executor& executor);
  Events& make_events();
  /// Runs fail by a value alone, as where `success.require` does not hold.
  void fail_by_value();
  /// Recovers, then rounds until every run has an outcome or `rounds` are over. The number of rounds.
  int run(FakeExecutor& executor, int rounds = 10'000);
  std::string folder(const AttemptKey& key) const { return results + "/" + to_string(key); }
  AttemptKey key(int configuration, int repeat, int attempt = 1) const;
  AttemptKey warmup(int configuration, int number, int attempt = 1) const;

  TemporaryFolder temporary;
  std::string results;
  Experiment experiment;
  Plan plan;
  RenderContext context;
  FakeMachine machine;
  ManualClock clock;
  RecordingListener observer;
  Reading reading;                    // of the next dispatcher
  std::unique_ptr<Events> events;     // of the last one
  std::function<std::string()> hold;  // of the next dispatcher

 private:
  std::vector<std::unique_ptr<Events>> events_;
};

/// Goes on until hpcbench dies at that point. True if it did.
bool run_until_crash(StudyFixture& study, int slots, int point);
/// As the next hpcbench does.
void run_to_the_end(StudyFixture& study, int slots);

}  // namespace hpcbench

// `continue`: which segment follows which, also where hpcbench dies at any point between them.
#include "submit/continuation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runfiles/claim.hpp"
#include "runfiles/layout.hpp"
#include "runfiles/run_info.hpp"
#include "runner/submit/study_fixture.hpp"
#include "submit/next_attempt.hpp"

namespace hpcbench {

namespace {

using Ending = FakeMachine::Ending;

Segment info_of(const std::string& folder) {
  return parse_run_json(read_file(folder + "/run.json")).segment.value_or(Segment{{-1}, -1, {}});
}

int number_of(const std::string& folder) { return static_cast<int>(info_of(folder).before.size()) + 1; }

/// One run.
struct ContinuedStudy : StudyFixture {
  ContinuedStudy() : StudyFixture(1, 1) { experiment.continuation = Continuation{{State::timeout}, 20, {}}; }
};

/// A file of the program in an attempt's folder.
void write_output(const std::string& folder, const std::string& name, const std::string& text) {
  make_folders(output_folder(folder));
  write_file(output_folder(folder) + "/" + name, text, Durability::none);
}

void save(const std::string& folder) { write_output(folder, "state", std::to_string(number_of(folder))); }

bool has_saved(const StudyFixture& study, int attempt) {
  return read_file_if_there(study.folder(study.key(0, 1, attempt)) + "/out/state").has_value();
}

/// It takes three segments; where it loses one, the second one's first attempt ends without a word.
void end_by_segment(StudyFixture& study, bool loses_one) {
  study.machine.ending = [loses_one, lost = std::make_shared<std::string>()](const std::string& folder) {
    const int number = number_of(folder);
    if (number == 2 && loses_one && (lost->empty() || *lost == folder)) {
      *lost = folder;
      return Ending::vanish;
    }
    save(folder);
    return number < 3 ? Ending::time_out : Ending::succeed;
  };
}

/// The segments of the attempts that were executed, by attempt; each once.
std::vector<int> executed_segments(const StudyFixture& study) {
  std::map<int, int> segments;
  for (const auto& [folder, times] : study.machine.executed) {
    CHECK(times == 1);
    segments[parse_run_json(read_file(folder + "/run.json")).attempt] = number_of(folder);
  }
  std::vector<int> numbers;
  for (const auto& [attempt, number] : segments) {
    const Segment info = info_of(study.folder(study.key(0, 1, attempt)));
    const auto saved =
        std::find_if(info.before.rbegin(), info.before.rend(), [&](int before) { return has_saved(study, before); });
    CHECK(info.from == (saved == info.before.rend() ? 0 : *saved));
    for (std::size_t i = 0; i < info.before.size(); ++i) CHECK(segments[info.before[i]] == static_cast<int>(i) + 1);
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

TEST_CASE("continue: segment by segment until one succeeds") {
  ContinuedStudy study;
  end_by_segment(study, false);
  FakeExecutor executor = study.make_executor();
  study.run(executor);
  CHECK(executed_segments(study) == std::vector<int>{1, 2, 3});
  CHECK(study.observer.forgiven.size() == 2);
  CHECK(executor.cancelled.empty());  // what wrote finished.json left nothing behind
  FakeExecutor next = study.make_executor();
  study.run(next);
  CHECK(next.requests.empty());
}

TEST_CASE("continue: no more than max, more of them later, and a retry is the same segment again") {
  ContinuedStudy study;
  study.machine.ending = [](const std::string&) { return Ending::time_out; };
  study.experiment.continuation->max = 2;
  FakeExecutor executor = study.make_executor();
  study.run(executor);
  CHECK(executed_segments(study) == std::vector<int>{1, 2});
  CHECK(study.observer.notes.back().find("not continued: that was segment 2 of at most 2") != std::string::npos);
  FakeExecutor again = study.make_executor();
  study.run(again);
  CHECK(again.requests.empty());
  const auto dispatcher = study.make_dispatcher(again);
  CHECK(dispatcher->retry({study.key(0, 1, 2)}) == 1);
  while (dispatcher->step()) again.wait(1);
  CHECK(executed_segments(study) == std::vector<int>{1, 2, 2});
  study.experiment.continuation->max = 3;
  FakeExecutor more = study.make_executor();
  study.run(more);
  CHECK(executed_segments(study) == std::vector<int>{1, 2, 2, 3});
}

TEST_CASE("continue: what it names counts against no retries, and what it does not name is the end") {
  ContinuedStudy study;
  study.machine.ending = [](const std::string& folder) {
    save(folder);
    return Ending::fail;
  };
  study.experiment.retries.failed = 5;
  study.experiment.continuation = Continuation{{State::failed}, 1, {}};
  FakeExecutor executor = study.make_executor();
  study.run(executor);
  CHECK(study.machine.jobs.size() == 1);
  study.experiment.continuation = Continuation{{State::timeout}, 20, {}};
  study.experiment.retries.failed = 0;
  FakeExecutor next = study.make_executor();
  study.run(next);
  CHECK(study.machine.jobs.size() == 1);
}

TEST_CASE("continue: after a failure of its own a run that saved something goes on, and no other") {
  ContinuedStudy study;
  study.experiment.continuation = Continuation{{State::failed}, 20, {}};
  bool saves = true;
  study.machine.ending = [&](const std::string& folder) {
    if (saves) save(folder);
    return number_of(folder) < 3 ? Ending::fail : Ending::succeed;
  };
  FakeExecutor executor = study.make_executor();
  SUBCASE("saved") {
    study.run(executor);
    CHECK(executed_segments(study) == std::vector<int>{1, 2, 3});
  }
  SUBCASE("nothing") {
    saves = false;
    study.run(executor);
    CHECK(executed_segments(study) == std::vector<int>{1});
  }
  SUBCASE("nothing, and what is left to retries") {
    saves = false;
    study.experiment.retries.failed = 1;
    study.run(executor);
    CHECK(executed_segments(study) == std::vector<int>{1, 1});
  }
  SUBCASE("failed by a value alone") {
    study.machine.ending = [&](const std::string& folder) {
      save(folder);
      return Ending::succeed;
    };
    study.fail_by_value();
    study.run(executor);
    CHECK(executed_segments(study) == std::vector<int>{1});
  }
}

TEST_CASE("continue: the next segment goes on from the last folder in which something was saved") {
  ContinuedStudy study;
  study.machine.ending = [](const std::string& folder) {
    const int number = number_of(folder);
    if (number == 1) write_output(folder, "state", "1");
    return number < 3 ? Ending::time_out : Ending::succeed;
  };
  FakeExecutor executor = study.make_executor();
  study.run(executor);
  CHECK(info_of(study.folder(study.key(0, 1, 2))).from == 1);
  CHECK(info_of(study.folder(study.key(0, 1, 3))).from == 1);  // the second one left nothing
}

TEST_CASE("continue: from the beginning as long as nothing was saved") {
  ContinuedStudy study;
  study.machine.ending = [](const std::string& folder) {
    if (number_of(folder) == 2) save(folder);
    return number_of(folder) < 3 ? Ending::time_out : Ending::succeed;
  };
  FakeExecutor executor = study.make_executor();
  study.run(executor);
  CHECK(info_of(study.folder(study.key(0, 1, 2))).from == 0);
  CHECK(info_of(study.folder(study.key(0, 1, 2))).before == std::vector<int>{1});
  CHECK(info_of(study.folder(study.key(0, 1, 3))).from == 2);
}

TEST_CASE("continue: two segments without progress end it, whatever told of it") {
  ContinuedStudy study;
  SUBCASE("events") {
    study.machine.ending = [](const std::string& folder) {
      const int step = number_of(folder) == 1 ? 7 : number_of(folder) == 2 ? 9 : 8;
      write_output(folder, "events.jsonl", "{\"event\":\"step\",\"step\":" + std::to_string(step) + "}\n");
      return Ending::time_out;
    };
    FakeExecutor executor = study.make_executor();
    study.run(executor);
    CHECK(executed_segments(study) == std::vector<int>{1, 2, 3, 4});
  }
  SUBCASE("files") {
    study.machine.ending = [](const std::string& folder) {
      write_output(folder, "state", number_of(folder) == 1 ? "1" : "2");
      return Ending::time_out;
    };
    FakeExecutor executor = study.make_executor();
    study.run(executor);
    CHECK(executed_segments(study) == std::vector<int>{1, 2, 3, 4});
  }
  SUBCASE("neither is known") {
    study.machine.ending = [](const std::string&) { return Ending::time_out; };
    study.experiment.continuation->max = 6;
    FakeExecutor executor = study.make_executor();
    study.run(executor);
    CHECK(executed_segments(study).size() == 6);
  }
}

TEST_CASE("continue: no segment begins once nothing more may, and it goes on once it may again") {
  ContinuedStudy study;
  end_by_segment(study, false);
  bool spent = false;
  study.hold = [&] { return std::string(spent ? "all is spent" : ""); };
  study.machine.ending = [&, ending = study.machine.ending](const std::string& folder) {
    spent = spent || number_of(folder) == 2;
    return ending(folder);
  };
  FakeExecutor executor = study.make_executor();
  CHECK(study.run(executor, 100) < 100);
  CHECK(executed_segments(study) == std::vector<int>{1, 2});
  CHECK(study.observer.notes.back() == to_string(study.key(0, 1, 2)) + ": timeout; it waits to be continued: all is spent");
  FakeExecutor still = study.make_executor();
  CHECK(study.run(still, 100) < 100);
  CHECK(still.requests.empty());
  spent = false;
  study.machine.ending = [](const std::string& folder) {
    save(folder);
    return Ending::succeed;
  };
  FakeExecutor more = study.make_executor();
  study.run(more);
  CHECK(executed_segments(study) == std::vector<int>{1, 2, 3});
}

TEST_CASE("continue: what a person asks for begins though nothing more may, and no segment follows it") {
  ContinuedStudy study;
  study.machine.ending = [](const std::string& folder) {
    save(folder);
    return Ending::time_out;
  };
  study.experiment.continuation->max = 1;
  FakeExecutor executor = study.make_executor();
  study.run(executor);
  study.experiment.continuation->max = 20;
  study.hold = [] { return std::string("all is spent"); };
  FakeExecutor again = study.make_executor();
  const auto dispatcher = study.make_dispatcher(again);
  CHECK(dispatcher->retry({study.key(0, 1, 1)}) == 1);
  int rounds = 0;
  while (dispatcher->step() && ++rounds < 100) again.wait(1);
  CHECK(rounds < 100);
  CHECK(again.requests.size() == 1);
}

TEST_CASE("continue: hpcbench may die at each point, and no segment runs twice or is left out") {
  for (const bool loses_one : {false, true}) {
    for (const bool late : {false, true}) {
      bool crashed = true;
      for (int point = 0; crashed; ++point) {
        CAPTURE(point);
        ContinuedStudy study;
        end_by_segment(study, loses_one);
        study.observer.late = late;
        crashed = run_until_crash(study, 1, point);
        run_to_the_end(study, 1);
        std::string text;
        for (const int number : executed_segments(study)) text += std::to_string(number) + ' ';
        CHECK(text == (loses_one ? "1 2 2 3 " : "1 2 3 "));
      }
    }
  }
}

namespace {

/// One segment of it has ended, and nobody goes on.
void end_one_segment(ContinuedStudy& study) {
  end_by_segment(study, false);
  FakeExecutor executor = study.make_executor();
  study.experiment.continuation->max = 1;
  study.run(executor);
  study.experiment.continuation->max = 20;
}

void cancel_what_waits(ContinuedStudy& study) {
  const std::vector<AttemptKey> waiting =
      segments_to_follow(study.experiment, study.plan, study.results, study.observer.known());
  cancel_waiting(study.experiment, study.plan, study.context, waiting, study.make_events());
}

}  // namespace

TEST_CASE("continue: what waits and is cancelled goes on after a retry alone, from where it was") {
  ContinuedStudy study;
  end_one_segment(study);
  cancel_what_waits(study);
  CHECK(study.observer.settlements.back().state == State::cancelled);
  CHECK(segments_to_follow(study.experiment, study.plan, study.results, study.observer.known()).empty());
  FakeExecutor executor = study.make_executor();
  study.run(executor);
  CHECK(executor.requests.empty());
  study.observer.journal.erase(study.key(0, 1, 2));  // an index that does not know of it
  study.run(executor);
  CHECK(executor.requests.empty());
  const auto dispatcher = study.make_dispatcher(executor);
  dispatcher->recover(study.observer.known());
  CHECK(dispatcher->retry({study.key(0, 1, 2)}) == 1);
  while (dispatcher->step()) executor.wait(1);
  CHECK(executed_segments(study) == std::vector<int>{1, 2, 3});
}

TEST_CASE("continue: cancel may die at each point, and the run is cancelled or still waits") {
  bool crashed = true;
  for (int trial = 0; crashed; ++trial) {
    const int point = trial / 2;
    const bool cancels_again = trial % 2 == 1;
    CAPTURE(trial);
    ContinuedStudy study;
    end_one_segment(study);
    FaultPoints faults;
    faults.arm(point);
    study.observer.faults = &faults;
    try {
      cancel_what_waits(study);
    } catch (const Crash&) {
    }
    crashed = faults.fired();
    study.observer.faults = nullptr;
    if (cancels_again) {
      FakeExecutor executor = study.make_executor();
      cancel_attempts(study.results, study.observer.known(), executor, study.make_events());
      cancel_what_waits(study);
      study.run(executor);
      CHECK(executor.requests.empty());
    }
    FakeExecutor executor = study.make_executor();
    study.run(executor);
    const std::vector<int> segments = executed_segments(study);
    const auto claim = read_claim(study.folder(study.key(0, 1, 2)));
    const bool cancelled = cancels_again || (claim && claim->revoked && !claim->why.starts_with("void: "));
    CHECK(segments == (cancelled ? std::vector<int>{1} : std::vector<int>{1, 2, 3}));
  }
}

}  // namespace hpcbench

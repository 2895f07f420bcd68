#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/watch_view.hpp"
#include "study/live_status.hpp"

namespace hpcbench {

namespace {

RunStatus watched_run(int number, State state, const std::string& reason = "") {
  RunStatus run;
  run.run = "0123456789abcdef/r0" + std::to_string(number);
  run.axes = {{"k", Value::from_integer(number)}};
  run.state = state;
  if (state == State::planned) return run;
  run.attempt = AttemptRecord();
  run.attempt->key = {"0123456789abcdef", {RunKind::repeat, number}, 1};
  run.attempt->state = state;
  if (!reason.empty()) run.attempt->reason = reason;
  return run;
}

StatusView watched(std::vector<RunStatus> runs) {
  StatusView view{"study", "/results/study", "slurm", {}, std::move(runs)};
  for (const State state : kStates) view.counts[state] = 0;
  for (const RunStatus& run : view.runs) ++view.counts[run.state];
  return view;
}

TEST_CASE("watch: what moves comes first, then what went wrong, then what went well") {
  StatusView view =
      watched({watched_run(1, State::planned), watched_run(2, State::succeeded), watched_run(3, State::failed, "exit code 3"),
               watched_run(4, State::submitted, "Priority"), watched_run(5, State::running)});
  view.owner = "process 5 on login1";
  view.runs[4].attempt->job = "7_4";
  view.runs[4].attempt->node = "n0";
  view.runs[4].attempt->started_unix_s = 1000;
  view.runs[1].attempt->metrics["wall_s"] = 75;
  WatchScene scene;
  scene.now_unix_s = 1012;
  const std::vector<std::string> expected = {
      "study  2/5 done: 1 planned, 1 submitted, 1 running, 1 succeeded, 1 failed",
      "`hpcbench run` goes on in process 5 on login1. Ctrl-C leaves everything running.",
      "",
      "RUN              STATE      TIME        JOB  NODE  CONFIGURATION",
      "01234567/r05/a1  running    12.0 s      7_4  n0    k=5",
      "01234567/r04/a1  submitted  -           -    -     Priority  k=4",
      "01234567/r03/a1  failed     -           -    -     exit code 3  k=3",
      "01234567/r02/a1  succeeded  1 min 15 s  -    -     k=2",
  };
  CHECK(join(watch_screen(view, scene), "\n") == join(expected, "\n"));
  scene.columns = 120;
  CHECK(watch_screen(view, scene)[0] ==
        "study  [############..................] 2/5 done: 1 planned, 1 submitted, 1 running, 1 succeeded, 1 failed");
  view = watched({watched_run(1, State::succeeded), watched_run(2, State::running)});
  view.experiment = "a_long_name_of_a_study_on_a_narrow_terminal";
  scene.columns = 50;
  CHECK(watch_screen(view, scene)[0] == "a_long_name_of_~  1/2 done: 1 running, 1 succeeded");
}

TEST_CASE("watch: a small terminal shows what fits, and nothing of what programs wrote drives it") {
  std::vector<RunStatus> runs;
  for (int i = 1; i <= 9; ++i) runs.push_back(watched_run(i, State::failed, "\x1B[2J雪雪\nTraceback"));
  const StatusView view = watched(std::move(runs));
  WatchScene scene;
  scene.rows = 8;
  scene.columns = 20;
  const std::vector<std::string> lines = watch_screen(view, scene);
  REQUIRE(lines.size() == 7);
  CHECK(lines[6] == "... and 7 more (hpc~");
  for (const std::string& line : lines) CHECK(line.find('\x1B') == std::string::npos);
  CHECK(rc::check("never more than fits", [&](int rows, int columns) {
    scene.rows = std::abs(rows % 40);
    scene.columns = std::abs(columns % 120);
    const std::vector<std::string> screen = watch_screen(view, scene);
    RC_ASSERT(static_cast<int>(screen.size()) <= std::max(1, scene.rows - 1));
    for (const std::string& line : screen) RC_ASSERT(fit_columns(line, scene.columns) == line);
  }));
}

TEST_CASE("watch: texts are cut at whole characters, wide ones count twice") {
  CHECK(fit_columns("abc", 3) == "abc");
  CHECK(fit_columns("abcd", 3) == "ab~");
  CHECK(fit_columns("雪雪雪", 6) == "雪雪雪");
  CHECK(fit_columns("雪雪雪", 5) == "雪雪~");
  CHECK(fit_columns("雪雪雪", 4) == "雪~");
  CHECK(fit_columns("abc", 0).empty());
  CHECK(rc::check("fits", [](const std::string& text, unsigned char columns) {
    RC_ASSERT(fit_columns(fit_columns(text, columns), columns) == fit_columns(text, columns));
  }));
}

TEST_CASE("watch: one line for each change, none for time that passes") {
  const StatusView before = watched({watched_run(1, State::running), watched_run(2, State::submitted, "Priority")});
  StatusView now = before;
  now.runs[0].attempt->started_unix_s = 5;
  CHECK(watch_changes(before, now, 100).empty());
  now.runs[1].attempt->reason = "PartitionDown: its partition is down";
  now.runs[0] = watched_run(1, State::succeeded);
  CHECK(watch_changes(before, now, 100) ==
        std::vector<std::string>{"0123456789abcdef/r01/a1  succeeded  k=1",
                                 "0123456789abcdef/r02/a1  submitted: PartitionDown: its partition is down  k=2"});
  CHECK(watch_changes(std::nullopt, before, 100) ==
        std::vector<std::string>{"study: 2 runs: 1 submitted, 1 running", "0123456789abcdef/r01/a1  running  k=1",
                                 "0123456789abcdef/r02/a1  submitted: Priority  k=2"});
}

TEST_CASE("watch: it ends when nothing can change of its own accord") {
  StatusView view = watched({watched_run(1, State::succeeded), watched_run(2, State::planned)});
  CHECK_FALSE(is_worth_watching(view));
  view.owner = "process 5 on login1";
  CHECK(is_worth_watching(view));
  view = watched({watched_run(1, State::succeeded), watched_run(2, State::running)});
  CHECK(is_worth_watching(view));
  view.runs[1].job = JobState::ended;
  CHECK_FALSE(is_worth_watching(view));
  view.runs[1].job = JobState::running;
  CHECK(is_worth_watching(view));
}

TEST_CASE("watch and status: who begins what waits") {
  StatusView view = watched({watched_run(1, State::planned), watched_run(2, State::planned), watched_run(3, State::succeeded)});
  view.named = "study.yaml";
  CHECK(owner_text(view) == "no `hpcbench run` goes on: `hpcbench run study.yaml` would begin the 2 runs that wait for it");
  view.runs.push_back(watched_run(4, State::running));
  view.runs[3].job = JobState::ended;
  view.runs[1].held = true;
  CHECK(owner_text(view) ==
        "no `hpcbench run` goes on: `hpcbench run study.yaml` would begin the 1 run that waits for it and settle the 1 whose "
        "job has ended");
  CHECK(watch_screen(view, WatchScene{})[1].starts_with("no `hpcbench run` goes on: `hpcbench run study.yaml` would"));
  CHECK(waits_for_owner(view));
  view.owner = "process 5 on login1";
  CHECK(owner_text(view) == "`hpcbench run` goes on in process 5 on login1");
  view = watched({watched_run(1, State::succeeded), watched_run(2, State::submitted)});
  CHECK_FALSE(waits_for_owner(view));
  CHECK(owner_text(view) == "no `hpcbench run` goes on");
}

TEST_CASE("watch: it looks after 5 % of the time since anything changed, and spends at most a twentieth of the time") {
  CHECK(watch_interval(0, 0.01, 60) == 1);
  CHECK(watch_interval(100, 0.01, 60) == 5);
  CHECK(watch_interval(1e6, 0.01, 60) == 60);
  CHECK(watch_interval(1e6, 0.01, 2) == 2);
  CHECK(watch_interval(0, 1, 60) == 20);
}

}  // namespace

}  // namespace hpcbench

#include "base/run_history.hpp"

#include <doctest/doctest.h>

#include "submit/run_table.hpp"

using namespace hpcbench;

namespace {

constexpr Standing kNormal = Standing::normal;
constexpr Standing kAside = Standing::set_aside;
constexpr Standing kAgain = Standing::measure_again;

Plan one_run() {
  Plan plan;
  plan.repeats = 1;
  plan.configurations.emplace_back();
  plan.configurations.back().id = "00000000000000aa";
  return plan;
}

AttemptState attempt(int number, State state, Standing standing = kNormal, bool is_void = false) {
  return {.key = {"00000000000000aa", {RunKind::repeat, 1}, number}, .state = state, .is_void = is_void, .standing = standing};
}

}  // namespace

TEST_CASE("the last attempt that is neither void nor set aside counts") {
  RunHistory history;
  CHECK(history.counting() == 0);
  history.add(attempt(1, State::failed, kNormal));
  history.add(attempt(2, State::succeeded, kNormal));
  history.add(attempt(3, State::cancelled, kNormal, true));
  CHECK(history.counting() == 2);
  CHECK_FALSE(history.is_excluded());
  history.add(attempt(4, State::succeeded, kAside));
  CHECK(history.counting() == 2);
  CHECK(history.aside() == 4);
}

TEST_CASE("a run whose attempts were all set aside is left out, or measured again") {
  RunHistory history;
  history.add(attempt(1, State::failed, kAgain));
  CHECK(history.is_measured_again());
  history.add(attempt(2, State::succeeded, kAside));
  CHECK(history.is_excluded());
  CHECK_FALSE(history.is_measured_again());
  history.add(attempt(3, State::cancelled, kNormal, true));  // void: it changes nothing
  CHECK(history.is_excluded());
  history.add(attempt(4, State::submitted, kNormal));
  CHECK(history.counting() == 4);
  CHECK_FALSE(history.is_excluded());
}

TEST_CASE("attempts that were set aside count against no limit, and nothing follows them by itself") {
  const Plan plan = one_run();
  const Retries retries{.lost = 0, .node_failure = 0, .preempted = 0, .failed = 1};
  RunTable runs(plan, true);
  for (const int number : {1, 2}) runs.note_known(0, attempt(number, State::failed, kAside), true);
  CHECK(runs[0].state == State::failed);
  CHECK(runs[0].is_closed());
  CHECK_FALSE(runs.may_retry(0, State::failed, retries));
  CHECK(runs.open() == 0);
  runs.note_known(0, attempt(3, State::failed), true);
  CHECK_FALSE(runs[0].is_closed());
  CHECK(runs.may_retry(0, State::failed, retries));  // its first miss
}

TEST_CASE("a run that is measured again has no state until its next attempt") {
  const Plan plan = one_run();
  RunTable runs(plan, true);
  runs.note_known(0, attempt(1, State::succeeded, kAgain), false);
  CHECK(runs[0].state == State::planned);
  CHECK(runs[0].attempt == 1);
  CHECK(runs.open() == 1);
  runs.note_known(0, attempt(2, State::running), false);
  CHECK(runs[0].state == State::running);
}

TEST_CASE("an earlier attempt that counts again is the state of its run") {
  const Plan plan = one_run();
  RunTable runs(plan, true);
  runs.note_known(0, attempt(1, State::succeeded), false);
  runs.note_known(0, attempt(2, State::failed, kAgain), true);
  CHECK(runs[0].state == State::succeeded);
  CHECK(runs[0].attempt == 2);
  CHECK(runs.open() == 0);
}

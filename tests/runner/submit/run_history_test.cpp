#include "base/run_history.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <vector>

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
  const Retries retries{.lost = 0, .node_failure = 0, .preempted = 0, .failed = 1};
  RunHistory history;
  for (const int number : {1, 2}) history.add(attempt(number, State::failed, kAside), true);
  CHECK(history.state() == State::failed);
  CHECK(history.is_closed());
  CHECK_FALSE(history.may_retry(retries));
  history.add(attempt(3, State::failed), true);
  CHECK_FALSE(history.is_closed());
  CHECK(history.may_retry(retries));  // its first miss
  history.add(attempt(4, State::failed), true);
  CHECK_FALSE(history.may_retry(retries));
}

TEST_CASE("a run that is measured again has no state until its next attempt") {
  RunHistory history;
  history.add(attempt(1, State::succeeded, kAgain));
  CHECK(history.state() == State::planned);
  CHECK(history.highest() == 1);
  history.add(attempt(2, State::running));
  CHECK(history.state() == State::running);
}

TEST_CASE("an earlier attempt that counts again is the state of its run") {
  RunHistory history;
  history.add(attempt(1, State::succeeded));
  history.add(attempt(2, State::failed, kAgain), true);
  CHECK(history.state() == State::succeeded);
  CHECK(history.highest() == 2);
  CHECK(history.last_outcome() == State::failed);
}

TEST_CASE("after a void attempt another one is due, and the last one before it keeps its say") {
  RunHistory history;
  history.add(attempt(1, State::timeout));
  history.add(attempt(2, State::cancelled, kNormal, true));
  CHECK(history.state() == State::planned);
  CHECK(history.highest() == 2);
  CHECK(history.last() == 1);
  CHECK(history.last_state() == State::timeout);
}

TEST_CASE("an attempt that was never handed over leaves its number to the next one") {
  RunHistory history;
  history.add(attempt(1, State::succeeded, kAgain));
  history.add(attempt(2, State::intended));
  history.take_back_highest();
  CHECK(history.state() == State::planned);
  CHECK(history.highest() == 1);
  CHECK(history.is_closed());  // the run begins from its start
  history.add_intended(2);
  CHECK_FALSE(history.is_closed());
}

TEST_CASE("a run table counts what has ended") {
  const Plan plan = one_run();
  RunTable runs(plan, true);
  runs.add(0, attempt(1, State::failed, kAside), true);
  CHECK(runs.open() == 0);
  runs.add(0, attempt(2, State::succeeded), false);
  CHECK(runs.counts().succeeded == 1);
  runs.set_state(0, State::planned);
  CHECK(runs.open() == 1);
  CHECK(runs.counts().succeeded == 0);
}

TEST_CASE("properties: attempts of any kind") {
  CHECK(rc::check("the attempt that counts, state and retries follow from the attempts", [] {
    RunHistory history;
    int counting = 0, last = 0, misses = 0;
    const int count = *rc::gen::inRange(0, 8);
    for (int number = 1; number <= count; ++number) {
      const State state = *rc::gen::elementOf(std::vector<State>(kStates.begin() + 1, kStates.end()));
      const bool is_void = *rc::gen::inRange(0, 4) == 0;
      const Standing standing = is_void ? kNormal : *rc::gen::element(kNormal, kNormal, kAside, kAgain);
      history.add(attempt(number, is_void ? State::cancelled : state, standing, is_void), true);
      if (is_void) continue;
      last = number;
      if (standing == kNormal) counting = number;
      misses = standing == kNormal ? misses + (state == State::lost ? 1 : 0) : 0;
    }
    RC_ASSERT(history.counting() == counting);
    RC_ASSERT(history.highest() == count);
    RC_ASSERT(history.last() == last);
    RC_ASSERT(!(history.is_excluded() && history.is_measured_again()));
    RC_ASSERT((history.is_excluded() || history.is_measured_again()) == (counting == 0 && last > 0));
    if (history.is_measured_again()) RC_ASSERT(history.state() == State::planned);
    if (history.last_state() == State::lost && !history.is_closed()) RC_ASSERT(history.may_retry({.lost = 2}) == (misses <= 2));
  }));
}

#include "base/state_counts.hpp"

#include <doctest/doctest.h>

#include "base/outcome_counts.hpp"

namespace hpcbench {

TEST_CASE("counts of runs by state") {
  StateCounts counts;
  CHECK(counts.text() == "none");
  for (const State state : {State::failed, State::intended, State::succeeded, State::failed}) ++counts[state];
  counts[State::planned] += 0;
  CHECK(counts.text() == "1 waiting, 1 succeeded, 2 failed");
  CHECK(counts.text(State::succeeded) == "1 waiting, 2 failed");
  CHECK(counts.all() == 4);
  CHECK(counts.ended() == 3);
  CHECK(counts.of(State::failed) == 2);
  CHECK(counts.of(State::lost) == 0);
  CHECK(StateCounts{{State::succeeded, 2}}.text(State::succeeded) == "none");
}

TEST_CASE("a run that changes its state is counted once") {
  OutcomeCounts counts{.asked = 3};
  counts.note(State::succeeded);
  counts.note(State::running);
  counts.note(State::cancelled);
  CHECK(counts.ended == 2);
  CHECK(counts.not_carried_out() == 2);
  counts.note(State::running, -1);
  counts.note(State::lost);
  CHECK(counts.ended == 3);
  CHECK(counts.succeeded == 1);
  CHECK(counts.not_carried_out() == 1);
}

}  // namespace hpcbench

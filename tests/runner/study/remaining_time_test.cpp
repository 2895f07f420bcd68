#include "study/remaining_time.hpp"

#include <doctest/doctest.h>

#include "fakes/manual_clock.hpp"

namespace hpcbench {

TEST_CASE("time left: what kept runs took is known at once, and counts down") {
  ManualClock clock;
  RemainingTime remaining(clock, 1);
  remaining.know("a", 10);
  remaining.know("b", 4);
  remaining.expect("a", 2);
  remaining.expect("b", 1);
  CHECK(remaining.text(3) == "about 24.0 s left");
  clock.advance(7);
  CHECK(remaining.text(3) == "about 17.0 s left");
  clock.advance(3);
  remaining.note_end("a", 10.0);
  CHECK(remaining.text(2) == "about 14.0 s left");
  CHECK(remaining.text(0).empty());
}

TEST_CASE("time left: of a configuration that has not run yet the others tell; nothing is made up where none has run") {
  ManualClock clock;
  RemainingTime remaining(clock, 2);
  remaining.expect("a", 2);
  remaining.expect("b", 2);
  CHECK(remaining.text(4).empty());
  clock.advance(6);
  remaining.note_end("a", 6.0);
  CHECK(remaining.text(3) == "about 9.0 s left");  // three runs of 6 s, two at once
  clock.advance(10);
  CHECK(remaining.text(3) == "1.0 s over the estimate (runs took 6.0 s so far)");
}

TEST_CASE("time left: a later end is told with its reason, a small delay is not told at all") {
  ManualClock clock;
  RemainingTime remaining(clock, 1);
  remaining.know("a", 10);
  remaining.expect("a", 4);
  CHECK(remaining.text(4) == "about 40.0 s left");
  clock.advance(30);
  remaining.note_end("a", 30.0);
  CHECK(remaining.text(3) == "about 1 min 00 s left (the last run took 30.0 s, not 10.0 s)");
  clock.advance(20.5);
  remaining.note_end("a", 20.5);
  CHECK(remaining.text(2) == "about 39.5 s left (the last run took 30.0 s, not 10.0 s)");
  clock.advance(5);
  remaining.note_end("a", 5.0);
  CHECK(remaining.text(1) == "about 16.4 s left");
}

TEST_CASE("time left: a reason whose two times read alike is none") {
  ManualClock clock;
  RemainingTime remaining(clock, 1);
  remaining.know("a", 0.151);
  remaining.expect("a", 100);
  CHECK(remaining.text(100) == "about 15.1 s left");
  clock.advance(5);
  remaining.note_end("a", 0.2);
  CHECK(remaining.text(99).find("the last run took") == std::string::npos);
}

TEST_CASE("time left: what runs cost beside their own time shows in the pace") {
  ManualClock clock;
  RemainingTime remaining(clock, 1);
  remaining.expect("a", 10);
  for (int i = 0; i < 4; ++i) {
    clock.advance(3);  // 1 s of work
    remaining.note_end("a", 1.0);
  }
  CHECK(remaining.text(6) == "about 18.0 s left");
}

TEST_CASE("time left: with a scheduler the work that is left, and then the pace at which it gets done") {
  ManualClock clock;
  RemainingTime remaining(clock, std::nullopt);
  remaining.know("a", 100);
  remaining.expect("a", 4);
  CHECK(remaining.text(4) == "runs of 6 min 40 s in all left");
  clock.advance(1000);
  remaining.note_end("a", 100.0);
  CHECK(remaining.text(3) == "about 50 min 00 s left");
}

TEST_CASE("time left: what ended while nobody looked says nothing of the pace") {
  ManualClock clock;
  RemainingTime remaining(clock, std::nullopt);
  for (int i = 0; i < 10; ++i) remaining.note_end("a", 100.0);
  clock.advance(1);
  remaining.expect("a", 2);
  remaining.begin();
  CHECK(remaining.text(2) == "runs of 3 min 20 s in all left");
  clock.advance(50);
  remaining.note_end("a", 100.0);
  CHECK(remaining.text(1) == "about 50.0 s left");
}

TEST_CASE("time left: warm-ups and retries count as the others") {
  ManualClock clock;
  RemainingTime remaining(clock, 1);
  remaining.know("a", 2);
  remaining.expect("a", 3);
  CHECK(remaining.text(6) == "about 12.0 s left");
}

}  // namespace hpcbench

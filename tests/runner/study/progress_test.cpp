#include "study/progress.hpp"

#include <doctest/doctest.h>

#include "fakes/manual_clock.hpp"

namespace hpcbench {

TEST_CASE("progress: of several studies the line never loses runs that have ended when a round begins") {
  ManualClock clock;
  Progress progress(clock, 1, 2);
  progress.count("looks", {.asked = 48});
  progress.count("plain", {.asked = 18});
  progress.begin_round("looks", "look at 8 runs", {.asked = 48});
  CHECK(progress.all_counts().asked == 66);
  progress.count("looks", {.asked = 48, .ended = 48, .succeeded = 47});
  // Two of six rows need 4 runs more; they have 16 already.
  progress.begin_round("looks", "look at 10 runs", {.asked = 20, .ended = 16, .succeeded = 16});
  CHECK(progress.all_counts().asked == 70);
  CHECK(progress.all_counts().ended == 48);
  CHECK(progress.all_counts().succeeded == 47);
  progress.count("looks", {.asked = 20, .ended = 20, .succeeded = 20});
  CHECK(progress.all_counts().asked == 70);
  CHECK(progress.all_counts().ended == 52);
  progress.begin_round("plain", "", {.asked = 18, .ended = 3, .succeeded = 3});
  CHECK(progress.all_counts().ended == 55);
}

}  // namespace hpcbench

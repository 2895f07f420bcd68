#include "study/progress.hpp"

#include <doctest/doctest.h>

#include "fakes/manual_clock.hpp"

namespace hpcbench {

TEST_CASE("progress: of several studies the line never loses runs that have ended when a round begins") {
  ManualClock clock;
  Progress progress(clock, 1, 2);
  progress.count("looks", {.total = 48});
  progress.count("plain", {.total = 18});
  progress.begin_round("looks", "look at 8 runs", {.total = 48});
  CHECK(progress.all_counts().total == 66);
  progress.count("looks", {.total = 48, .done = 48, .succeeded = 47});
  // Two of six rows need 4 runs more; they have 16 already.
  progress.begin_round("looks", "look at 10 runs", {.total = 20, .done = 16, .succeeded = 16});
  CHECK(progress.all_counts().total == 70);
  CHECK(progress.all_counts().done == 48);
  CHECK(progress.all_counts().succeeded == 47);
  progress.count("looks", {.total = 20, .done = 20, .succeeded = 20});
  CHECK(progress.all_counts().total == 70);
  CHECK(progress.all_counts().done == 52);
  progress.begin_round("plain", "", {.total = 18, .done = 3, .succeeded = 3});
  CHECK(progress.all_counts().done == 55);
}

}  // namespace hpcbench

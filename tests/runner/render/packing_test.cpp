#include "render/packing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "render/blocks.hpp"
#include "runner/render/slurm_folder.hpp"

namespace hpcbench {

namespace {

TEST_CASE("side by side: memory and generic resources times the lanes; what cannot be counted is absent") {
  CHECK(times_memory("4G", 3) == "12G");
  CHECK(times_memory("1000", 2) == "2000");
  CHECK(times_memory("4 G", 2) == "8 G");
  for (const char* const text : {"", "0", "G", "-4G", "99999999999999G"}) CHECK_FALSE(times_memory(text, 2));
  CHECK(times_gres("gpu:a100:2", 3) == "gpu:a100:6");
  CHECK(times_gres("gpu:2,fs", 2) == "gpu:4,fs:2");
  CHECK(times_gres("gpu:a100", 2) == "gpu:a100:2");
  for (const char* const text : {"fs:2G", "gpu:0"}) CHECK_FALSE(times_gres(text, 2));
}

/// When the last of these runs has ended, each begun in this order as soon as a lane is free.
double list_schedule_s(const std::vector<double>& runs_s, int lanes) {
  std::vector<double> free_s(static_cast<std::size_t>(lanes), 0);
  for (const double run_s : runs_s) *std::min_element(free_s.begin(), free_s.end()) += run_s;
  return *std::max_element(free_s.begin(), free_s.end());
}

TEST_CASE("side by side: the time of a block suffices in whatever order its runs come") {
  CHECK(packed_time_s(100, 40, 1) == doctest::Approx(100));
  CHECK(packed_time_s(100, 40, 2) == doctest::Approx(70));
  CHECK(packed_time_s(40, 40, 4) == doctest::Approx(40));
  std::vector<double> runs_s = {1, 2, 3, 5, 8, 13};
  do {
    for (const int lanes : {1, 2, 3, 5}) CHECK(list_schedule_s(runs_s, lanes) <= packed_time_s(32, 13, lanes) + 1e-9);
  } while (std::next_permutation(runs_s.begin(), runs_s.end()));
  CHECK(list_schedule_s({1, 1, 1, 1, 2, 2, 4}, 2) <= packed_time_s(12, 4, 2));
  CHECK(list_schedule_s({1, 1, 2}, 2) == doctest::Approx(packed_time_s(4, 2, 2)));  // no less would do
}

TEST_CASE("side by side: a block asks for as many times as its runs can use, and what is left of it for less") {
  const SlurmFolder folder;
  Experiment experiment = command_experiment({"true"}, 1);
  experiment.matrix.push_back({"k", {Value::from_integer(1), Value::from_integer(2), Value::from_integer(3)}});
  experiment.allocation = Allocation::block;
  experiment.side_by_side = 2;
  experiment.executor = "slurm";
  experiment.repeats = 1;
  experiment.work.resources.time_s = 60;
  experiment.work.resources.mem = "4G";
  experiment.work.resources.cpus_per_task = 3;
  const Plan plan = make_plan(experiment);
  const std::vector<PlannedRun> runs = repeats_in_order(plan);
  const std::string options = join(make_blocks(experiment, plan, runs, 100, folder.context)[0].options, " ");
  for (const char* const option : {"--nodes=1", "--ntasks-per-node=2", "--cpus-per-task=3", "--mem=8G", "--time=00:04:00"}) {
    CAPTURE(option);  // 80 s for each of three over two lanes, half of one, and a minute: 3 min 40 s
    CHECK(options.find(option) != std::string::npos);
  }
  const std::string rest = join(make_blocks(experiment, plan, {runs[0]}, 100, folder.context)[0].options, " ");
  for (const char* const option : {"--ntasks-per-node=1", "--mem=4G", "--time=00:03:00"}) {
    CAPTURE(option);
    CHECK(rest.find(option) != std::string::npos);
  }
  experiment.allocation = Allocation::run;
  CHECK(lanes_of(experiment, runs.size()) == 1);
}

}  // namespace

}  // namespace hpcbench

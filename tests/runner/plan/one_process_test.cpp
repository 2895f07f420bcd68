#include <doctest/doctest.h>

#include "fakes/example_experiment.hpp"
#include "plan/plan.hpp"

using namespace hpcbench;

TEST_CASE("dp of the built-in trainer is one process with the gpus of its node; others have one process per gpu") {
  Experiment experiment = example_experiment();
  experiment.work.trainer = "mnist_rnn";
  experiment.work.command.clear();
  experiment.overrides.clear();
  experiment.matrix = {plain_axis("strategy", {"dp", "ddp"}), plain_axis("gpus_per_node", {"4"})};
  const Plan plan = make_plan(experiment);
  REQUIRE(plan.configurations.size() == 2);
  CHECK(process_count(plan.configurations[0]) == 1);
  CHECK(plan.configurations[0].gpus() == 4);
  CHECK(process_count(plan.configurations[1]) == 4);

  // As a parameter instead of an axis.
  experiment.matrix = {plain_axis("gpus_per_node", {"2"})};
  experiment.work.parameters = {{"strategy", Value::from_text("dp")}};
  CHECK(process_count(make_plan(experiment).configurations[0]) == 1);

  // A command of one's own may mean anything by `dp`.
  experiment.work.trainer.reset();
  experiment.work.command = {"train"};
  CHECK(process_count(make_plan(experiment).configurations[0]) == 2);
}

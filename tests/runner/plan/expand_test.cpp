#include <doctest/doctest.h>

#include <functional>

#include "base/error.hpp"
#include "fakes/checks.hpp"
#include "fakes/example_experiment.hpp"
#include "plan/plan.hpp"

using namespace hpcbench;

namespace {

/// The points of a plan, one line each, as a person would write them down.
std::vector<std::string> described_points(const Plan& plan) {
  std::vector<std::string> lines;
  for (const Configuration& configuration : plan.configurations) lines.push_back(describe(plan.bindings(configuration)));
  return lines;
}

}  // namespace

TEST_CASE("the matrix is a cross product in the order of the file, the first axis slowest") {
  const Plan plan = make_plan(example_experiment());
  CHECK(plan.axes == std::vector<std::string>{"strategy", "gpus_per_node", "nodes"});
  CHECK(plan.varied == std::vector<std::string>{"strategy", "gpus_per_node"});
  CHECK(described_points(plan) ==
        std::vector<std::string>{"strategy=baseline, gpus_per_node=1, nodes=1", "strategy=baseline, gpus_per_node=2, nodes=1",
                                 "strategy=ddp, gpus_per_node=1, nodes=1", "strategy=ddp, gpus_per_node=2, nodes=1"});
  CHECK(plan.configurations[3].gpus() == 2);
  CHECK(plan.repeats == 2);
}

TEST_CASE("a zip block is one more axis") {
  Experiment experiment = example_experiment();
  experiment.matrix = {plain_axis("nodes", {"1", "2"})};
  experiment.zip = {{plain_axis("precision", {"fp32", "bf16"}), plain_axis("rate", {"5e-5", "3e-5"})}};
  experiment.work.command = {"x"};
  CHECK(described_points(make_plan(experiment)) ==
        std::vector<std::string>{
            "nodes=1, precision=fp32, rate=5e-5, gpus_per_node=1", "nodes=1, precision=bf16, rate=3e-5, gpus_per_node=1",
            "nodes=2, precision=fp32, rate=5e-5, gpus_per_node=1", "nodes=2, precision=bf16, rate=3e-5, gpus_per_node=1"});
  experiment.zip.front()[1].values.pop_back();
  CHECK(error_of<InputError>([&] { make_plan(experiment); }).find("rate has 1") != std::string::npos);
}

TEST_CASE("exclude takes points of the matrix away, include adds whole points once") {
  Experiment experiment = example_experiment();
  experiment.exclude = {{{"strategy", plain_values({"baseline", "dp"})}, {"gpus_per_node", plain_values({"2"})}}};
  experiment.include = {plain_bindings({{"strategy", "ddp"}, {"gpus_per_node", "4"}, {"nodes", "2"}}),
                        plain_bindings({{"gpus_per_node", "2.0"}, {"strategy", "ddp"}}),      // there already
                        plain_bindings({{"strategy", "baseline"}, {"gpus_per_node", "2"}})};  // excluded, but asked for
  CHECK(described_points(make_plan(experiment)) ==
        std::vector<std::string>{"strategy=baseline, gpus_per_node=1, nodes=1", "strategy=ddp, gpus_per_node=1, nodes=1",
                                 "strategy=ddp, gpus_per_node=2, nodes=1", "strategy=ddp, gpus_per_node=4, nodes=2",
                                 "strategy=baseline, gpus_per_node=2, nodes=1"});
  experiment.include = {plain_bindings({{"gpus_per_node", "4"}})};
  CHECK(error_of<InputError>([&] { make_plan(experiment); }).find("`strategy` is missing") != std::string::npos);
}

TEST_CASE("a point that is asked for several times stands where it was first, and every id finds its own") {
  Experiment experiment = example_experiment();
  const auto included = [](const char* gpus) { return plain_bindings({{"strategy", "ddp"}, {"gpus_per_node", gpus}}); };
  experiment.include = {included("8"), included("2"), included("4"), included("8.0"),
                        included("1"), included("4"), included("3")};
  const Plan plan = make_plan(experiment);
  CHECK(described_points(plan) ==
        std::vector<std::string>{"strategy=baseline, gpus_per_node=1, nodes=1", "strategy=baseline, gpus_per_node=2, nodes=1",
                                 "strategy=ddp, gpus_per_node=1, nodes=1", "strategy=ddp, gpus_per_node=2, nodes=1",
                                 "strategy=ddp, gpus_per_node=8, nodes=1", "strategy=ddp, gpus_per_node=4, nodes=1",
                                 "strategy=ddp, gpus_per_node=3, nodes=1"});
  REQUIRE(plan.by_id.size() == 7);
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) CHECK(plan.find(plan.configurations[i].id) == i);
  CHECK_FALSE(plan.find("0000000000000000"));
}

TEST_CASE("a study may be nothing but included points") {
  Experiment experiment = example_experiment();
  experiment.matrix.clear();
  experiment.include = {plain_bindings({{"strategy", "ddp"}, {"nodes", "2"}}),
                        plain_bindings({{"strategy", "ddp"}, {"nodes", "4"}})};
  const Plan plan = make_plan(experiment);
  CHECK(plan.axes == std::vector<std::string>{"strategy", "nodes", "gpus_per_node"});
  CHECK(plan.varied == std::vector<std::string>{"nodes"});
  CHECK(plan.configurations.size() == 2);
}

TEST_CASE("nothing left, and far too much, are errors") {
  Experiment experiment = example_experiment();
  experiment.exclude = {{{"strategy", plain_values({"baseline", "ddp"})}}};
  experiment.exclude_place = {"example.yaml", 7, 11};
  CHECK(error_of<InputError>([&] { make_plan(experiment); }) ==
        "example.yaml:7:11: error: no configuration is left: `exclude` takes away every point of the matrix");
  experiment.exclude.clear();
  experiment.limits.configurations = 3;
  CHECK(error_of<InputError>([&] { make_plan(experiment); }).find("4 points, more than limits.configurations (3)") !=
        std::string::npos);
}

TEST_CASE("of overrides the last that matches wins, key by key, and equal work is shared") {
  Experiment experiment = example_experiment();
  experiment.repeats = 1;
  experiment.work.resources.time_s.reset();  // of the points that no override matches
  Override first;
  first.when = {{"strategy", plain_values({"baseline"})}};
  first.command = {"python", "single.py"};
  first.launch = Launch::once;
  first.resources.time_s = 60;
  first.parameters = plain_bindings({{"lr", "2"}});
  Override second;
  second.when = {{"strategy", plain_values({"baseline"})}, {"gpus_per_node", plain_values({"2"})}};
  second.resources.time_s = 90;
  second.resources.cpus_per_task = 4;
  second.parameters = plain_bindings({{"lr", "3"}, {"extra", "x"}});
  experiment.overrides = {first, second};
  const Plan plan = make_plan(experiment);

  const Work& one = *plan.configurations[0].work;
  CHECK(one.command == std::vector<std::string>{"python", "single.py"});
  CHECK(one.launch == Launch::once);
  CHECK(one.resources.time_s == 60);
  CHECK(describe(one.parameters) == "batch_size=8, lr=2");
  const Work& both = *plan.configurations[1].work;
  CHECK(both.command == one.command);
  CHECK(both.resources.time_s == 90);
  CHECK(both.resources.cpus_per_task == 4);
  CHECK(describe(both.parameters) == "batch_size=8, lr=3, extra=x");
  CHECK(plan.configurations[2].work == plan.configurations[3].work);
  CHECK(plan.configurations[2].work->command == experiment.work.command);
  CHECK(process_count(plan.configurations[1]) == 1);
  CHECK(process_count(plan.configurations[3]) == 2);
  CHECK_FALSE(hours_at_most(plan, CostUnit::gpu_hours));
}

TEST_CASE("a command in an override takes the place of the trainer") {
  Experiment experiment = example_experiment();
  experiment.work.command.clear();
  experiment.work.trainer = "mnist_rnn";
  Override given;
  given.when = {{"strategy", plain_values({"baseline"})}};
  given.command = {"python", "x.py"};
  experiment.overrides = {given};
  const Plan plan = make_plan(experiment);
  CHECK_FALSE(plan.configurations[0].work->trainer);
  CHECK(plan.configurations[2].work->trainer == "mnist_rnn");
}

TEST_CASE("a placeholder that nothing defines is named with its point") {
  Experiment experiment = example_experiment();
  Override given;
  given.when = {{"strategy", plain_values({"ddp"})}};
  given.command = {"x", "{{batchsize}}"};
  experiment.overrides = {given};
  const std::string text = error_of<InputError>([&] { make_plan(experiment); });
  CHECK(text.find("strategy=ddp, gpus_per_node=1, nodes=1") != std::string::npos);
  CHECK(text.find("`{{batchsize}}`, which nothing defines (did you mean `batch_size`?)") != std::string::npos);
}

TEST_CASE("GPU-hours are gpus x time limit x repeats and warm-ups") {
  Experiment experiment = example_experiment();
  experiment.executor = "local";
  experiment.warmups = 1;
  // (1 + 2 + 1 + 2) gpus x 0.5 h x (2 repeats + 1 warm-up)
  CHECK(hours_at_most(make_plan(experiment), CostUnit::gpu_hours) == doctest::Approx(9.0));
  experiment.executor = "slurm";  // warm-ups would warm another node
  const Plan plan = make_plan(experiment);
  CHECK(hours_at_most(plan, CostUnit::gpu_hours) == doctest::Approx(6.0));
  CHECK(plan.notes.size() == 1);
}

TEST_CASE("the seed of a run follows from its repeat") {
  Experiment experiment = example_experiment();
  CHECK(run_seed(experiment, {RunKind::repeat, 1}) == 2);
  CHECK(run_seed(experiment, {RunKind::repeat, 6}) == 7);
  experiment.seed_per_repeat = false;
  experiment.seed = 42;
  CHECK(run_seed(experiment, {RunKind::repeat, 6}) == 42);
}

TEST_CASE("--only keeps the configurations that match") {
  const Plan plan = make_plan(example_experiment());
  const Plan some = select(plan, parse_only("strategy=ddp,gpus_per_node=2|4"));
  CHECK(described_points(some) == std::vector<std::string>{"strategy=ddp, gpus_per_node=2, nodes=1"});
  CHECK(some.find(plan.configurations[3].id) == 0);
  CHECK_FALSE(some.find(plan.configurations[0].id));
  CHECK(plan.find(plan.configurations[2].id) == 2);

  CHECK(parse_only("a = x, b=1") == parse_only("a=x,b=1"));
  const Condition escaped = parse_only("a=x\\,y|p\\|q,b=c\\d\\\\,d=e\\\\|\\f\\");
  REQUIRE(escaped.size() == 3);
  CHECK(escaped[0].second == std::vector<Value>{Value::from_text("x,y"), Value::from_text("p|q")});
  CHECK(escaped[1].second == std::vector<Value>{Value::from_text("c\\d\\")});
  CHECK(escaped[2].second == std::vector<Value>{Value::from_text("e\\"), Value::from_text("\\f\\")});
  CHECK(error_of<InputError>([&] { select(plan, parse_only("strategi=ddp")); }).find("did you mean `strategy`?") !=
        std::string::npos);
  CHECK(error_of<InputError>([&] { select(plan, parse_only("gpus_per_node=3")); }) ==
        "error: no configuration has gpus_per_node=3 (there are: 1, 2)");
  for (const char* text : {"", "strategy", "=ddp", "strategy=", "strategy=a,strategy=b"}) {
    CAPTURE(text);
    CHECK(error_of<InputError>([&] { parse_only(text); }).starts_with("error: --only "));
  }
}

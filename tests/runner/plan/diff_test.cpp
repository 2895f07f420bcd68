#include "plan/diff.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "fakes/example_experiment.hpp"

using namespace hpcbench;

namespace {

/// Of the example's 4 x 2 runs three are there, one of them twice; beside them a repeat that is no longer asked for, a warm-up,
/// and three runs of two configurations that are gone.
std::vector<ExistingRun> some_existing(const Plan& plan) {
  const std::string& first = plan.configurations[0].id;
  const std::string& last = plan.configurations[3].id;
  return {{last, {RunKind::repeat, 2}},
          {first, {RunKind::repeat, 1}},
          {first, {RunKind::repeat, 2}},
          {first, {RunKind::repeat, 1}},
          {first, {RunKind::repeat, 3}},
          {first, {RunKind::warmup, 1}},
          {"ffffffffffffffff", {RunKind::repeat, 1}},
          {"0000000000000000", {RunKind::repeat, 2}},
          {"0000000000000000", {RunKind::repeat, 1}}};
}

}  // namespace

TEST_CASE("a plan is compared with the runs on record") {
  const Plan plan = make_plan(example_experiment());
  const PlanDiff diff = compare_plan(plan, some_existing(plan));
  CHECK(diff.total.fresh == 5);
  CHECK(diff.total.kept == 3);
  CHECK(diff.total.orphaned == 4);
  CHECK(diff.rows[0].fresh == 0);
  CHECK(diff.rows[0].kept == 2);
  CHECK(diff.rows[0].orphaned == 1);
  CHECK(diff.rows[1].fresh == 2);
  CHECK(diff.rows[3].kept == 1);
  CHECK(diff.orphan_ids == std::vector<std::string>{"0000000000000000", "ffffffffffffffff"});
}

TEST_CASE("the text for people has a row for each configuration, the totals and the difference") {
  Experiment experiment = example_experiment();
  experiment.warmups = 1;
  experiment.notes = {"a note"};
  const Plan plan = make_plan(experiment);
  const std::string text = plan_text(experiment, plan, compare_plan(plan, some_existing(plan)));
  CHECK(
      text.starts_with("example: 4 configurations, 8 runs, 4 warm-ups, 9.0 GPU-hours at most\n\n"
                       "config_id         strategy  gpus_per_node  gpus  runs  new  kept  orphaned\n"));
  CHECK(text.find(plan.configurations[3].id + "  ddp       2              2     2     1    1     0\n") != std::string::npos);
  CHECK(
      text.ends_with("\n+5 new  =3 kept  -4 orphaned (runs)\n"
                     "no longer asked for, kept on disk: 0000000000000000 ffffffffffffffff\nnote: a note\n"));
}

TEST_CASE("a long table is cut, its numbers are not") {
  Experiment experiment = example_experiment();
  Axis epochs{"epochs", {}};
  for (int i = 1; i <= 20; ++i) epochs.values.push_back(Value::from_integer(i));
  experiment.matrix.push_back(epochs);
  experiment.work.resources.time_s.reset();
  const Plan plan = make_plan(experiment);
  const std::string text = plan_text(experiment, plan, compare_plan(plan, {}));
  CHECK(text.starts_with("example: 80 configurations, 160 runs, GPU-hours without a limit"));
  CHECK(text.find("\n... 40 more\n\n+160 new  =0 kept  -0 orphaned (runs)\n") != std::string::npos);
}

TEST_CASE("what programs read has the fields that are promised, and numbers as they were spelled") {
  Experiment experiment = example_experiment();
  experiment.matrix.push_back(plain_axis("rate", {"1e-5", "\"q\""}));
  experiment.notes = {"a \"note\""};
  const Plan plan = make_plan(experiment);
  const std::string text = plan_json(experiment, plan, compare_plan(plan, some_existing(plan)));
  CHECK(text.find("\"rate\":1e-5,\"nodes\":1}") != std::string::npos);
  const auto json = nlohmann::json::parse(text);
  CHECK(json["schema"] == 1);
  CHECK(json["experiment"] == "example");
  CHECK(json["configurations"] == 8);
  CHECK(json["runs"] == 16);
  CHECK(json["gpu_hours"] == 12.0);
  CHECK(json["new"].get<int>() + json["kept"].get<int>() == 16);
  CHECK(json["notes"] == nlohmann::json::array({"a \"note\""}));
  CHECK(json["rows"].size() == 8);
  const auto& row = json["rows"][1];
  CHECK(row["config_id"] == plan.configurations[1].id);
  CHECK(row["axes"] == nlohmann::json{{"strategy", "baseline"}, {"gpus_per_node", 1}, {"rate", "\"q\""}, {"nodes", 1}});
  CHECK(row["gpus"] == 1);
  CHECK(row["repeats"] == 2);
  CHECK(row["new"].get<int>() + row["kept"].get<int>() == 2);
  CHECK(row["orphaned"].is_number());
  experiment.work.resources.time_s.reset();
  const Plan unlimited = make_plan(experiment);
  CHECK(nlohmann::json::parse(plan_json(experiment, unlimited, compare_plan(unlimited, {})))["gpu_hours"].is_null());
}

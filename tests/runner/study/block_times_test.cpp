// What blocks ask for, from the attempts on record.
#include <doctest/doctest.h>

#include <memory>

#include "study/blocks/find_block_times.hpp"

namespace hpcbench {

namespace {

AttemptRecord attempt_of(const std::string& config_id, int repeat, State state, double took_s) {
  AttemptRecord record;
  record.key = {config_id, {RunKind::repeat, repeat}, 1};
  record.executor = "slurm";
  record.state = state;
  record.started_unix_s = 1000;
  record.finished_unix_s = 1000 + took_s;
  return record;
}

Plan plan_of_two() {
  Plan plan;
  for (const char* id : {"a", "b"}) {
    Configuration configuration;
    configuration.id = id;
    auto work = std::make_shared<Work>();
    work->resources.time_s = 100;
    configuration.work = work;
    plan.configurations.push_back(configuration);
  }
  return plan;
}

TEST_CASE("estimates: of runs that succeeded on Slurm, for each configuration by itself") {
  const Plan plan = plan_of_two();
  CHECK(estimate_runs(plan, {}).empty());
  const auto estimates =
      estimate_runs(plan, {attempt_of("a", 1, State::succeeded, 10), attempt_of("a", 2, State::succeeded, 20),
                           attempt_of("x", 1, State::succeeded, 1)});
  REQUIRE(estimates.size() == 1);
  CHECK(estimates.at("a").seconds == 30);
  CHECK(estimates.at("a").runs == 2);
}

TEST_CASE("estimates: a run that reached its limit needs all of it; what ended otherwise says nothing") {
  const Plan plan = plan_of_two();
  AttemptRecord local = attempt_of("b", 1, State::succeeded, 1);
  local.executor = "local";
  AttemptRecord imported = attempt_of("b", 1, State::succeeded, 1);
  imported.key.run.kind = RunKind::imported;
  const auto estimates =
      estimate_runs(plan, {attempt_of("a", 1, State::succeeded, 10), attempt_of("a", 2, State::timeout, 5),
                           attempt_of("b", 1, State::failed, 1), attempt_of("b", 2, State::lost, 1), local, imported});
  REQUIRE(estimates.size() == 1);
  CHECK(estimates.at("a").seconds == 100);
}

/// Answers of Slurm's tools by their names; a tool without one fails.
class Answers : public ToolRunner {
 public:
  std::map<std::string, std::string> by_tool;

 private:
  ToolResult perform(const ToolCall& call) override {
    const auto found = by_tool.find(call.argv.front());
    if (found == by_tool.end()) return {ToolResult::Kind::exited, 1, {}, "no answer"};
    return {ToolResult::Kind::exited, 0, found->second, {}};
  }
};

TEST_CASE("limits: the shorter one of the partition and of the QOS; what is not known limits nothing") {
  const Plan plan = plan_of_two();
  Experiment experiment;
  Answers tools;
  CHECK(find_longest_jobs(experiment, plan, tools).empty());
  tools.by_tool["scontrol"] = "PartitionName=main Default=YES MaxTime=00:05:00\nPartitionName=free MaxTime=UNLIMITED\n";
  CHECK(find_longest_jobs(experiment, plan, tools).at("").seconds == 300);
  experiment.site.partition = "free";
  CHECK(find_longest_jobs(experiment, plan, tools).empty());
  experiment.site.qos = "tight";
  CHECK(find_longest_jobs(experiment, plan, tools).empty());
  tools.by_tool["sacctmgr"] = "tight|00:04:00\n";
  CHECK(find_longest_jobs(experiment, plan, tools).at("free").whose == "MaxWall of QOS `tight`");
  experiment.site.partition = "main";
  CHECK(find_longest_jobs(experiment, plan, tools).at("main").seconds == 240);
  tools.by_tool["sacctmgr"] = "tight|00:06:00\n";
  CHECK(find_longest_jobs(experiment, plan, tools).at("main").whose == "MaxTime of partition `main`");
}

}  // namespace

}  // namespace hpcbench

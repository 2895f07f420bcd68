#include "render/blocks.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/shuffle.hpp"
#include "base/text.hpp"
#include "fakes/checks.hpp"
#include "render/block_parts.hpp"
#include "runner/render/slurm_folder.hpp"

namespace hpcbench {

namespace {

/// 2 x 3 configurations: nodes 1 and 2, k 1 to 3; two repeats.
Experiment block_experiment() {
  Experiment experiment = command_experiment({"true"}, 2);
  experiment.matrix.push_back({"nodes", {Value::from_integer(1), Value::from_integer(2)}});
  experiment.matrix.push_back({"k", {Value::from_integer(1), Value::from_integer(2), Value::from_integer(3)}});
  experiment.allocation = Allocation::block;
  experiment.executor = "slurm";
  experiment.repeats = 2;
  experiment.work.resources.time_s = 60;
  experiment.work.resources.mem = "4 G";
  return experiment;
}

TEST_CASE("blocks: one repeat of one shape each, in the plan's order; equal ones share an array") {
  const SlurmFolder folder;
  const Experiment experiment = block_experiment();
  const Plan plan = make_plan(experiment);
  const std::vector<PlannedRun> runs = repeats_in_order(plan);
  const auto batches = make_blocks(experiment, plan, runs, 100, folder.context);
  REQUIRE(batches.size() == 2);  // by nodes
  std::size_t all = 0;
  for (const JobBatch& batch : batches) {
    REQUIRE(batch.jobs.size() == 2);
    for (const auto& block : batch.jobs) {
      CHECK(block.size() == 3);
      CHECK(std::is_sorted(block.begin(), block.end()));
      for (const std::size_t i : block) CHECK(runs[i].block == runs[block.front()].block);
      all += block.size();
    }
    const std::string options = join(batch.options, " ");
    CHECK(options.find("--time=00:05:00") != std::string::npos);  // 60 s, and 60 s + 20 s for each of three
    CHECK(options.find("--signal") == std::string::npos);         // each run's own limit is kept by the launcher
  }
  CHECK(all == runs.size());
  CHECK(make_blocks(experiment, plan, runs, 1, folder.context).size() == 4);
  // What is left of a block needs less time, and so an array of its own.
  const std::vector<PlannedRun> rest = {runs[0]};
  CHECK(join(make_blocks(experiment, plan, rest, 100, folder.context)[0].options, " ").find("--time=00:03:00") !=
        std::string::npos);
}

TEST_CASE("blocks: their script starts the launcher of blocks, and steps ask for what they need by themselves") {
  const SlurmFolder folder;
  const Experiment experiment = block_experiment();
  const Plan plan = make_plan(experiment);
  const auto batches = make_blocks(experiment, plan, repeats_in_order(plan), 100, folder.context);
  const auto script =
      render_batch_script(experiment, plan.configurations.front(), batches.front(), "00112233445566aa", folder.context, true);
  CHECK(script->find("launch --job ") != std::string::npos);
  CHECK(script->find("2 blocks, one element of the array each") != std::string::npos);
  const RenderedAttempt attempt = render_attempt(experiment, plan, 0, {RunKind::repeat, 1}, 1, "b", folder.context);
  CHECK(attempt.job_sh.find("--immediate=60 '--mem=4 G' --gpus-per-node=2 ") != std::string::npos);
}

TEST_CASE("blocks: runs without a time limit, and blocks that no job takes, are refused at their place") {
  Experiment experiment = block_experiment();
  CHECK_NOTHROW(check_blocks(experiment, make_plan(experiment)));
  experiment.origins["allocation.per"] = "x.yaml:3:19";
  experiment.work.resources.time_s.reset();
  const std::string refusal = error_of<InputError>([&] { check_blocks(experiment, make_plan(experiment)); });
  CHECK(refusal.starts_with("x.yaml:3:19: error: `allocation: {per: block}` needs `resources.time`"));
  experiment.executor = "local";
  CHECK_NOTHROW(check_blocks(experiment, make_plan(experiment)));
  experiment = block_experiment();
  for (int i = 4; i <= 1001; ++i) experiment.matrix.back().values.push_back(Value::from_integer(i));
  CHECK_THROWS_AS(check_blocks(experiment, make_plan(experiment)), InputError);
}

TEST_CASE("blocks: mixed ones have the nodes of their largest run, and what is left of one those of what is left") {
  const SlurmFolder folder;
  Experiment experiment = block_experiment();
  experiment.mixed_shapes = true;
  const Plan plan = make_plan(experiment);
  const std::vector<PlannedRun> runs = repeats_in_order(plan);
  const auto batches = make_blocks(experiment, plan, runs, 100, folder.context);
  REQUIRE(batches.size() == 1);
  REQUIRE(batches[0].jobs.size() == 2);
  CHECK(batches[0].jobs[0].size() == 6);
  CHECK(join(batches[0].options, " ").find("--nodes=2 ") != std::string::npos);
  const auto shapes = block_shapes(experiment, plan);
  REQUIRE(shapes.size() == 1);
  CHECK(shapes[0].node_s == 6 * 2 * 60);
  CHECK(shapes[0].idle_s == 3 * 1 * 60);  // three runs of one node
  std::vector<PlannedRun> small;
  for (const PlannedRun& run : runs) {
    if (plan.configurations[run.configuration].nodes == 1) small.push_back(run);
  }
  CHECK(join(make_blocks(experiment, plan, small, 100, folder.context)[0].options, " ").find("--nodes=1 ") !=
        std::string::npos);
  const RenderedAttempt attempt = render_attempt(experiment, plan, 0, {RunKind::repeat, 1}, 1, "b", folder.context);
  CHECK(attempt.job_sh.find("${HPCBENCH_NODELIST:+--nodelist=\"$HPCBENCH_NODELIST\"} ") != std::string::npos);
  experiment.most_idle = 0.25;  // exactly what it is
  CHECK_NOTHROW(check_blocks(experiment, plan));
  experiment.most_idle = 0.24;
  CHECK_THROWS_AS(check_blocks(experiment, plan), InputError);
}

TEST_CASE("estimates: 1.5 times the smallest value that 90 % do not exceed, at most the limit") {
  CHECK(estimate_run({4}, 100).seconds == 6);
  CHECK(estimate_run({4, 8, 6}, 100).seconds == 12);
  CHECK(estimate_run({10, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 100).seconds == 13.5);
  CHECK(estimate_run({10, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 100).runs == 10);
  CHECK(estimate_run({70}, 100).seconds == 100);
}

TEST_CASE("estimates: a block asks for them, for attempts after the first for the limit; run.json has what was asked for") {
  SlurmFolder folder;
  Experiment experiment = block_experiment();
  experiment.estimated_time = true;
  experiment.work.resources.time_s = 600;
  const Plan plan = make_plan(experiment);
  folder.context.block_times.estimates[plan.configurations[0].id] = {30.5, 4};
  std::vector<PlannedRun> runs = repeats_in_order(plan);
  std::erase_if(runs, [&](const PlannedRun& run) { return run.block > 1 || plan.configurations[run.configuration].nodes > 1; });
  const auto time_of = [&] { return *block_time_s(plan, runs, folder.context.block_times); };
  CHECK(time_of() == 60 + 3 * 20 + 30.5 + 600 + 600);
  CHECK(join(make_blocks(experiment, plan, runs, 100, folder.context)[0].options, " ").find("--time=00:23:00") !=
        std::string::npos);
  for (PlannedRun& run : runs) run.attempt = 2;
  CHECK(time_of() == 60 + 3 * 20 + 3 * 600);
  const auto run_json = [&](std::size_t configuration, int attempt) {
    return render_attempt(experiment, plan, configuration, {RunKind::repeat, 1}, attempt, "b", folder.context).run_json;
  };
  CHECK(run_json(0, 1).find("\"estimated_s\": 30.5,") != std::string::npos);
  CHECK(run_json(0, 1).find("\"time_s\":600,") != std::string::npos);
  CHECK(run_json(0, 2).find("estimated_s") == std::string::npos);
  CHECK(run_json(1, 1).find("estimated_s") == std::string::npos);
}

TEST_CASE("estimates: the plan says how the time of blocks is made") {
  Experiment experiment = block_experiment();
  experiment.estimated_time = true;
  const Plan plan = make_plan(experiment);
  CHECK(describe_blocks(experiment, plan).back() == "time: full limits: nothing has finished yet");
  BlockTimes times;
  times.estimates[plan.configurations[0].id] = {12, 3};
  const auto lines = describe_blocks(experiment, plan, times);
  REQUIRE(lines.size() == 9);
  CHECK(lines[3].find(": estimated 12.0 s, 1.5 x the 90 % quantile of 3 finished runs; its limit is ") != std::string::npos);
  CHECK(lines[4].find(": full limit, 1 min") != std::string::npos);
  CHECK(lines[4].ends_with(": nothing has finished yet"));
}

/// Needs, configurations 0, 1, 2 ... and their baselines.
std::vector<PartMember> members_of(const std::vector<double>& needs_s, const std::vector<std::size_t>& baselines) {
  std::vector<PartMember> members;
  for (std::size_t i = 0; i < needs_s.size(); ++i) members.push_back({needs_s[i], i, baselines[i]});
  return members;
}

TEST_CASE("parts: what is compared with one baseline stays with it where that fits into a job") {
  using Parts = std::vector<std::vector<std::size_t>>;
  CHECK(split_block(members_of({3, 3, 3, 3}, {0, 1, 0, 1}), 6) == Parts{{0, 2}, {1, 3}});
  CHECK(split_block(members_of({3, 3, 3, 3}, {0, 1, 0, 1}), 11) == Parts{{0, 2}, {1, 3}});
  CHECK(split_block(members_of({3, 3, 3, 3}, {0, 1, 0, 1}), 12) == Parts{{0, 1, 2, 3}});
  CHECK(split_block(members_of({4, 1, 1}, {0, 1, 2}), 5) == Parts{{0, 1}, {2}});
  CHECK(split_block(members_of({3, 3, 3, 3, 3}, {4, 4, 4, 4, 4}), 6) == Parts{{0, 4}, {1, 2}, {3}});
  CHECK(split_block(members_of({9, 1}, {0, 0}), 5) == Parts{{0}, {1}});
}

TEST_CASE("parts: each run is in one, none is longer than a job may be, and the order of running changes none of them") {
  CHECK(rc::check("any members", [] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 30);
    std::vector<PartMember> members;
    for (std::size_t i = 0; i < count; ++i) {
      members.push_back({static_cast<double>(*rc::gen::inRange(1, 20)), i, *rc::gen::inRange<std::size_t>(0, count)});
    }
    std::vector<PartMember> shuffled_members;
    for (const std::size_t i : shuffled(count, *rc::gen::arbitrary<unsigned>(), 0)) shuffled_members.push_back(members[i]);
    const auto parts_by_configuration = [](const std::vector<PartMember>& given) {
      std::vector<std::vector<std::size_t>> parts;
      for (const auto& part : split_block(given, 20)) {
        double sum_s = 0;
        parts.emplace_back();
        for (const std::size_t i : part) {
          sum_s += given[i].needed_s;
          parts.back().push_back(given[i].configuration);
        }
        RC_ASSERT(sum_s <= 20);
        RC_ASSERT(std::is_sorted(part.begin(), part.end()));
        std::sort(parts.back().begin(), parts.back().end());
      }
      return parts;
    };
    const auto parts = parts_by_configuration(members);
    std::vector<std::size_t> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    std::sort(all.begin(), all.end());
    RC_ASSERT(all.size() == count);
    RC_ASSERT(std::adjacent_find(all.begin(), all.end()) == all.end());
    RC_ASSERT(parts_by_configuration(shuffled_members) == parts);
  }));
}

TEST_CASE("parts: a block that Slurm would refuse is split, in every repeat alike, and the plan says why") {
  SlurmFolder folder;
  Experiment experiment = block_experiment();
  experiment.matrix.back().values.push_back(Value::from_integer(4));
  experiment.baseline = {{"k", {Value::from_integer(1)}}};
  const Plan plan = make_plan(experiment);
  const std::vector<PlannedRun> runs = repeats_in_order(plan);
  folder.context.block_times.longest[""] = {300, "MaxTime of partition `short`"};  // 3 runs: 60 + 3 x 80
  const auto batches = make_blocks(experiment, plan, runs, 100, folder.context);
  std::map<std::vector<long long>, int> parts;  // values of k: how often
  for (const JobBatch& batch : batches) {
    for (const auto& block : batch.jobs) {
      std::vector<long long> values;
      for (const std::size_t i : block)
        values.push_back(*find_binding(plan.bindings(plan.configurations[runs[i].configuration]), "k")->integer());
      std::sort(values.begin(), values.end());
      ++parts[values];
    }
  }
  CHECK(parts == std::map<std::vector<long long>, int>{{{1, 2, 3}, 4}, {{4}, 4}});  // 2 repeats, 2 numbers of nodes
  const auto lines = describe_blocks(experiment, plan, folder.context.block_times);
  CHECK(lines[0].find("2 jobs of 3 runs (part 1 of 2), one after the other: ") != std::string::npos);
  CHECK(
      std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
        return line ==
               "blocks: 4 runs take 7 min one after the other, and MaxTime of partition `short` is 5 min: each block is split "
               "into 2 parts; 1 configuration is not in the part of what they are compared with: their speedups compare "
               "independent runs";
      }) == 2);
  folder.context.block_times.longest[""].seconds = 380;
  CHECK(block_shapes(experiment, plan, folder.context.block_times).size() == 2);
}

TEST_CASE("parts: a single run that is longer than a job may be is refused at its time limit, and both are named") {
  Experiment experiment = block_experiment();
  experiment.origins["resources.time"] = "x.yaml:5:19";
  BlockTimes times;
  times.longest[""] = {140, "MaxTime of partition `short`"};  // 60 + 20 + 60
  CHECK_NOTHROW(check_longest_jobs(experiment, make_plan(experiment), times));
  times.longest[""].seconds = 120;
  const std::string text = error_of<InputError>([&] { check_longest_jobs(experiment, make_plan(experiment), times); });
  CHECK(text.starts_with("x.yaml:5:19: error: `resources.time` of "));
  CHECK(text.find(" a job that begins and ends one such run takes 3 min, and MaxTime of partition `short` is 2 min\n") !=
        std::string::npos);
  experiment.site.partition = "other";
  CHECK_NOTHROW(check_longest_jobs(experiment, make_plan(experiment), times));
}

TEST_CASE("blocks: what the plan says of them") {
  Experiment experiment = block_experiment();
  const auto lines = describe_blocks(experiment, make_plan(experiment));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].find("2 jobs of 3 runs, one after the other: ") != std::string::npos);
  CHECK(lines[0].find(" x 5 min each; 2 places in the queue instead of 6") != std::string::npos);
  experiment.executor = "local";
  CHECK(describe_blocks(experiment, make_plan(experiment)).size() == 1);
  experiment.allocation = Allocation::run;
  CHECK(describe_blocks(experiment, make_plan(experiment)).empty());
}

}  // namespace

}  // namespace hpcbench

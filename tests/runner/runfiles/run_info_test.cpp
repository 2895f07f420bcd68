#include "runfiles/run_info.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "fakes/checks.hpp"

using namespace hpcbench;

namespace {

/// A run.json with these members beside the least that a job needs.
std::string run_json_with(const std::string& members) { return R"({"schema":1,"argv":["true"],)" + members + "}"; }

std::string refusal_of(const std::string& text) {
  return error_of<InputError>([&] { startable_run(text, "here/run.json"); });
}

}  // namespace

TEST_CASE("one reader of run.json serves who starts a run and who reads its results") {
  const std::string text = run_json_with(
      R"j("executor":"slurm","batch":"00ff","shell":true,"modules":["cuda"],"environment":{"A":"1","B\"":"x y"},)j"
      R"j("output":"merged","nodes":2,"processes":4,"workdir":"/w","resources":{"time_s":60,"cpus_per_task":3},)j"
      R"j("success":{"exit_code":5},"outside":[{"file":"/l/*.csv","glob":"/l/*.csv"},{"file":1}],)j"
      R"j("metrics":[{"name":"loss","file":"*.csv","column":"loss","unit":"","series":"epoch","index":"step"},)j"
      R"j({"name":"t","file":"stdout.log","pattern":"t=(.*)","unit":"s","series":null}])j");
  const RunInfo info = parse_run_json(text);
  CHECK(info.readable);
  CHECK(info.wrong.empty());
  CHECK(info.batch == "00ff");
  REQUIRE(info.metrics.size() == 2);
  CHECK(info.metrics[0].source == "column");
  CHECK(info.metrics[0].series == "epoch");
  CHECK(info.metrics[0].index == "step");
  CHECK(info.metrics[1].selector == "t=(.*)");
  CHECK_FALSE(info.metrics[1].series);
  REQUIRE(info.outside_globs() == 1U);
  CHECK(info.outside->front().glob == "/l/*.csv");
  const RunInfo run = startable_run(text, "here/run.json");
  CHECK(run.shell);
  CHECK(run.argv == std::vector<std::string>{"true"});
  CHECK(run.environment.at("B\"") == "x y");
  CHECK(run.merged_output);
  CHECK(run.nodes == 2);
  CHECK(run.processes == 4);
  CHECK(run.cpus_per_task == 3);
  CHECK(run.time_limit_s == 60);
  CHECK(run.success_exit_code == 5);
  CHECK(run_json_field(text, "processes") == "4");
  CHECK(run_json_field(text, "workdir") == "/w");
  CHECK(run_json_field(text, "nothing").empty());
}

TEST_CASE("rules in reading.json say only whether a metric is a series") {
  const auto series_of = [](const std::string& value) {
    return parse_run_json(R"({"metrics":[{"name":"m","file":"f","pattern":"p","series":)" + value + "}]}").metrics.at(0).series;
  };
  CHECK(series_of("true"));
  CHECK_FALSE(series_of("false"));
  CHECK_FALSE(series_of("\"\""));
}

TEST_CASE("nothing is started by a run.json that says it wrongly; its results are still read") {
  const char* const kFields[] = {"\"processes\":0",           "\"processes\":\"two\"", "\"nodes\":-1",
                                 "\"environment\":{\"A\":1}", "\"shell\":\"no\"",      "\"resources\":{\"cpus_per_task\":0}"};
  for (const std::string field : kFields) {
    const std::string text = run_json_with(field);
    CAPTURE(text);
    CHECK(parse_run_json(text).readable);
    CHECK(refusal_of(text).starts_with("error: here/run.json: the value of `"));
  }
  CHECK(refusal_of(run_json_with("\"processes\":null")).empty());
  CHECK(refusal_of(R"({"schema":1,"processes":1})") == "error: here/run.json: `argv` names no program");
  CHECK(refusal_of(R"({"argv": [})") == "error: here/run.json: no JSON from byte 10 on");
  CHECK(refusal_of("[]") == "error: here/run.json: no JSON object of schema 1");
}

TEST_CASE("a run that an earlier version planned with a retired key does not start") {
  for (const auto& [member, key] : {std::pair(R"("inject":{"kill_rank":{"at_s":30,"rank":0}})", "`inject`"),
                                    std::pair(R"("side_by_side":2,"alone":true)", "`allocation.calibrate`")}) {
    CAPTURE(key);
    CHECK(refusal_of(run_json_with(member)) ==
          std::string("error: here/run.json: this run was planned with ") + key +
              ", which this version does not have: start it with the version that made it");
  }
  CHECK(refusal_of(run_json_with(R"("side_by_side":2,"alone":false)")).empty());
}

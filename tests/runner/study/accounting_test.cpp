#include "study/accounting.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.hpp"
#include "fakes/manual_clock.hpp"
#include "fakes/temporary_folder.hpp"

using namespace hpcbench;

namespace {

/// sacct that gives one answer after the other, then the last one for good.
struct LateAccounting : ToolRunner {
  std::vector<ToolResult> answers;
  std::size_t asked = 0;
  std::vector<std::string> last;
  ToolResult perform(const ToolCall& call) override {
    last = call.argv;
    return answers.at(std::min(asked++, answers.size() - 1));
  }
};

ToolResult sacct_says(const std::string& rows) {
  return {ToolResult::Kind::exited, 0, "JobID|JobName|State|Elapsed|TotalCPU|MaxRSS|ConsumedEnergyRaw\n" + rows, {}};
}

/// A study on Slurm with one configuration, and runs of it that have ended.
struct AccountedStudy {
  explicit AccountedStudy(const std::string& metric) {
    write_file(
        folder / "digits.yaml",
        "experiment: digits\ncommand: [\"true\"]\nlaunch: once\nmatrix: {k: [1]}\nrepeats: 2\nexecutor: slurm\n" + metric,
        Durability::none);
    StudyOptions options;
    options.file = folder / "digits.yaml";
    options.results = folder / "results";
    study = load_study(options);
  }

  std::string attempt(int repeat) const {
    return study.results + "/" + study.plan.configurations[0].id + "/r0" + std::to_string(repeat) + "/a1";
  }
  void finish_run(int repeat, Store& store) {
    const std::string path = attempt(repeat);
    std::filesystem::create_directories(path);
    const std::string number = std::to_string(repeat);
    write_file(path + "/run.json",
               R"({"schema":1,"experiment":"digits","config_id":")" + study.plan.configurations[0].id + R"(","run":"r0)" +
                   number +
                   R"(","attempt":1,"batch":"00ff00ff00ff00ff","executor":"slurm","axes":{"k":1},"gpus":1,)"
                   R"("intended_unix_s":1700000000.5,"success":{"exit_code":0,"pattern":null},)"
                   R"("metrics":[{"name":"rss_bytes","file":"sacct.txt","accounting":"MaxRSS"}]})",
               Durability::none);
    write_file(path + "/started.json", R"({"schema":1,"host":"n1","job":"7_)" + number + R"(","started_unix_s":1700000001})",
               Durability::none);
    write_file(path + "/finished.json", R"({"schema":1,"host":"n1","finished_unix_s":1700000009,"wall_s":8,"exit_code":0})",
               Durability::none);
    store.put({read_attempt(path)});
  }

  TemporaryFolder folder;
  Study study;
};

constexpr const char* kRssMetric = "metrics: [{name: rss_bytes, file: sacct.txt, accounting: MaxRSS}]\n";

}  // namespace

TEST_CASE("accounting that is late is asked again, for all runs at once, and its figures become metrics") {
  AccountedStudy accounted(kRssMetric);
  Store store = Store::open(":memory:");
  ManualClock clock;
  LateAccounting slurm;
  const std::string first =
      "7_1|digits.00ff00ff00ff00ff|COMPLETED|00:00:08|00:07||\n7_1.batch|batch|COMPLETED|00:00:08|00:07|4K|\n";
  const std::string second =
      "7_2|digits.00ff00ff00ff00ff|COMPLETED|00:00:08|00:07||\n7_2.0|true|COMPLETED|00:00:08|00:07|8K|\n";
  slurm.answers = {sacct_says(""), sacct_says(first), sacct_says(second)};
  Accounting accounting(accounted.study, slurm, clock);
  accounting.catch_up(store);
  CHECK(slurm.asked == 0);  // no run lacks anything
  accounted.finish_run(1, store);
  accounted.finish_run(2, store);
  accounting.complete(store);
  CHECK(slurm.asked == 3);
  CHECK(clock.monotonic_s() == 4);  // two pauses
  CHECK(slurm.last[7] == "7_2");    // what is there is not asked for again
  const std::vector<AttemptRecord> records = store.counting_attempts("digits", false);
  REQUIRE(records.size() == 2);
  CHECK(records[0].metrics.at("rss_bytes") == 4096);
  CHECK(records[1].metrics.at("rss_bytes") == 8192);
  accounting.complete(store);
  CHECK(slurm.asked == 3);
}

TEST_CASE("what ended while nobody was there is asked for once, and not waited for") {
  AccountedStudy accounted(kRssMetric);
  Store store = Store::open(":memory:");
  ManualClock clock;
  LateAccounting slurm;
  slurm.answers = {sacct_says("")};
  accounted.finish_run(1, store);
  Accounting accounting(accounted.study, slurm, clock);
  accounting.catch_up(store);
  CHECK(slurm.asked == 1);
  accounting.complete(store);
  CHECK(slurm.asked == 1);
  CHECK(clock.monotonic_s() == 0);
  accounted.finish_run(2, store);
  accounting.complete(store);  // never there: after 30 s enough is enough
  CHECK(clock.monotonic_s() == 30);
  CHECK_FALSE(std::filesystem::exists(accounted.attempt(2) + "/sacct.txt"));
}

TEST_CASE("no accounting, no metric, no waiting") {
  Store store = Store::open(":memory:");
  ManualClock clock;
  LateAccounting slurm;
  slurm.answers = {{ToolResult::Kind::exited, 1, {}, "Slurm accounting storage is disabled\n"}};
  AccountedStudy accounted(kRssMetric);
  accounted.finish_run(1, store);
  Accounting without(accounted.study, slurm, clock);
  without.complete(store);
  CHECK(slurm.asked == 1);
  AccountedStudy plain("");
  plain.finish_run(1, store);
  Accounting unasked(plain.study, slurm, clock);
  unasked.catch_up(store);
  unasked.complete(store);
  CHECK(slurm.asked == 1);
  CHECK(clock.monotonic_s() == 0);
}

TEST_CASE("a file that somebody else wrote is kept") {
  AccountedStudy accounted(kRssMetric);
  Store store = Store::open(":memory:");
  ManualClock clock;
  LateAccounting slurm;
  slurm.answers = {sacct_says("")};
  accounted.finish_run(1, store);
  write_file(accounted.attempt(1) + "/sacct.txt", "JobID|MaxRSS\n7_1|1K\n", Durability::none);
  Accounting accounting(accounted.study, slurm, clock);
  accounting.catch_up(store);
  accounting.complete(store);
  CHECK(slurm.asked == 0);
}

#include "executors/slurm/slurm_accounting.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/files.hpp"
#include "fakes/temporary_folder.hpp"

using namespace hpcbench;

namespace {

/// sacct that says what it is told to.
struct FakeAccounting : ToolRunner {
  ToolResult answer;
  std::vector<std::vector<std::string>> calls;
  ToolResult perform(const ToolCall& call) override {
    calls.push_back(call.argv);
    return answer;
  }
};

const std::string kHeader = "JobID|JobName|State|Elapsed|TotalCPU|MaxRSS|ConsumedEnergyRaw\n";
// As Slurm 23.11 prints two elements of an array, a job that still runs, and one of somebody else's batch.
const std::string kAnswer = kHeader +
                            "100_0|study.aa|COMPLETED|00:00:12|00:20.500||0\n"
                            "100_0.batch|batch|COMPLETED|00:00:12|00:00.500|2048K|0\n"
                            "100_0.0|bash|COMPLETED|00:00:11|00:20.000|1048576K|0\n"
                            "100_1|study.aa|CANCELLED by 1000|00:00:03|00:01.000||\n"
                            "100_10|study.aa|COMPLETED|00:00:09|00:09.000||\n"
                            "101|study.bb|RUNNING|00:01:00|00:00:00||\n"
                            "102|other.cc|COMPLETED|00:00:01|00:00:00||\n";

std::vector<AccountedJob> jobs_in(const TemporaryFolder& folder) {
  std::vector<AccountedJob> jobs = {
      {folder / "a", "100_0", "study.aa"}, {folder / "b", "100_1", "study.aa"}, {folder / "c", "101", "study.bb"},
      {folder / "d", "102", "study.cc"},   {folder / "e", "103", "study.dd"},
  };
  for (const AccountedJob& job : jobs) make_folders(job.folder);
  return jobs;
}

}  // namespace

TEST_CASE("one sacct for all jobs, and a file for each that has ended") {
  const TemporaryFolder folder;
  const std::vector<AccountedJob> jobs = jobs_in(folder);
  FakeAccounting slurm;
  slurm.answer.output = kAnswer;
  const AccountingAnswer answer = fetch_accounting(jobs, accounting_fields({"MaxRSS", "AveCPU"}), 1.7e9, slurm, 60);
  CHECK(answer.accounting);
  CHECK(answer.problem.empty());
  CHECK(answer.written == std::vector<std::size_t>{0, 1});
  REQUIRE(slurm.calls.size() == 1);
  CHECK(slurm.calls[0][0] == "sacct");
  CHECK(slurm.calls[0][7] == "100_0,100_1,101,102,103");
  CHECK(slurm.calls[0].back() == "JobID,JobName,State,Elapsed,TotalCPU,MaxRSS,ConsumedEnergyRaw,AveCPU");
  CHECK(read_file(folder / "a/sacct.txt") == kHeader +
                                                 "100_0|study.aa|COMPLETED|00:00:12|00:20.500||0\n"
                                                 "100_0.batch|batch|COMPLETED|00:00:12|00:00.500|2048K|0\n"
                                                 "100_0.0|bash|COMPLETED|00:00:11|00:20.000|1048576K|0\n");
  CHECK(read_file(folder / "b/sacct.txt") == kHeader + "100_1|study.aa|CANCELLED by 1000|00:00:03|00:01.000||\n");
  for (const char* name : {"c", "d", "e"}) CHECK_FALSE(read_file_if_there(folder / name + "/sacct.txt"));
}

TEST_CASE("no accounting is an answer, a sacct that fails is none") {
  const TemporaryFolder folder;
  const std::vector<AccountedJob> jobs = jobs_in(folder);
  FakeAccounting slurm;
  slurm.answer = {ToolResult::Kind::exited, 1, {}, "Slurm accounting storage is disabled\n"};
  AccountingAnswer answer = fetch_accounting(jobs, accounting_fields({}), 1.7e9, slurm, 60);
  CHECK_FALSE(answer.accounting);
  CHECK(answer.problem.empty());
  slurm.answer = {ToolResult::Kind::not_started, 0, {}, "no such file"};
  CHECK_FALSE(fetch_accounting(jobs, accounting_fields({}), 1.7e9, slurm, 60).accounting);
  slurm.answer = {ToolResult::Kind::exited, 1, kAnswer, "sacct: error: Invalid field requested: \"Foo\"\n"};
  answer = fetch_accounting(jobs, accounting_fields({"Foo"}), 1.7e9, slurm, 60);
  CHECK(answer.accounting);
  CHECK(answer.problem.find("Invalid field") != std::string::npos);
  CHECK(answer.written.empty());
  CHECK(fetch_accounting({}, accounting_fields({}), 1.7e9, slurm, 60).written.empty());
  CHECK(slurm.calls.size() == 3);  // without jobs nothing is asked
}

TEST_CASE("a folder that is gone is a problem of that job alone") {
  const TemporaryFolder folder;
  const std::vector<AccountedJob> jobs = jobs_in(folder);
  std::filesystem::remove_all(jobs[0].folder);
  FakeAccounting slurm;
  slurm.answer.output = kAnswer;
  const AccountingAnswer answer = fetch_accounting(jobs, accounting_fields({}), 1.7e9, slurm, 60);
  CHECK(answer.written == std::vector<std::size_t>{1});
  CHECK_FALSE(answer.problem.empty());
}

TEST_CASE("rows of a job from any text") {
  CHECK(rows_of_job(read_accounting(""), {"", "1", "n"}).empty());
  CHECK(rows_of_job(read_accounting("garbage\n"), {"", "1", "n"}).empty());
  CHECK(rows_of_job(read_accounting(kHeader + "1|n|COMPLETED\n"), {"", "1", "n"}) == kHeader + "1|n|COMPLETED\n");
  CHECK(rows_of_job(read_accounting(kHeader + "1|n|COMPLETED\n"), {"", "1", "m"}).empty());
  CHECK(rows_of_job(read_accounting(kHeader + "1.batch|n|COMPLETED\n"), {"", "1", "n"})
            .empty());  // a step does not tell the job's end
  CHECK(rows_of_job(read_accounting(kHeader + "1|n\n"), {"", "1", "n"}).empty());
  CHECK(rc::check("any text", [](const std::string& text) { rows_of_job(read_accounting(text), {"", "1", "n"}); }));
}

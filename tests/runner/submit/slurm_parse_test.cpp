#include "executors/slurm/slurm_parse.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <utility>

#include "base/files.hpp"
#include "base/tool_runner.hpp"

namespace hpcbench {

namespace {

std::string slurm_fixture(const std::string& name) { return read_file(HPCBENCH_SOURCE_DIR "/tests/slurm/fixtures/" + name); }

SbatchAnswer::Kind refusal_of(const std::string& fixture, int status = 1) {
  return parse_sbatch({ToolResult::Kind::exited, status, "", slurm_fixture(fixture)}).kind;
}

SbatchAnswer printed(const std::string& output, int status = 0) {
  return parse_sbatch({ToolResult::Kind::exited, status, output, ""});
}

using Kind = SbatchAnswer::Kind;

SbatchAnswer::Kind judged(const std::string& errors) { return parse_sbatch({ToolResult::Kind::exited, 1, "", errors}).kind; }

TEST_CASE("what sbatch printed is accepted, refused, limited, full, busy or doubtful") {
  CHECK(printed(slurm_fixture("array.sbatch.out")).job == "21");
  CHECK(printed("42;cluster\n").job == "42");
  CHECK(printed("sbatch: info: site policy v42 applied to 7 nodes\n17\n").job == "17");
  for (const char* name : {"bad-account", "bad-gres", "bad-partition", "bad-qos", "big-array", "no-script", "no-shebang",
                           "time-limit", "too-many-gpus", "too-many-nodes", "too-much-mem"}) {
    CAPTURE(name);
    CHECK(refusal_of(std::string("err-") + name + ".sbatch.err") == Kind::refused);
  }
  CHECK(refusal_of("err-bad-option.sbatch.err", 255) == Kind::refused);
  CHECK(refusal_of("err-bad-time.sbatch.err", 255) == Kind::refused);
  CHECK(refusal_of("no-config.sbatch.err") == Kind::refused);
  CHECK(refusal_of("24.11-no-config.sbatch.err") == Kind::refused);
  CHECK(refusal_of("err-assoc-limit-array.sbatch.err") == Kind::limited);
  CHECK(refusal_of("err-limit-submit.sbatch.err") == Kind::limited);
  CHECK(refusal_of("ctld-down.sbatch.err") == Kind::busy);
  CHECK(judged("sbatch: error: Batch job submission failed: Rate limit exceeded, please retry later") == Kind::busy);
  const std::string policy =
      "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit)";
  for (const char* const limit : {"QOSGrpSubmitJobsLimit", "AssocGrpSubmitJobsLimit", "MaxSubmitJobsPerAccount"})
    CHECK(judged(fmt::format("sbatch: error: {}\n{}", limit, policy)) == Kind::limited);
  CHECK(judged("sbatch: error: QOSMaxCpuPerJobLimit\n" + policy) == Kind::refused);
  const std::string waits = "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n";
  const std::string failed = "sbatch: error: Batch job submission failed: ";
  CHECK(judged(waits + failed + "Resource temporarily unavailable") == Kind::full);
  CHECK(judged(waits + failed + "Socket timed out on send/recv operation") == Kind::doubtful);
  // "Socket timed out": that job had been accepted, and ran.
  CHECK(refusal_of("ctld-paused.sbatch.err") == Kind::doubtful);
}

TEST_CASE("whatever else sbatch does is doubtful") {
  CHECK(printed("").kind == Kind::doubtful);
  CHECK(printed("sbatch: %%@ job ;;;\n").kind == Kind::doubtful);
  CHECK(printed("12\n13\n").kind == Kind::doubtful);
  CHECK(printed("21\n", 1).kind == Kind::doubtful);
  CHECK(parse_sbatch({ToolResult::Kind::killed, 9, "", ""}).kind == Kind::doubtful);
  CHECK(parse_sbatch({ToolResult::Kind::timed_out, 0, "", ""}).kind == Kind::doubtful);
  CHECK(parse_sbatch({ToolResult::Kind::exited, 1, "", "sbatch: error: a text that nobody knows"}).kind == Kind::doubtful);
  // An id and a refusal: something is wrong with one of them.
  CHECK(parse_sbatch({ToolResult::Kind::exited, 1, "7\n", "sbatch: error: Invalid qos specification"}).kind == Kind::doubtful);
  CHECK(parse_sbatch({ToolResult::Kind::not_started, 2, "", "sbatch: No such file or directory"}).kind == Kind::refused);
}

TEST_CASE("squeue's lines: elements of arrays, names with bars, states and reasons") {
  const auto jobs = parse_squeue(
      "21_0|COMPLETED|None|n2|2026-11-21T00:09:28|study.0123\n"
      "21_[5-6,9%2]|PENDING|JobArrayTaskLimit||N/A|study.0123\n"
      "38|COMPLETED|None|n0|2026-11-21T00:11:21|a|b \"c\" e\n"
      "59+0|RUNNING|None|n0|2026-11-21T00:11:43|hb-het\n"
      "no line of ours\n|||||\n");
  REQUIRE(jobs.size() == 5);
  CHECK(jobs[0].id == "21_0");
  CHECK(jobs[0].array == "21");
  CHECK(jobs[0].reason.empty());
  CHECK(jobs[3].index == 9);
  CHECK(jobs[3].reason == "JobArrayTaskLimit");
  CHECK(jobs[3].start.empty());
  CHECK(jobs[4].name == "a|b \"c\" e");
  CHECK(jobs[4].index == -1);
}

TEST_CASE("squeue and sacct of a real array") {
  const auto queued = parse_squeue(slurm_fixture("states.squeue.out"));
  REQUIRE(queued.size() == 12);
  int waiting = 0;
  for (const SlurmJob& job : queued) {
    CHECK(job.name.starts_with("study."));
    waiting += phase_of(job.state) == JobState::waiting ? 1 : 0;
  }
  CHECK(waiting == 6);
  const auto recorded = parse_sacct(slurm_fixture("states.sacct.out"));
  CHECK(recorded.size() == 7);
}

TEST_CASE("squeue and sacct of the same array on Slurm 24.11") {
  const auto queued = parse_squeue(slurm_fixture("24.11-states.squeue.out"));
  REQUIRE(queued.size() == 11);
  CHECK(queued[2].id == "1_2");
  CHECK(queued[2].reason == "RaisedSignal:9(Killed)");  // 22.05 calls it otherwise
  const auto is_waiting = [](const SlurmJob& job) { return phase_of(job.state) == JobState::waiting; };
  CHECK(std::count_if(queued.begin(), queued.end(), is_waiting) == 6);
  const auto recorded = parse_sacct(slurm_fixture("24.11-states.sacct.out"));
  REQUIRE(recorded.size() == 6);
  CHECK(recorded[0].nodes.empty());
  CHECK(recorded[5].index == 4);
}

TEST_CASE("sacct: who cancelled, early records, accounting that is not there") {
  const auto jobs =
      parse_sacct("14|CANCELLED by 1000|n0|2026-11-21T00:09:14|study.1\n7|PENDING|None assigned|Unknown|allocation\n");
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0].state == "CANCELLED");
  CHECK(jobs[0].reason == "by 1000");
  CHECK_FALSE(is_early_record(jobs[0]));
  CHECK(is_early_record(jobs[1]));
  CHECK(jobs[1].nodes.empty());
  CHECK_FALSE(has_accounting({ToolResult::Kind::exited, 1, "", slurm_fixture("no-accounting.sacct.err")}));
  CHECK(has_accounting({ToolResult::Kind::exited, 1, "", slurm_fixture("dbd-down.sacct.err")}));
  CHECK(has_accounting({ToolResult::Kind::exited, 0, "", ""}));
}

TEST_CASE("when the controller was started, and a job submitted and ended") {
  const std::optional<double> start =
      parse_controller_start("Configuration data\nBOOT_TIME               = 2026-11-26T12:59:32\n");
  REQUIRE(start);
  const SlurmJobTimes times = parse_job_times(
      "JobId=1 JobName=wrap SubmitTime=2026-11-26T12:59:33 StartTime=N/A EndTime=2026-11-26T12:59:42\n"
      "JobId=2 JobName=wrap SubmitTime=2026-11-26T13:59:33\n");
  CHECK(times.submitted == *start + 1);
  CHECK(times.ended == *start + 10);
  CHECK_FALSE(parse_job_times("JobId=1 SubmitTime=Unknown EndTime=").submitted);
  CHECK_FALSE(parse_job_times("slurm_load_jobs error: Invalid job id specified").ended);
  for (const char* const text : {"", "BOOT_TIME = (null)", "BOOT_TIME = 2026-11-26T12:59:32 or so", "BOOT_TIME"})
    CHECK_FALSE(parse_controller_start(text));
}

TEST_CASE("MaxArraySize, phases and advice") {
  CHECK(parse_max_array_size("MaxArraySize            = 1001\nMaxDBDMsgs = 20\n") == 1001);
  CHECK_FALSE(parse_max_array_size("slurm_load_ctl_conf error: Unable to contact").has_value());
  for (const auto& [tasks, most] : {std::pair{"max_array_tasks=5", 5},
                                    {"bf_continue,max_array_tasks=5,x", 5},
                                    {"max_array_tasks=5000", 1001},
                                    {"max_array_tasks=x", 1001},
                                    {"(null)", 1001}}) {
    CHECK(parse_max_array_size(fmt::format("MaxArraySize = 1001\nSchedulerParameters     = {}\n", tasks)) == most);
  }
  CHECK(phase_of("RUNNING") == JobState::running);
  CHECK(phase_of("COMPLETING") == JobState::running);
  CHECK(phase_of("REQUEUED") == JobState::waiting);
  CHECK(phase_of("NODE_FAIL") == JobState::ended);
  CHECK(phase_of("A_WORD_OF_2030") == JobState::running);
}

TEST_CASE("why a job waits is said in words where it is not simply its turn") {
  for (const char* usual :
       {"", "None", "Priority", "Resources", "BeginTime", "Dependency", "JobArrayTaskLimit", "A_WORD_OF_2030"}) {
    CHECK_FALSE(explain_reason(usual).has_value());
  }
  for (const char* said :
       {"PartitionDown", "PartitionInactive", "DependencyNeverSatisfied", "InvalidAccount", "InvalidQOS", "JobHeldUser",
        "JobHeldAdmin", "BadConstraints", "PartitionTimeLimit", "PartitionNodeLimit", "ReservationDeleted", "Reservation",
        "QOSNotAllowed", "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"}) {
    CAPTURE(said);
    CHECK(explain_reason(said).has_value());
  }
  CHECK(explain_reason("ReqNodeNotAvail, UnavailableNodes:n[0-1]") ==
        "nodes that it needs are down, drained or reserved (`sinfo -R` says why)");
  const auto limit = [](const char* reason) { return explain_reason(reason).value_or(""); };
  CHECK(limit("QOSMaxJobsPerUserLimit") ==
        "as much as its QOS allows at a time is in use; it starts when other jobs have ended");
  CHECK(limit("QOSGrpGRES") == limit("QOSMaxJobsPerUserLimit"));
  CHECK(limit("AssocMaxJobsLimit").find("account") != std::string::npos);
  CHECK(limit("AssocGrpCPUMinutesLimit") == "the time budget of its account is used up");
  CHECK(limit("AssocGrpCPURunMinutesLimit") == "running jobs hold all the time that its account grants at once");
  CHECK(limit("QOSMaxWallDurationPerJobLimit").find("will not start") != std::string::npos);
  CHECK(limit("QOSMaxCpuPerNode").find("will not start") != std::string::npos);
}

TEST_CASE("parsers answer to any bytes") {
  CHECK(rc::check("total", [](const std::string& text, int status) {
    parse_squeue(text);
    parse_sacct(text);
    parse_max_array_size("MaxArraySize = " + text);
    parse_controller_start("BOOT_TIME = " + text);
    parse_job_times(" SubmitTime=" + text + " EndTime=" + text);
    const SbatchAnswer answer = parse_sbatch({ToolResult::Kind::exited, status, text, text});
    RC_ASSERT((answer.kind == SbatchAnswer::Kind::accepted) == !answer.job.empty());
  }));
  CHECK(parse_squeue("1_[0-99999999999]|PENDING|x||y|z\n1_[5-2]|P|x||y|z\n1_[0-4:0]|P|x||y|z\n").empty());
}

TEST_CASE("tools see no variable that changes their answers") {
  for (const char* name : {"SQUEUE_PARTITION", "SBATCH_ACCOUNT", "SLURM_JOB_ID", "SACCT_FORMAT", "SCANCEL_NAME"}) {
    CHECK_FALSE(is_kept_for_tools(name));
  }
  for (const char* name : {"SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT", "PATH", "HOME"}) CHECK(is_kept_for_tools(name));
  ::setenv("SQUEUE_PARTITION", "nowhere", 1);
  ProcessToolRunner tools;
  const ToolResult result = tools.run({{"bash", "-c", "echo \"${SQUEUE_PARTITION-none}\"; echo oops >&2; exit 7"}, {}, 60});
  ::unsetenv("SQUEUE_PARTITION");
  CHECK(result.output == "none\n");
  CHECK(result.errors == "oops\n");
  CHECK(result.status == 7);
  CHECK(tools.run({{"bash", "-c", "sleep 1000"}, {}, 0.05}).kind == ToolResult::Kind::timed_out);
  CHECK(tools.run({{"bash", "-c", "kill -KILL $$"}, {}, 60}).kind == ToolResult::Kind::killed);
  CHECK(tools.run({{"no-such-program-at-all"}, {}, 60}).kind == ToolResult::Kind::not_started);
}

TEST_CASE("slurm: an answer of absurd arrays costs no absurd time or memory") {
  std::string output = "7_[1-5:2147483647]|PENDING|None||N/A|n\n";
  CHECK(parse_squeue(output).size() == 1);
  for (int i = 0; i < 100; ++i) output += "8_[0-4000000]|PENDING|None||N/A|n\n";
  CHECK(parse_squeue(output).size() == 1'000'000);
  CHECK(parse_squeue("9_[0-4000001]|PENDING|None||N/A|n\n").empty());
}

}  // namespace

}  // namespace hpcbench

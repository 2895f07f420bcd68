#include "executors/local/local_executor.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/clock.hpp"
#include "fakes/temporary_folder.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/life.hpp"
#include "submit/dispatcher.hpp"
#include "submit/job_processes.hpp"

namespace hpcbench {

namespace {

namespace fs = std::filesystem;

constexpr double kPatience = 60;  // seconds that a test waits for what comes at once on an idle machine

const std::string kFakeLaunch = HPCBENCH_SOURCE_DIR "/tests/fakes/fake_launch.sh";

/// An attempt's folder with a job.sh, in a results folder of its own.
struct LocalAttempt {
  LocalAttempt(const TemporaryFolder& results, const std::string& job, const std::string& name)
      : folder(results / ("0123456789abcdef/r01/" + name)) {
    fs::create_directories(folder);
    write_file(folder + "/job.sh", job, Durability::none);
  }
  std::string folder;
};

/// Waits until `done`, at most `kPatience`.
template <typename Done>
bool eventually(Done done) {
  const double end = monotonic_s() + kPatience;
  while (!done()) {
    if (monotonic_s() > end) return false;
    ::usleep(2000);
  }
  return true;
}

bool wait_for_end(LocalExecutor& executor, const std::string& folder, JobStatus& last) {
  const double end = monotonic_s() + kPatience;
  while (monotonic_s() < end) {
    last = executor.status(folder, {});
    if (last.state == JobState::ended) return true;
    executor.wait(1);
  }
  return false;
}

bool is_claimed(const std::string& folder) {
  const auto claim = read_claim(folder);
  return claim && claim->process;
}

TEST_CASE("a job runs in a session of its own, with its token, and its end is seen") {
  const TemporaryFolder results;
  const LocalAttempt attempt(results, "echo hello; ps -o sid= -p $PPID | tr -d ' ' > sid; exit 3\n", "a1");
  LocalExecutor executor(2, kFakeLaunch);
  CHECK(executor.free_slots() == 2);
  const Submission submission = executor.submit({"0011223344556677", 0, {attempt.folder}});
  REQUIRE(submission.kind == Submission::Kind::accepted);
  CHECK(executor.free_slots() == 1);
  JobStatus status;
  REQUIRE(wait_for_end(executor, attempt.folder, status));
  CHECK(status.text == "exit status 3");
  CHECK(executor.free_slots() == 2);
  CHECK(read_file(attempt.folder + "/stdout.log") == "hello\n");
  CHECK(read_file(attempt.folder + "/finished.json") == "{\"schema\":1,\"exit_code\":3,\"cancelled\":false}");
  const auto claim = read_claim(attempt.folder);
  REQUIRE(claim);
  CHECK(claim->token == "0011223344556677");
  CHECK(claim->job == submission.jobs.front());
  CHECK(read_file(attempt.folder + "/sid") == submission.jobs.front() + "\n");
  // Asked again, after its end was told: its claim says the same.
  CHECK(executor.status(attempt.folder, submission.jobs.front()).state == JobState::ended);
}

TEST_CASE("a span is started as a whole, each attempt as a job of its own") {
  const TemporaryFolder results;
  const LocalAttempt first(results, "exit 3\n", "a1");
  const LocalAttempt second(results, "exit 4\n", "a2");
  LocalExecutor executor(2, kFakeLaunch);
  const Submission submission = executor.submit({"t", 0, {first.folder, second.folder}});
  CHECK(submission.kind == Submission::Kind::accepted);
  REQUIRE(submission.jobs.size() == 2);
  CHECK(submission.jobs[0] != submission.jobs[1]);
  CHECK(executor.free_slots() == 0);
  JobStatus status;
  REQUIRE(wait_for_end(executor, first.folder, status));
  CHECK(status.text == "exit status 3");
  REQUIRE(wait_for_end(executor, second.folder, status));
  CHECK(status.text == "exit status 4");
  CHECK(status.log == "launch.log");
}

TEST_CASE("a program that is not there is a refusal") {
  const TemporaryFolder results;
  const LocalAttempt attempt(results, "", "a1");
  LocalExecutor executor(1, "/nonexistent/hpcbench");
  const Submission submission = executor.submit({"t", 0, {attempt.folder}});
  CHECK(submission.kind == Submission::Kind::refused);
  CHECK(submission.text == "cannot start /nonexistent/hpcbench: No such file or directory");
  CHECK(executor.free_slots() == 1);
}

TEST_CASE("what the launch process itself says is kept") {
  const TemporaryFolder results;
  const std::string program = results / "complains.sh";
  write_file(program, "#!/bin/sh\necho cannot do that >&2; exit 4\n", Durability::none);
  fs::permissions(program, fs::perms::owner_all);
  const LocalAttempt attempt(results, "", "a1");
  fs::create_directories(results / "batches/beef");
  LocalExecutor executor(1, program);
  executor.submit({"beef", 0, {attempt.folder}});
  JobStatus status;
  REQUIRE(wait_for_end(executor, attempt.folder, status));
  CHECK(status.text == "exit status 4");
  CHECK(read_file(results / "batches/beef/launch.log") == "cannot do that\n");
}

TEST_CASE("cancel ends a job of ours, and one that was adopted") {
  const TemporaryFolder results;
  const LocalAttempt attempt(results, "sleep 600\n", "a1");
  LocalExecutor executor(1, kFakeLaunch);
  const Submission submission = executor.submit({"t", 0, {attempt.folder}});
  REQUIRE(eventually([&] { return is_claimed(attempt.folder) && fs::exists(attempt.folder + "/stdout.log"); }));
  JobStatus status;
  SUBCASE("ours") {
    executor.cancel(attempt.folder, submission.jobs.front());
    REQUIRE(wait_for_end(executor, attempt.folder, status));
  }
  SUBCASE("adopted") {
    LocalExecutor other(1, kFakeLaunch);
    CHECK(other.status(attempt.folder, {}).state == JobState::running);
    other.adopt(attempt.folder, submission.jobs.front());
    other.adopt(attempt.folder, submission.jobs.front());
    CHECK(other.free_slots() == 0);
    other.cancel(attempt.folder, submission.jobs.front());
    REQUIRE(wait_for_end(other, attempt.folder, status));
    CHECK(other.free_slots() == 1);
    REQUIRE(wait_for_end(executor, attempt.folder, status));
  }
  CHECK(read_file(attempt.folder + "/finished.json") == "{\"schema\":1,\"exit_code\":143,\"cancelled\":true}");
  executor.cancel(attempt.folder, submission.jobs.front());  // harmless
}

TEST_CASE("a killed job is gone, and what it left behind is ended") {
  const TemporaryFolder results;
  const LocalAttempt attempt(results, "echo $$ > pid.tmp; mv pid.tmp pid; sleep 600\n", "a1");
  LocalExecutor executor(1, kFakeLaunch);
  const Submission submission = executor.submit({"t", 0, {attempt.folder}});
  REQUIRE(eventually([&] { return fs::exists(attempt.folder + "/pid"); }));
  const auto orphan = identify_process(std::stoi(read_file(attempt.folder + "/pid")));
  REQUIRE(orphan);
  ::kill(std::stoi(submission.jobs.front()), SIGKILL);
  JobStatus status;
  REQUIRE(wait_for_end(executor, attempt.folder, status));
  CHECK(status.text == "killed by signal 9 (Killed)");
  CHECK(is_alive(*orphan) == true);
  executor.cancel(attempt.folder, submission.jobs.front());
  CHECK(is_alive(*orphan) == false);
}

TEST_CASE("only the process that the claim names is meant") {
  const TemporaryFolder results;
  const LocalAttempt attempt(results, "", "a1");
  ProcessIdentity other = this_process();
  LocalExecutor executor(1, kFakeLaunch);
  SUBCASE("the number was reused: never signalled") {
    other.start_ticks -= 1;
    REQUIRE(try_claim(attempt.folder, Claim{.revoked = false, .why = {}, .token = "t", .job = "1", .process = other}));
    CHECK(executor.status(attempt.folder, "1").state == JobState::ended);
    executor.cancel(attempt.folder, "1");
    CHECK_FALSE(signal_process(other, 0));
  }
  SUBCASE("another host") {
    other.host = "elsewhere";
    REQUIRE(try_claim(attempt.folder, Claim{.revoked = false, .why = {}, .token = "t", .job = "1", .process = other}));
    CHECK(executor.status(attempt.folder, "1").state == JobState::unknown);
    executor.cancel(attempt.folder, "1");
  }
  SUBCASE("a process that is not the attempt's launcher: a forged claim, never signalled") {
    REQUIRE(try_claim(attempt.folder, Claim{.revoked = false, .why = {}, .token = "t", .job = "1", .process = other}));
    CHECK(executor.status(attempt.folder, "1").state == JobState::ended);
    executor.cancel(attempt.folder, "1");
    CHECK(is_alive(other) == true);
  }
  SUBCASE("a held lock is a job that runs, whatever the claim names") {
    other.start_ticks += 1;
    const std::optional<Descriptor> life = take_life(attempt.folder);
    REQUIRE(life);
    CHECK_FALSE(take_life(attempt.folder));
    REQUIRE(try_claim(attempt.folder, Claim{.revoked = false, .why = {}, .token = "t", .job = "1", .process = other}));
    const JobStatus status = executor.status(attempt.folder, "1");
    CHECK(status.state == JobState::running);
    CHECK(status.out_of_reach.find("another PID namespace") != std::string::npos);
    executor.adopt(attempt.folder, "1");
    CHECK(executor.free_slots() == 0);
  }
  SUBCASE("a lock that was let go is a job that ended") {
    { const std::optional<Descriptor> life = take_life(attempt.folder); }
    REQUIRE(try_claim(attempt.folder, Claim{.revoked = false, .why = {}, .token = "t", .job = "1", .process = other}));
    CHECK(holds_life(attempt.folder) == false);
    CHECK(executor.status(attempt.folder, "1").state == JobState::ended);
  }
  SUBCASE("no claim, no child: nothing runs, at once") { CHECK(executor.status(attempt.folder, "1").state == JobState::ended); }
}

TEST_CASE("an empty claim belongs to the process that was started for the folder") {
  const TemporaryFolder results;
  const LocalAttempt attempt(results, "", "a1");
  const std::string program = results / "slow.sh";
  write_file(program, "#!/bin/sh\n: > \"$2/claim\"\nsleep 600\n", Durability::none);
  fs::permissions(program, fs::perms::owner_all);
  LocalExecutor executor(1, program);
  const Submission submission = executor.submit({"t", 0, {attempt.folder}});
  REQUIRE(eventually([&] { return fs::exists(attempt.folder + "/claim"); }));
  LocalExecutor other(1, program);
  CHECK(other.status(attempt.folder, {}).state == JobState::running);
  ::kill(-std::stoi(submission.jobs.front()), SIGKILL);
  JobStatus status;
  REQUIRE(wait_for_end(executor, attempt.folder, status));
  // The script's own child dies a moment later.
  CHECK(eventually([&] { return other.status(attempt.folder, {}).state == JobState::ended; }));
}

}  // namespace

}  // namespace hpcbench

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "job_folder.hpp"

using namespace hpcbench;

namespace {

nlohmann::json with_setup(const std::vector<std::string>& lines) { return {{"setup", lines}}; }

std::string word_of_rank(const JobFolder& job, int rank) {
  return job.text(rank == 0 ? "stdout.log" : "stdout." + std::to_string(rank) + ".log");
}

}  // namespace

TEST_CASE("modules and setup run once, and every rank starts with what they export") {
  ::setenv("BASH_FUNC_module%%", "() { echo $* >>modules; export LOADED=$2; }", 1);
  nlohmann::json more = with_setup({"echo line >>lines", "X='a b'; export X", "UNEXPORTED=1", "f() { echo f; }; export -f f"});
  more["modules"] = {"cuda"};
  const JobFolder job = bash_job("echo \"$RANK|$LOADED|$X|$UNEXPORTED|$(f)\"", 3, more);
  CHECK(job.run() == 0);
  ::unsetenv("BASH_FUNC_module%%");
  CHECK(job.text("modules") == "load cuda\n");
  CHECK(job.text("lines") == "line\n");
  for (int rank = 0; rank < 3; ++rank) CHECK(word_of_rank(job, rank) == std::to_string(rank) + "|cuda|a b||f\n");
}

TEST_CASE("the text of a shell sees what set-up lines set, exported or not, in every rank") {
  nlohmann::json more = with_setup({"echo line >>lines", "X='a  b'", "f() { echo f; }"});
  more["shell"] = true;
  more["processes"] = 2;
  const JobFolder job({"echo \"$RANK $X $(f)\""}, more);
  CHECK(job.run() == 0);
  CHECK(job.text("lines") == "line\n");
  CHECK(word_of_rank(job, 1) == "1 a  b f\n");
}

TEST_CASE("ranks start in the set-up's folder, with its umask and limits; its options are its own") {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const JobFolder job =
      bash_job("pwd; umask; ulimit -Sn; ulimit -Sc; false; echo $-", 2,
               with_setup({"set -eu", "mkdir sub", "cd sub", "umask 0027", "ulimit -Sn 200", "ulimit -Sc 0"}));
  CHECK(job.run() == 0);
  for (int rank = 0; rank < 2; ++rank) CHECK(word_of_rank(job, rank) == job / "sub" + "\n0027\n200\n0\nhBc\n");
}

TEST_CASE("the set-up knows the job, but no rank; its output stands before that of rank 0") {
  const JobFolder job =
      bash_job("echo rank $RANK", 2,
               with_setup({"echo \"$WORLD_SIZE ${RANK-none} ${LOCAL_RANK-none} ${HPCBENCH_TOKEN-none} $HPCBENCH_RUN\"",
                           "echo note >&2", "cat"}));
  CHECK(job.run() == 0);
  CHECK(job.text("stdout.log") == "2 none none none " + job / "run.json" + "\nrank 0\n");
  CHECK(job.text("stdout.1.log") == "rank 1\n");
  CHECK(job.text("stderr.log") == "note\n");
}

TEST_CASE("what a set-up line leaves running goes on until the ranks have ended") {
  const JobFolder job = bash_job("kill -0 $(cat pid) && echo alive", 1, with_setup({"sleep 1000 & echo $! >pid"}));
  CHECK(job.run(0.2) == 0);
  CHECK(job.text("stdout.log") == "alive\n");
  CHECK_FALSE(has_process(std::stoi(job.text("pid"))));
}

TEST_CASE("a set-up that fails ends the run before any rank, and no rank is blamed") {
  const JobFolder job = bash_job("touch ran", 3, with_setup({"echo no licence >&2", "exit 9"}));
  CHECK(job.run() == 9);
  const nlohmann::json finished = job.json("finished.json");
  CHECK(finished["exit_code"] == 9);
  CHECK_FALSE(finished.contains("first_failed_rank"));
  CHECK(finished["tail"] == "no licence");
  CHECK(finished["processes"].empty());
  CHECK_FALSE(is_there(job / "ran"));
  CHECK_FALSE(is_there(job / "stdout.1.log"));
}

TEST_CASE("a set-up that leaves early is no success, whatever its exit code") {
  for (const int good : {0, 3}) {
    nlohmann::json more = with_setup({"exit " + std::to_string(good)});
    more["success"] = {{"exit_code", good}};
    const JobFolder job = bash_job("touch ran", 1, more);
    CHECK(job.run() == 1);
    CHECK(job.json("finished.json")["tail"] == "hpcbench: setup ended before the program was started");
    CHECK_FALSE(is_there(job / "ran"));
  }
  const JobFolder untrapped = bash_job("touch ran", 1, with_setup({"trap - EXIT", "exit 0"}));
  CHECK(untrapped.run() == 1);
  CHECK(untrapped.json("finished.json")["tail"] == "hpcbench: setup ended before the program was started");
  CHECK_FALSE(is_there(untrapped / "ran"));
}

TEST_CASE("the time limit counts from the start of the set-up") {
  nlohmann::json more = with_setup({"sleep 1000 & echo $! >pid", "wait"});
  more["resources"] = {{"cpus_per_task", 1}, {"time_s", 0.3}};
  const JobFolder job = bash_job("touch ran", 2, more);
  CHECK(job.run(0.2) == 124);
  const nlohmann::json finished = job.json("finished.json");
  CHECK(finished["timed_out"] == true);
  CHECK(finished["signal"] == SIGTERM);
  CHECK(finished["wall_s"].get<double>() >= 0.3);
  CHECK_FALSE(is_there(job / "ran"));
  CHECK_FALSE(has_process(std::stoi(job.text("pid"))));
}

TEST_CASE("a set-up that is cancelled starts nothing, also if it ends well thereafter") {
  for (const char* end : {"wait", "trap 'exit 0' TERM; trap - EXIT; wait"}) {
    const JobFolder job = bash_job("touch ran", 2, with_setup({"sleep 1000 & echo $! >pid.new; mv pid.new pid", end}));
    const pid_t launcher = job.start(0.2);
    REQUIRE(wait_until([&] { return is_there(job / "pid"); }));
    ::kill(launcher, SIGTERM);
    CHECK(end_of_process(launcher) == 143);
    CHECK(job.json("finished.json")["cancelled"] == true);
    CHECK_FALSE(is_there(job / "ran"));
    CHECK_FALSE(has_process(std::stoi(job.text("pid"))));
  }
}

TEST_CASE("a set-up may break PATH, or set a large environment") {
  const JobFolder job({"/bin/sh", "-c", "echo ${#BIG} \"$TWO_LINES\""},
                      with_setup({"export BIG=$(printf %100000d 7)", "export TWO_LINES=$'a\\nb'", "export PATH=/nowhere"}));
  CHECK(job.run() == 0);
  CHECK(job.text("stdout.log") == "100000 a\nb\n");
}

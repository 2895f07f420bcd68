#include <doctest/doctest.h>

#include "base/text.hpp"
#include "job_folder.hpp"
#include "launch/oom_count.hpp"
#include "runfiles/job_files.hpp"

using namespace hpcbench;

namespace {

/// Seconds that no test waits for.
constexpr double kShortGraceS = 0.2;

int parent_of(int pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  return std::stoi(stat.substr(stat.rfind(')') + 4));
}

int pid_in(const JobFolder& job, const std::string& name) { return std::stoi(job.text(name)); }

/// A bash text that says its pid in `name` (at a stroke) and then waits for longer than any test lasts.
std::string say_pid(const std::string& name) { return "echo $$ >" + name + ".new; mv " + name + ".new " + name + "; "; }

std::string wait_for(const std::string& name) { return "until [ -e " + name + " ]; do sleep 0.01; done; "; }

}  // namespace

TEST_CASE("a rank that fails takes the others down, and is the one that is named") {
  const JobFolder job = bash_job("if [ $RANK = 1 ]; then echo one; echo two >&2; exit 5; fi; sleep 1000", 3);
  CHECK(job.run() == 5);
  const nlohmann::json finished = job.json("finished.json");
  CHECK(finished["first_failed_rank"] == 1);
  CHECK(finished["exit_code"] == 5);
  CHECK(finished["tail"] == "two");
  CHECK(finished["cancelled"] == false);
  CHECK(finished["processes"][0]["signal"] == SIGTERM);
  CHECK(finished["processes"][1]["exit_code"] == 5);
  CHECK(finished["processes"][2]["signal"] == SIGTERM);
}

TEST_CASE("one that ignores SIGTERM is killed when its grace is over") {
  const JobFolder job = bash_job(
      "if [ $RANK = 0 ]; then trap '' TERM; " + say_pid("ready") + "sleep 1000; else " + wait_for("ready") + "exit 6; fi", 2);
  const nlohmann::json finished = job.finish(kShortGraceS);
  CHECK(finished["first_failed_rank"] == 1);
  CHECK(finished["processes"][0]["signal"] == SIGKILL);
}

TEST_CASE("of several that failed the first one counts, also if we see them at once") {
  const JobFolder job = bash_job(say_pid("pid.$RANK") + wait_for("go.$RANK") + "exit 1$RANK", 3);
  const pid_t launcher = job.start();
  for (const char* name : {"pid.0", "pid.1", "pid.2"}) REQUIRE(wait_until([&] { return is_there(job / name); }));
  const int starter = parent_of(pid_in(job, "pid.0"));
  ::kill(starter, SIGSTOP);
  REQUIRE(wait_until([&] { return process_state(starter) == 'T'; }));
  for (const char* rank : {"2", "0", "1"}) {
    const int pid = pid_in(job, std::string("pid.") + rank);
    write_file(job / (std::string("go.") + rank), "", Durability::none);
    REQUIRE(wait_until([&] { return process_state(pid) == 'Z'; }));
  }
  ::kill(starter, SIGCONT);
  CHECK(end_of_process(launcher) == 12);
  CHECK(job.json("finished.json")["first_failed_rank"] == 2);
}

TEST_CASE("the time limit") {
  const JobFolder job = bash_job("sleep 1000", 2, {{"resources", {{"time_s", 0.3}, {"cpus_per_task", 1}}}});
  CHECK(job.run() == 124);
  const nlohmann::json finished = job.json("finished.json");
  CHECK(finished["timed_out"] == true);
  CHECK(finished["time_limit_s"] == 0.3);
  CHECK(finished["cancelled"] == false);
  CHECK_FALSE(finished.contains("first_failed_rank"));
  CHECK(finished["signal"] == SIGTERM);
}

TEST_CASE("the time limit of a program that ignores SIGTERM") {
  const JobFolder job = bash_job("trap '' TERM; sleep 1000", 1, {{"resources", {{"time_s", 0.5}}}});
  const nlohmann::json finished = job.finish(kShortGraceS);
  CHECK(finished["timed_out"] == true);
  CHECK(finished["signal"] == SIGKILL);
}

TEST_CASE("a run within its limit is no timeout") {
  const nlohmann::json finished = bash_job("exit 0", 1, {{"resources", {{"time_s", 3600}}}}).finish();
  CHECK(finished["timed_out"] == false);
  CHECK(finished["time_limit_s"] == 3600);
}

TEST_CASE("cancelled by a signal to the job") {
  for (const int signal : {SIGTERM, SIGINT}) {
    const JobFolder job = bash_job(say_pid("ready") + "sleep 1000");
    const pid_t launcher = job.start();
    REQUIRE(wait_until([&] { return is_there(job / "ready"); }));
    ::kill(launcher, SIGHUP);  // is ignored
    ::kill(launcher, signal);
    CHECK(end_of_process(launcher) == 143);
    const nlohmann::json finished = job.json("finished.json");
    CHECK(finished["cancelled"] == true);
    CHECK_FALSE(finished.contains("first_failed_rank"));
    CHECK(finished["signal"] == SIGTERM);
    CHECK_FALSE(has_process(pid_in(job, "ready")));
  }
}

TEST_CASE("a program that saves its work when asked to end has the time for that") {
  const JobFolder job = bash_job("trap 'sleep 0.3; echo saved; exit 0' TERM; " + say_pid("ready") + "sleep 1000 & wait");
  const pid_t launcher = job.start();
  REQUIRE(wait_until([&] { return is_there(job / "ready"); }));
  ::kill(launcher, SIGTERM);
  end_of_process(launcher);
  CHECK(job.text("stdout.log") == "saved\n");
  CHECK(job.json("finished.json")["exit_code"] == 0);
  CHECK(job.json("finished.json")["cancelled"] == true);
}

TEST_CASE("children that are left behind end with the run, also those in sessions of their own") {
  const JobFolder job =
      bash_job("bash -c '" + say_pid("plain") + "sleep 1000' & " +                            //
               "setsid bash -c '" + say_pid("session") + "sleep 1000' & " +                   //
               "(setsid bash -c '" + say_pid("daemon") + "sleep 1000 & wait' &) ; " +         //
               "setsid bash -c 'trap \"\" TERM; " + say_pid("stubborn") + "sleep 1000' & " +  //
               wait_for("plain") + wait_for("session") + wait_for("daemon") + wait_for("stubborn") + "exit 0");
  const nlohmann::json finished = job.finish(kShortGraceS);
  CHECK(finished["exit_code"] == 0);
  CHECK_FALSE(finished.contains("first_failed_rank"));
  for (const char* name : {"plain", "session", "daemon", "stubborn"}) CHECK_FALSE(has_process(pid_in(job, name)));
}

TEST_CASE("when a rank fails, the children of the others end, too") {
  const JobFolder job = bash_job("if [ $RANK = 1 ]; then " + wait_for("session") + "exit 3; fi; setsid bash -c '" +
                                     say_pid("session") + "sleep 1000' & wait",
                                 2);
  CHECK(job.finish()["first_failed_rank"] == 1);
  CHECK_FALSE(has_process(pid_in(job, "session")));
}

TEST_CASE("ranks die with a launcher that is killed") {
  const JobFolder job = bash_job(say_pid("pid.$RANK") + "while :; do sleep 0.05; done", 2);
  const pid_t launcher = job.start();
  for (const char* name : {"pid.0", "pid.1"}) REQUIRE(wait_until([&] { return is_there(job / name); }));
  ::kill(launcher, SIGKILL);
  CHECK(end_of_process(launcher) == 137);
  for (const char* name : {"pid.0", "pid.1"}) {
    const int pid = pid_in(job, name);
    CHECK(wait_until([&] { return !has_process(pid) || process_state(pid) == 'Z'; }));
  }
  CHECK_FALSE(is_there(job / "finished.json"));
}

TEST_CASE("the tail of an output") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  CHECK_FALSE(output_tail(path, 0).has_value());
  write_file(folder / "stdout.log", "from stdout\n\n", Durability::none);
  write_file(folder / "stderr.log", " \n", Durability::none);
  CHECK(output_tail(path, 0) == "from stdout");
  // 300 lines of 10 bytes: the last 200 would be 2,000 bytes.
  std::string lines;
  for (int i = 100; i < 400; ++i) lines += "line  " + std::to_string(i) + "\n";
  write_file(folder / "stderr.log", lines, Durability::none);
  const std::string tail = *output_tail(path, 0);
  CHECK(tail.starts_with("line  2"));
  CHECK(tail.ends_with("line  399"));
  CHECK(tail.size() <= 2000);
  // One long line of two-byte characters, cut in the middle of one.
  std::string umlauts = "x";
  for (int i = 0; i < 2000; ++i) umlauts += "\xc3\xa4";
  write_file(folder / "stderr.3.log", umlauts + "z", Durability::none);
  CHECK(is_utf8(*output_tail(path, 3)));
  CHECK(output_tail(path, 3)->size() <= 2000);
  CHECK(output_tail(path, 3)->ends_with("\xa4z"));
  // Bytes that are no text become U+FFFD, which takes three.
  write_file(folder / "stderr.4.log", "a\xff", Durability::none);
  CHECK(output_tail(path, 4) == "a\xef\xbf\xbd");
  write_file(folder / "stderr.5.log", std::string(5000, '\xff'), Durability::none);
  CHECK(is_utf8(*output_tail(path, 5)));
  CHECK(output_tail(path, 5)->size() <= 2000);
}

TEST_CASE("the kernel's count of processes killed for memory") {
  CHECK(parse_oom_kill_count("low 0\nhigh 0\nmax 5\noom 2\noom_kill 2\noom_group_kill 0\n") == 2);  // v2
  CHECK(parse_oom_kill_count("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n") == 7);                // v1
  CHECK_FALSE(parse_oom_kill_count("oom_kill_disable 0\nunder_oom 0\n").has_value());               // old v1
  CHECK_FALSE(parse_oom_kill_count("oom_kill x\n").has_value());
  const std::string hybrid = "9:name=systemd:/\n4:cpu,memory:/job_1\n0::/unified\n";
  CHECK(parse_cgroup_path(hybrid, "memory") == "/job_1");
  CHECK(parse_cgroup_path(hybrid, "") == "/unified");
  CHECK_FALSE(parse_cgroup_path("0::/x\n", "memory").has_value());
  CHECK_FALSE(parse_cgroup_path("", "").has_value());
}

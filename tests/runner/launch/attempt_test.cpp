#include <doctest/doctest.h>
#include <sys/resource.h>

#include "base/host.hpp"
#include "base/text.hpp"
#include "job_folder.hpp"
#include "runfiles/claim.hpp"

using namespace hpcbench;

namespace {

/// Names, sizes and times of all files.
std::string listing(const std::string& folder) {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    text += entry.path().filename().string() + " " + std::to_string(entry.last_write_time().time_since_epoch().count()) + "\n";
  }
  return text + std::to_string(std::filesystem::last_write_time(folder).time_since_epoch().count());
}

}  // namespace

TEST_CASE("a run that succeeds: claim, started.json, output, finished.json") {
  const JobFolder job = bash_job("echo out; echo err >&2; echo '{}' >\"$(dirname \"$HPCBENCH_RUN\")/events.jsonl\"");
  const pid_t pid = job.start();
  CHECK(end_of_process(pid) == 0);
  const auto claim = read_claim(job.path());
  REQUIRE(claim.has_value());
  CHECK(claim->token == "0123456789abcdef");
  CHECK(claim->job == std::to_string(pid));
  CHECK(claim->process->pid == pid);
  CHECK(claim->process->boot_id == boot_id());
  const nlohmann::json started = job.json("started.json");
  CHECK(started["schema"] == 1);
  CHECK(started["host"] == host_name());
  CHECK(started["boot_id"] == boot_id());
  CHECK(started["pid"] == pid);
  CHECK(started["job"] == std::to_string(pid));
  CHECK(started["started_unix_s"].get<double>() > 1.7e9);
  CHECK(started["monotonic_s"].is_number());
  CHECK(job.text("stdout.log") == "out\n");
  CHECK(job.text("stderr.log") == "err\n");
  const nlohmann::json finished = job.json("finished.json");
  CHECK(finished["schema"] == 1);
  CHECK(finished["host"] == host_name());
  CHECK(finished["exit_code"] == 0);
  CHECK(finished["signal"].is_null());
  CHECK_FALSE(finished.contains("first_failed_rank"));
  CHECK_FALSE(finished.contains("error"));
  CHECK_FALSE(finished.contains("tail"));
  CHECK(finished["timed_out"] == false);
  CHECK(finished["time_limit_s"].is_null());
  CHECK(finished["cancelled"] == false);
  CHECK(finished["files"] == nlohmann::json{{"events.jsonl", 3}});
  CHECK(finished["wall_s"].get<double>() > 0);
}

TEST_CASE("every process has its times and its memory") {
  const JobFolder job = bash_job("for ((i = 0; i < 20000; i++)); do :; done", 3);
  const nlohmann::json finished = job.finish();
  REQUIRE(finished["processes"].size() == 3);
  for (int rank = 0; rank < 3; ++rank) {
    const nlohmann::json& process = finished["processes"][static_cast<std::size_t>(rank)];
    CHECK(process["rank"] == rank);
    CHECK(process["exit_code"] == 0);
    CHECK(process["signal"].is_null());
    CHECK(process["wall_s"].get<double>() > 0);
    CHECK(process["user_s"].get<double>() + process["sys_s"].get<double>() > 0);
    CHECK(process["max_rss_bytes"].get<long long>() > 500'000);
    CHECK(process["max_rss_bytes"].get<long long>() % 1024 == 0);
  }
}

TEST_CASE("exit codes and signals, of the run and of the job") {
  const JobFolder code = bash_job("echo bad luck >&2; exit 42");
  CHECK(code.run() == 42);
  const nlohmann::json failed = code.json("finished.json");
  CHECK(failed["exit_code"] == 42);
  CHECK(failed["signal"].is_null());
  CHECK(failed["first_failed_rank"] == 0);
  CHECK(failed["tail"] == "bad luck");
  const JobFolder signalled = bash_job("kill -9 $$");
  CHECK(signalled.run() == 137);
  const nlohmann::json killed = signalled.json("finished.json");
  CHECK(killed["exit_code"].is_null());
  CHECK(killed["signal"] == 9);
  CHECK(killed["processes"][0]["signal"] == 9);
}

TEST_CASE("an exit code that means success takes nobody down") {
  const JobFolder job =
      bash_job("[ $RANK = 0 ] && exit 3; sleep 0.2; exit 3", 2, {{"success", {{"exit_code", 3}, {"pattern", nullptr}}}});
  CHECK(job.run() == 0);
  const nlohmann::json finished = job.json("finished.json");
  CHECK(finished["exit_code"] == 3);
  CHECK_FALSE(finished.contains("first_failed_rank"));
  CHECK(finished["processes"][1]["exit_code"] == 3);
  const JobFolder unlike = bash_job("[ $RANK = 1 ] && exit 0; sleep 1000", 2, {{"success", {{"exit_code", 3}}}});
  CHECK(unlike.run() == 1);  // it failed, whatever the process says
  const nlohmann::json other = unlike.json("finished.json");
  CHECK(other["first_failed_rank"] == 1);
  CHECK(other["exit_code"] == 0);
}

TEST_CASE("what is no number of an array's element begins no attempt") {
  const TemporaryFolder results;
  const std::string batch = results / "batches/0123456789abcdef";
  const std::string attempt = results / "c/r01/a1";
  make_folders(batch);
  make_folders(attempt);
  write_file(batch + "/attempts.txt", "c/r01/a1\n", Durability::none);
  const nlohmann::json run = {{"schema", 1},
                              {"argv", {"true"}},
                              {"nodes", 1},
                              {"executor", "slurm"},
                              {"processes", 1},
                              {"workdir", "/"},
                              {"resources", {{"cpus_per_task", 1}}}};
  write_file(attempt + "/run.json", run.dump(), Durability::none);
  write_file(attempt + "/job.sh", job_script_of(run), Durability::none);
  for (const char* const index : {"", "-1", "x", "0x"}) {
    CAPTURE(index);
    CHECK(in_a_process([&] {
            ::setenv("SLURM_ARRAY_TASK_ID", index, 1);
            return launch_job(batch);
          }) == 3);
    CHECK_FALSE(is_there(attempt + "/claim"));
  }
  CHECK(in_a_process([&] {
          ::setenv("SLURM_ARRAY_TASK_ID", "0", 1);
          return launch_job(batch);
        }) == 0);
  CHECK(is_there(attempt + "/claim"));
}

TEST_CASE("a job whose program asks to be continued ends as the program did") {
  const nlohmann::json segment{
      {"segment", {{"number", 1}, {"before", nlohmann::json::array()}, {"from", 0}, {"warn_s", nullptr}}}};
  const JobFolder job = bash_job("exit 85", 2, segment);
  CHECK(job.run() == 85);
  CHECK_FALSE(job.json("finished.json").contains("first_failed_rank"));
}

TEST_CASE("a program that is missing is told apart from exit 127") {
  const JobFolder missing({"no-such-program-here", "x"}, {{"processes", 2}});
  CHECK(missing.run() == 127);
  const nlohmann::json finished = missing.json("finished.json");
  CHECK(finished["error"] == "cannot start no-such-program-here: No such file or directory");
  CHECK(finished["exit_code"] == 127);
  CHECK(finished["first_failed_rank"] == 0);
  const nlohmann::json own = bash_job("exit 127").finish();
  CHECK(own["exit_code"] == 127);
  CHECK_FALSE(own.contains("error"));
  const JobFolder forbidden({"/dev/null"});
  CHECK(forbidden.finish()["error"] == "cannot start /dev/null: Permission denied");
}

TEST_CASE("the working directory") {
  const TemporaryFolder elsewhere;
  const JobFolder job = bash_job("pwd", 1, {{"workdir", elsewhere.path().string()}});
  job.run();
  CHECK(job.text("stdout.log") == elsewhere.path().string() + "\n");
  const JobFolder gone = bash_job("pwd", 1, {{"workdir", elsewhere / "gone"}});
  const nlohmann::json finished = gone.finish();
  CHECK(finished["exit_code"] == 126);
  CHECK(finished["tail"].get<std::string>().ends_with("cd: " + (elsewhere / "gone") + ": No such file or directory"));
  const JobFolder own = bash_job("pwd");
  own.run();
  CHECK(own.text("stdout.log") == own.path() + "\n");
}

TEST_CASE("set-up lines run in the same shell, as their author wrote them") {
  const JobFolder job = bash_job("echo \"$A|$1\"", 1, {{"setup", {"A='x y'; false", "export A"}}});
  CHECK(job.finish()["exit_code"] == 0);
  CHECK(job.text("stdout.log") == "x y|\n");
  const JobFolder left = bash_job("echo not reached", 1, {{"setup", {"exit 9"}}});
  CHECK(left.finish()["exit_code"] == 9);
  CHECK(left.text("stdout.log").empty());
}

TEST_CASE("modules are loaded before the program starts; one that cannot be loaded ends the run") {
  ::setenv("BASH_FUNC_module%%", "() { [ \"$2\" = 'a b' ] && export LOADED=\"$LOADED$#$*\"; }", 1);
  const JobFolder job = bash_job("echo $LOADED", 1, {{"modules", {"a b", "a b"}}});
  CHECK(job.finish()["exit_code"] == 0);
  CHECK(job.text("stdout.log") == "2load a b2load a b\n");
  const JobFolder missing = bash_job("echo not reached", 1, {{"modules", {"a b", "c"}}});
  CHECK(missing.finish()["exit_code"] == 1);
  CHECK(missing.text("stdout.log").empty());
  ::unsetenv("BASH_FUNC_module%%");
}

TEST_CASE("shell: true gives the text to bash") {
  const JobFolder job({"echo a | tr a b; echo \"$X\"; exit 5"}, {{"shell", true}, {"setup", {"X='q  q'"}}});
  CHECK(job.finish()["exit_code"] == 5);
  CHECK(job.text("stdout.log") == "b\nq  q\n");
  const JobFolder plain({"placeholder"}, {{"shell", true}, {"argv", "echo $((1+2))"}});
  CHECK(plain.finish()["exit_code"] == 0);
  CHECK(plain.text("stdout.log") == "3\n");
}

TEST_CASE("arguments arrive byte for byte, with set-up lines and without") {
  std::vector<std::string> arguments{
      "",     "-n",     "--",      "$(touch x)", "`touch x`", "'",    "\"",          "a b",
      "\n",   "a\nb\n", "{{{x}}}", "\\",         "\\0",       "*",    "~",           "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
      "%s%d", "!!",     "#",       "${HOME}",    "\t",        "\x7f", "a;b&c|d>e<f", std::string(100'000, 'x')};
  for (char byte = 1; byte != 0x7f; ++byte) arguments.emplace_back(1, byte);
  std::vector<std::string> argv{"bash", "-c", "printf '%s\\0' \"$@\"", "bash"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  std::string expected;
  for (const std::string& argument : arguments) expected += argument + '\0';
  const JobFolder plain(argv);
  plain.run();
  CHECK((plain.text("stdout.log") == expected));
  const JobFolder with_setup(argv, {{"setup", {"true"}}});
  with_setup.run();
  CHECK((with_setup.text("stdout.log") == expected));
}

TEST_CASE("a lost claim: nothing is touched") {
  const JobFolder job = bash_job("echo ran");
  REQUIRE(try_claim(job.path(), {.revoked = true, .why = "test", .token = {}, .job = {}, .process = {}}));
  const std::string before = listing(job.path());
  CHECK(job.run() == 0);
  CHECK(listing(job.path()) == before);
}

TEST_CASE("of eight at once exactly one runs") {
  const JobFolder job = bash_job("echo $$ >>ran");
  std::vector<pid_t> pids;
  for (int i = 0; i < 8; ++i) pids.push_back(job.start());
  for (const pid_t pid : pids) CHECK(end_of_process(pid) == 0);
  CHECK(split(job.text("ran"), '\n').size() == 2);  // one line, and what is behind it
  const auto claim = read_claim(job.path());
  REQUIRE(claim.has_value());
  CHECK(std::find(pids.begin(), pids.end(), claim->process->pid) != pids.end());
}

TEST_CASE("a broken run.json is a finished run with an error") {
  const JobFolder job({"true"});
  write_file(job / "run.json", "{\"argv\": 5}", Durability::none);
  CHECK(job.run() == 127);
  const nlohmann::json finished = job.json("finished.json");
  CHECK(finished["error"].get<std::string>().starts_with(job / "run.json"));
  CHECK(finished["processes"].empty());
}

TEST_CASE("by hand: bash runs job.sh, and nothing is claimed") {
  const JobFolder job = bash_job("echo ran");
  write_file(job / "job.sh", "echo \"$PWD ${HPCBENCH_TRY-no try}\" >by_hand\nexit 6\n", Durability::none);
  const std::string before = listing(job.path());
  const TemporaryFolder here;
  const auto launched = [&](const std::string& folder) {
    return in_a_process([&] { return ::chdir(here.path().c_str()) == 0 ? launch_attempt(folder, "") : 9; });
  };
  CHECK(launched(job.path()) == 6);
  CHECK(read_file(here / "by_hand") == here.path().string() + " no try\n");
  CHECK(listing(job.path()) == before);
  CHECK(launched(here.path()) == 3);  // no job.sh is there
}

TEST_CASE("where finished.json cannot be written there is none, and the job says so") {
  const JobFolder job = bash_job("exit 0", 8);
  const int status = in_a_process([&] {
    const rlimit limit{600, 600};  // bytes a file: enough for claim and started.json, too few for eight processes
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return launch_attempt(job.path(), "t");
  });
  CHECK(status == 3);
  CHECK(is_there(job / "claim"));
  CHECK(is_there(job / "started.json"));
  for (const auto& entry : std::filesystem::directory_iterator(job.path())) {
    CHECK_FALSE(entry.path().filename().string().starts_with("finished.json"));
  }
}

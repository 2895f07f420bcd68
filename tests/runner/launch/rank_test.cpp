#include "launch/rank.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "base/text.hpp"
#include "job_folder.hpp"
#include "launch/first_host.hpp"
#include "runfiles/rank_report.hpp"
#include "runfiles/try_mark.hpp"

using namespace hpcbench;

namespace {

/// A try of an attempt, and what srun or mpirun would say to a rank of it.
class Try {
 public:
  explicit Try(const std::string& run_json = "{}") {
    write_file(folder_ / "run.json", run_json, Durability::none);
    make_folders(path());
  }

  std::string path() const { return folder_ / "try1"; }
  std::string operator/(const std::string& name) const { return folder_ / name; }
  std::string text(const std::string& name) const { return read_file(folder_ / name); }

  pid_t start(const std::vector<std::pair<const char*, std::string>>& variables, RankRequest request) const {
    return start_process_with([&] {
      for (const char* const inherited : {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
        ::unsetenv(inherited);
      ::setenv("HPCBENCH_RUN", (folder_ / "run.json").c_str(), 1);
      ::setenv("HPCBENCH_TRY", path().c_str(), 1);
      for (const auto& [name, value] : variables) ::setenv(name, value.c_str(), 1);
      ::dup2(::open((folder_ / "said").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666), STDERR_FILENO);
      if (::chdir(folder_.path().c_str()) != 0) return 99;
      return run_rank(request);
    });
  }
  int run(const std::vector<std::pair<const char*, std::string>>& variables, const std::string& text) const {
    return end_of_process(start(variables, {{"bash", "-c", text}, {}, {}, 0}));
  }
  std::optional<RankReport> report(int rank) const {
    const auto text = read_file_if_there(path() + "/" + std::to_string(rank) + ".json");
    return text ? parse_rank_report(*text) : std::nullopt;
  }

 private:
  TemporaryFolder folder_;
};

const std::string kSay =
    "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK $MASTER_ADDR:$MASTER_PORT "
    "${HPCBENCH_TRY-none}";

std::vector<std::pair<const char*, std::string>> slurm_rank(int rank) {
  return {{"SLURM_PROCID", std::to_string(rank)},
          {"SLURM_LOCALID", std::to_string(rank % 2)},
          {"SLURM_NODEID", std::to_string(rank / 2)},
          {"SLURM_STEP_NUM_TASKS", "4"},
          {"SLURM_NTASKS_PER_NODE", "2"},
          {"SLURM_STEP_NODELIST", "node[07-08]"},
          {"SLURM_JOB_ID", "12"},
          {"SLURM_STEP_ID", "3"}};
}

bool has_pending_signals(pid_t pid) {
  const std::string status = read_file("/proc/" + std::to_string(pid) + "/status");
  return status.find("ShdPnd:\t0000000000000000") == std::string::npos;
}

}  // namespace

TEST_CASE("a rank under srun: torchrun's environment, output files, a report, the try's mark") {
  const Try folder;
  CHECK(folder.run(slurm_rank(3), kSay) == 0);
  CHECK(folder.text("stdout.3.log") == "3/4 1/2 1 1 node07:15012 none\n");
  CHECK(step_of_try(folder.path()) == "12.3");
  const auto report = folder.report(3);
  REQUIRE(report);
  CHECK(report->end.exit_code == 0);
  CHECK(report->end.max_rss_bytes > 100'000);
  CHECK(report->end.wall_s > 0);
  CHECK_FALSE(report->tail);
  CHECK_FALSE(read_first_failed(folder.path()));
  CHECK(folder.run(slurm_rank(0), "echo first; " + kSay) == 0);
  CHECK(folder.text("stdout.log").starts_with("first\n0/4 0/2 0 0 "));
  CHECK(read_rank_reports(folder.path(), 4).size() == 2);
}

TEST_CASE("a rank under mpirun in a job of Slurm is mpirun's; what the job says of the meeting place stays") {
  const Try folder;
  auto variables = slurm_rank(0);
  variables.insert(variables.end(), {{"OMPI_COMM_WORLD_RANK", "3"},
                                     {"OMPI_COMM_WORLD_SIZE", "4"},
                                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                     {"MASTER_ADDR", "n1"},
                                     {"MASTER_PORT", "99"}});
  CHECK(folder.run(variables, kSay) == 0);
  CHECK(folder.text("stdout.3.log") == "3/4 1/2 1 1 n1:99 none\n");
}

TEST_CASE("the monitor of a node samples its gpus by the names that the driver knows, until the rank has ended") {
  for (const std::string known : {"clocks_event_reasons", "clocks_throttle_reasons"}) {
    CAPTURE(known);
    const Try folder;
    // Whoever asks for another name hears that it is no field, as of nvidia-smi.
    const std::string tool = folder / "nvidia-smi";
    write_file(tool,
               "#!/bin/bash\n[[ $* == *" + known + ".active* ]] || { echo 'no field'; exit 2; }\n" +
                   "echo \"$*\"\n[[ $* != *' -l '* ]] || { echo $$ > \"${0%/*}/pid\"; exec sleep 60; }\n",
               Durability::none);
    std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
    auto variables = slurm_rank(2);
    variables.emplace_back("PATH", folder / ":" + std::string(std::getenv("PATH")));
    RankRequest request{{"bash", "-c", "until [ -s pid ]; do sleep 0.01; done"}, {}, {}, 0};
    request.monitor_s = 2;
    CHECK(end_of_process(folder.start(variables, request)) == 0);
    CHECK(folder.text("gpu.1.csv") ==
          "--query-gpu=timestamp,index,uuid,utilization.gpu,memory.used,power.draw,clocks.sm,temperature.gpu," + known +
              ".active,ecc.errors.uncorrected.volatile.total --format=csv -l 2\n");
    const std::string state = "/proc/" + std::string(trim(folder.text("pid"))) + "/status";
    for (int tries = 0; tries < 500 && read_file_if_there(state); ++tries) ::usleep(10'000);
    CHECK_FALSE(read_file_if_there(state));
  }
}

TEST_CASE("a rank's times are its program's") {
  const Try folder;
  CHECK(folder.run(slurm_rank(0), "i=0; while ((i < 100000)); do i=$((i + 1)); done") == 0);
  CHECK(folder.report(0)->end.user_s > 0.02);
}

TEST_CASE("the first rank that fails is noted, with its last lines; its exit code is the rank's") {
  const Try folder;
  CHECK(folder.run(slurm_rank(1), "echo out; echo why >&2; exit 7") == 7);
  CHECK(folder.run(slurm_rank(2), "kill -SEGV $$") == 128 + SIGSEGV);
  CHECK(read_first_failed(folder.path()) == 1);
  CHECK(folder.report(1)->tail == "why");
  CHECK(folder.report(2)->end.signal == SIGSEGV);
  CHECK(end_of_process(folder.start(slurm_rank(0), {{"no-such-program-here"}, {}, {}, 0})) == 127);
  CHECK(folder.report(0)->error == "cannot start no-such-program-here: No such file or directory");
  CHECK(folder.text("said").find("rank 0: cannot start no-such-program-here") != std::string::npos);
}

TEST_CASE("an exit code that means success ends nobody; another is a failure, 0 too") {
  const Try folder(R"({"success":{"exit_code":4}})");
  CHECK(folder.run(slurm_rank(0), "exit 4") == 0);
  CHECK_FALSE(read_first_failed(folder.path()));
  CHECK(folder.run(slurm_rank(1), "exit 0") == 1);
  CHECK(read_first_failed(folder.path()) == 1);
}

TEST_CASE("a try is begun or closed, and stays what it is") {
  const Try folder;
  CHECK(close_try(folder.path()));
  CHECK(close_try(folder.path()));
  CHECK(folder.run(slurm_rank(0), "echo executed") == 128 + SIGTERM);
  CHECK_FALSE(is_there(folder / "stdout.log"));
  CHECK_FALSE(folder.report(0));
  const Try other;
  CHECK(begin_try(other.path(), "12.0"));
  CHECK(begin_try(other.path(), "12.0"));
  CHECK_FALSE(close_try(other.path()));
  CHECK(step_of_try(other.path()) == "12.0");
  CHECK_FALSE(begin_try(other / "gone", "12.0"));
  CHECK(close_try(other / "gone"));
}

TEST_CASE("a rank passes TERM, INT and USR1 on to its program, and waits for it") {
  const Try folder;
  // The program answers each signal by a line, and ends at the second SIGTERM or SIGINT.
  const std::string program =
      "n=0; for s in USR1 INT TERM; do trap \"echo $s; [ $s = USR1 ] || n=\\$((n + 1))\" $s; done; >ready; "
      "until [ $n -ge 2 ]; do sleep 0.02; done; exit 5";
  const pid_t rank = folder.start(slurm_rank(0), {{"bash", "-c", program}, {}, {}, 0});
  REQUIRE(wait_until([&] { return is_there(folder / "ready"); }));
  const auto lines = [&] { return read_file_if_there(folder / "stdout.log").value_or(""); };
  std::string said;
  for (const auto& [signal, name] :
       {std::pair{SIGUSR1, "USR1\n"}, {SIGUSR1, "USR1\n"}, {SIGINT, "INT\n"}, {SIGTERM, "TERM\n"}}) {
    ::kill(rank, signal);
    said += name;
    REQUIRE(wait_until([&] { return lines() == said; }));
  }
  CHECK(end_of_process(rank) == 5);
  CHECK(folder.report(0)->end.exit_code == 5);
  CHECK_FALSE(read_first_failed(folder.path()));  // it was asked to end
}

TEST_CASE("a rank passes on nothing that Slurm's daemon has sent to the program itself") {
  const Try folder;
  auto variables = slurm_rank(0);
  variables.emplace_back("HPCBENCH_TRACKER", "proctrack/linuxproc");
  const std::string program =
      "echo ${HPCBENCH_TRACKER-none}; for s in USR1 TERM; do trap \"echo $s\" $s; done; trap 'echo INT; exit 5' INT; >ready; "
      "while :; do sleep 0.02; done";
  const pid_t rank = folder.start(variables, {{"bash", "-c", program}, {}, {}, 0});
  REQUIRE(wait_until([&] { return is_there(folder / "ready"); }));
  const pid_t daemon = start_process_with([&] {
    ::prctl(PR_SET_NAME, "slurmstepd");
    ::kill(rank, SIGUSR1);
    ::kill(rank, SIGTERM);
    write_file(folder / "sent", "", Durability::none);
    ::pause();  // as it does: it outlives its ranks
    return 0;
  });
  REQUIRE(wait_until([&] { return is_there(folder / "sent") && !has_pending_signals(rank); }));
  ::kill(rank, SIGINT);
  CHECK(end_of_process(rank) == 5);
  ::kill(daemon, SIGKILL);
  end_of_process(daemon);
  CHECK(folder.text("stdout.log") == "none\nINT\n");
}

TEST_CASE("rank -n starts all ranks here, on so many nodes as are said, and passes output through without run.json") {
  const Try folder;
  RankRequest request{{"bash", "-c", kSay}, 4, 2, 0};
  CHECK(end_of_process(folder.start({{"MASTER_PORT", "99"}, {"MASTER_ADDR", "x"}}, request)) == 0);
  CHECK(folder.text("stdout.log") == "0/4 0/2 0 0 x:99 none\n");
  CHECK(folder.text("stdout.3.log") == "3/4 1/2 1 1 x:99 none\n");
  CHECK(read_rank_reports(folder.path(), 4).size() == 4);
  request = {{"bash", "-c", "echo said by $RANK >&2"}, 1, {}, 0};
  CHECK(end_of_process(folder.start({{"HPCBENCH_RUN", ""}, {"HPCBENCH_TRY", ""}}, request)) == 0);
  CHECK(folder.text("said") == "said by 0\n");
}

TEST_CASE("reports from any text") {
  for (const char* const text :
       {"", "{", "[]", "{}", R"({"rank":0})", R"({"rank":"x","wall_s":1})",
        R"({"rank":0,"exit_code":0,"signal":9,"wall_s":1,"user_s":1,"sys_s":1,"max_rss_bytes":1})",
        R"({"rank":0,"exit_code":null,"signal":null,"wall_s":1,"user_s":1,"sys_s":1,"max_rss_bytes":1})"}) {
    CHECK_FALSE(parse_rank_report(text));
  }
}

TEST_CASE("the first host of a list") {
  CHECK(first_host("n07") == "n07");
  CHECK(first_host("n[07-12,20],m3") == "n07");
  CHECK(first_host("a[1-4]b[2,5]-ib,c") == "a1b2-ib");
  CHECK(first_host("x,n[1-2]") == "x");
  CHECK_FALSE(first_host(""));
  CHECK_FALSE(first_host("n[1"));
}

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cstdlib>

#include "fakes/checks.hpp"
#include "job_folder.hpp"
#include "launch/rank.hpp"

using namespace hpcbench;

namespace {

/// Runs `launch -n ranks -- bash -c text` with its output in the files `out` and `err` of the folder that it runs in.
pid_t start_ranks(const TemporaryFolder& folder, int ranks, const std::vector<std::string>& command) {
  return start_process_with([&] {
    if (::chdir(folder.path().c_str()) != 0) return 99;
    ::dup2(::open("out", O_WRONLY | O_CREAT | O_APPEND, 0666), STDOUT_FILENO);
    ::dup2(::open("err", O_WRONLY | O_CREAT | O_APPEND, 0666), STDERR_FILENO);
    return launch_ranks(ranks, command);
  });
}

}  // namespace

TEST_CASE("launch -n passes output through as it is") {
  const TemporaryFolder folder;
  const std::vector<std::string> command{"bash", "-c", "printf 'a\\0b\\xff no newline'; printf '\\e[31mred' >&2"};
  CHECK(end_of_process(start_ranks(folder, 1, command)) == 0);
  CHECK(read_file(folder / "out") == std::string("a\0b\xff no newline", 15));
  CHECK(read_file(folder / "err") == "\x1b[31mred");
}

TEST_CASE("launch -n gives the environment of ranks") {
  const TemporaryFolder folder;
  ::unsetenv("HPCBENCH_RUN");
  ::setenv("OMP_NUM_THREADS", "5", 1);
  const std::string text =
      "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK $MASTER_ADDR $OMP_NUM_THREADS "
      "${HPCBENCH_RUN-none} "
      "${MASTER_PORT:+port} >rank.$RANK";
  CHECK(end_of_process(start_ranks(folder, 2, {"bash", "-c", text})) == 0);
  ::unsetenv("OMP_NUM_THREADS");
  CHECK(read_file(folder / "rank.0") == "0 2 0 2 0 0 127.0.0.1 5 none port\n");
  CHECK(read_file(folder / "rank.1") == "1 2 1 2 0 0 127.0.0.1 5 none port\n");
  CHECK(end_of_process(start_ranks(folder, 100000 / 100000, {"bash", "-c", "echo $OMP_NUM_THREADS"})) == 0);
  CHECK(std::stol(read_file(folder / "out")) == ::sysconf(_SC_NPROCESSORS_ONLN));
}

TEST_CASE("launch -n ends as the first process that failed, and ends the others") {
  const TemporaryFolder folder;
  CHECK(end_of_process(start_ranks(folder, 3, {"bash", "-c", "[ $RANK = 2 ] && exit 7; sleep 1000"})) == 7);
  CHECK(read_file(folder / "err") == "error: rank 2 of 3 failed first: exit code 7\n");
  CHECK(end_of_process(start_ranks(folder, 2, {"bash", "-c", "[ $RANK = 1 ] && kill -SEGV $$; sleep 1000"})) == 128 + SIGSEGV);
}

TEST_CASE("launch -n says when a command is missing or none") {
  const TemporaryFolder folder;
  CHECK(end_of_process(start_ranks(folder, 2, {"no-such-program-here"})) == 127);
  CHECK(contains(read_file(folder / "err"), "rank 0: cannot start no-such-program-here: No such file or directory"));
  CHECK(end_of_process(start_ranks(folder, 2, {})) == 2);
}

TEST_CASE("launch -n within a run is no part of it: no file and no port of the run's, and programs still know the run") {
  const TemporaryFolder folder;
  const auto start = [&] {
    ::setenv("HPCBENCH_RUN", (folder / "run.json").c_str(), 1);
    ::setenv("HPCBENCH_TRY", (folder / "try1").c_str(), 1);
    ::setenv("MASTER_PORT", "1", 1);
    return launch_ranks(1, {"bash", "-c", "echo $HPCBENCH_RUN ${HPCBENCH_TRY-none} $MASTER_PORT > seen; exit 3"});
  };
  write_file(folder / "run.json", R"({"schema":1,"success":{"exit_code":3}})", Durability::none);
  const pid_t ranks = start_process_with([&] { return ::chdir(folder.path().c_str()) != 0 ? 99 : start(); });
  CHECK(end_of_process(ranks) == 3);
  const std::vector<std::string> seen = split(std::string(trim(read_file(folder / "seen"))), ' ');
  REQUIRE(seen.size() == 3);
  CHECK(seen[0] == folder / "run.json");
  CHECK(seen[1] == "none");
  CHECK(seen[2] != "1");
  CHECK_FALSE(is_there(folder / "stdout.log"));
  CHECK_FALSE(is_there(folder / "try1"));
}

TEST_CASE("launch -n passes signals on") {
  const TemporaryFolder folder;
  const std::string text = "trap 'echo got INT; exit 0' INT; sleep 1000 & >ready.$RANK; wait";
  const pid_t launcher = start_ranks(folder, 1, {"bash", "-c", text});
  REQUIRE(wait_until([&] { return is_there(folder / "ready.0"); }));
  ::kill(launcher, SIGINT);
  CHECK(end_of_process(launcher) == 128 + SIGINT);
  CHECK(read_file(folder / "out") == "got INT\n");
}

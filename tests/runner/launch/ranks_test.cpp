#include <doctest/doctest.h>
#include <fcntl.h>

#include <cstdlib>

#include "job_folder.hpp"

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
  CHECK(end_of_process(start_ranks(folder, 2, {"no-such-program-here"})) == 2);
  CHECK(end_of_process(start_ranks(folder, 2, {})) == 2);
  CHECK(end_of_process(start_ranks(folder, 0, {"true"})) == 2);
  CHECK_THROWS_WITH_AS(launch_ranks(0, {"true"}), "error: the number of ranks must be at least 1", InputError);
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

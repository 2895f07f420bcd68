#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/files.hpp"
#include "fakes/temporary_folder.hpp"
#include "launch/supervisor.hpp"

namespace hpcbench {

TEST_CASE("a request to end reaches what the program has started, too") {
  const TemporaryFolder folder;
  const std::string pid_file = folder / "pid";
  const pid_t launcher = ::fork();  // a process of its own: a supervisor owns signals and children
  REQUIRE(launcher >= 0);
  if (launcher == 0) {
    Supervisor supervisor(Supervisor::Place::background);
    supervisor.expect_request([&] { return ::access(pid_file.c_str(), F_OK) == 0; });
    ProcessSpec program;
    program.argv = {"bash", "-c", "sleep 100 & echo $! > " + pid_file + "; wait"};
    program.environment = {std::string("PATH=") + ::getenv("PATH")};
    std::optional<StartError> error;
    const Supervision ended = supervisor.run({program}, {}, error);
    ::_exit(ended.cancelled_by == SIGTERM && !ended.timed_out ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(launcher, &status, 0) == launcher);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  const int left = std::atoi(read_file_if_there(pid_file).value_or("0").c_str());
  REQUIRE(left > 0);
  CHECK(::kill(left, 0) != 0);
}

}  // namespace hpcbench

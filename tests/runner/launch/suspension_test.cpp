#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "launch/supervisor.hpp"

namespace hpcbench {

TEST_CASE("a suspension counts also where the program goes on, and ends, before the launcher") {
  // Both signals then wait when the launcher goes on. A process of its own: it is stopped, and keeps the signals.
  const pid_t launcher = ::fork();
  REQUIRE(launcher >= 0);
  if (launcher == 0) {
    Supervisor supervisor(Supervisor::Place::batch);
    ProcessSpec program;
    program.argv = {"bash", "-c", "kill -TSTP $PPID; sleep 0.3; (sleep 0.7; kill -CONT $PPID) & kill -STOP $PPID"};
    program.environment = {std::string("PATH=") + ::getenv("PATH")};
    std::optional<StartError> error;
    const Supervision ended = supervisor.run({program}, {}, error);
    ::_exit(ended.suspended_s.value_or(0) > 0.5 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(launcher, &status, 0) == launcher);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace hpcbench

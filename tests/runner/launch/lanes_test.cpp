#include "launch/lanes.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>
#include <map>
#include <string>

#include "base/files.hpp"
#include "fakes/temporary_folder.hpp"

namespace hpcbench {

namespace {

/// Holds the signals of a batch job, as the launcher of a block does, and gives them back.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    ::sigemptyset(&held);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) ::sigaddset(&held, signal);
    ::sigprocmask(SIG_BLOCK, &held, &before_);
  }
  ~HeldSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

int await_signal(int wanted) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, wanted);
  const timespec patience{30, 0};
  return ::sigtimedwait(&set, nullptr, &patience) == wanted ? 0 : 9;
}

TEST_CASE("lanes: several at a time, and how each ended") {
  const HeldSignals held;
  Lanes lanes(2);
  CHECK(lanes.empty());
  REQUIRE(lanes.start(0, [] { return 3; }));
  CHECK_FALSE(lanes.full());
  REQUIRE(lanes.start(1, [] {
    ::raise(SIGKILL);
    return 0;
  }));
  CHECK(lanes.full());
  std::map<std::size_t, int> status;
  while (!lanes.empty()) {
    for (const Lanes::End& end : lanes.wait()) status[end.work] = end.status;
  }
  CHECK(status == std::map<std::size_t, int>{{0, 3}, {1, 128 + SIGKILL}});
  CHECK(lanes.wait().empty());
}

TEST_CASE("lanes: signals reach each of them, and a wish to end is remembered") {
  const HeldSignals held;
  Lanes lanes(3);
  CHECK_FALSE(lanes.asked_to_end());
  for (std::size_t i = 0; i < 2; ++i) REQUIRE(lanes.start(i, [] { return await_signal(SIGUSR2); }));
  ::kill(::getpid(), SIGUSR2);
  CHECK_FALSE(lanes.asked_to_end());  // and passed it on
  int ended = 0;
  while (!lanes.empty()) {
    for (const Lanes::End& end : lanes.wait()) ended += end.status == 0 ? 1 : 0;
  }
  CHECK(ended == 2);
  REQUIRE(lanes.start(2, [] { return await_signal(SIGTERM); }));
  ::kill(::getpid(), SIGTERM);
  const std::vector<Lanes::End> last = lanes.wait();
  REQUIRE(last.size() == 1);
  CHECK(last[0].status == 0);
  CHECK(lanes.asked_to_end());
}

TEST_CASE("lanes: none outlives the process that started it") {
  const HeldSignals held;
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "pid").string();
  Lanes outer(1);
  REQUIRE(outer.start(0, [&] {
    Lanes inner(1);
    inner.start(0, [&] {
      write_file(path, std::to_string(::getpid()), Durability::none);
      return await_signal(SIGUSR1);
    });
    while (!read_file_if_there(path)) ::usleep(1000);
    ::raise(SIGKILL);
    return 0;
  }));
  outer.wait();
  const int pid = std::stoi(read_file(path));
  int looks = 0;
  while (::kill(pid, 0) == 0 &&
         read_file_if_there("/proc/" + std::to_string(pid) + "/stat").value_or("Z").find(") Z") == std::string::npos &&
         ++looks < 5000)
    ::usleep(1000);
  CHECK(looks < 5000);
}

}  // namespace

}  // namespace hpcbench

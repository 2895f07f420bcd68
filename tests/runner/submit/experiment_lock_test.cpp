#include "submit/experiment_lock.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/error.hpp"
#include "base/files.hpp"
#include "fakes/temporary_folder.hpp"
#include "submit/owner_file.hpp"

namespace hpcbench {

namespace {

/// Starts a process that takes the lock, tells so, and sleeps. Its number.
template <typename Take>
int start_owner(Take take) {
  std::array<int, 2> ready{};
  REQUIRE(::pipe2(ready.data(), O_CLOEXEC) == 0);
  const int pid = ::fork();
  if (pid == 0) {
    const auto lock = take();
    const char answer = lock ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) == 1) ::pause();
    ::_exit(1);
  }
  char answer = '?';
  REQUIRE(::read(ready[0], &answer, 1) == 1);
  REQUIRE(answer == 'y');
  ::close(ready[0]);
  ::close(ready[1]);
  return pid;
}

void kill_owner(int pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST_CASE("one process owns an experiment; its death frees it") {
  const TemporaryFolder folder;
  const std::string results = folder / "study";
  const int pid = start_owner([&] { return ExperimentLock::try_acquire(results, nullptr); });
  std::string owner;
  CHECK_FALSE(ExperimentLock::try_acquire(results, &owner));
  CHECK(owner == "process " + std::to_string(pid) + " on " + host_name());
  kill_owner(pid);
  CHECK(ExperimentLock::try_acquire(results, &owner));
}

TEST_CASE("a lock ends with its scope, also when moved") {
  const TemporaryFolder folder;
  auto first = ExperimentLock::try_acquire(folder / "study", nullptr);
  REQUIRE(first);
  CHECK_FALSE(ExperimentLock::try_acquire(folder / "study", nullptr));
  CHECK(ExperimentLock::try_acquire(folder / "other", nullptr));
  {
    const ExperimentLock moved = *std::move(first);
    first.reset();
    CHECK_FALSE(ExperimentLock::try_acquire(folder / "study", nullptr));
  }
  CHECK(ExperimentLock::try_acquire(folder / "study", nullptr));
}

TEST_CASE("a job does not inherit the lock") {
  const TemporaryFolder folder;
  auto lock = ExperimentLock::try_acquire(folder / "study", nullptr);
  REQUIRE(lock);
  const int pid = ::fork();
  if (pid == 0) {
    ::execl("/bin/sleep", "sleep", "600", nullptr);
    ::_exit(127);
  }
  // Its command line changes when it has passed exec.
  while (read_file("/proc/" + std::to_string(pid) + "/comm") != "sleep\n") ::usleep(1000);
  lock.reset();
  CHECK(ExperimentLock::try_acquire(folder / "study", nullptr));
  kill_owner(pid);
}

TEST_CASE("without locks a file names the owner") {
  const TemporaryFolder folder;
  const std::string path = folder / "lock.owner";
  const int pid = start_owner([&] { return OwnerFile::try_acquire(path, this_process(), nullptr); });
  std::string owner;
  CHECK_FALSE(OwnerFile::try_acquire(path, this_process(), &owner));
  CHECK(describe_owner(owner) == "process " + std::to_string(pid) + " on " + host_name());
  CHECK_THROWS_AS(break_lock(folder.path().string()), UnavailableError);
  kill_owner(pid);
  {
    const auto own = OwnerFile::try_acquire(path, this_process(), &owner);
    REQUIRE(own);
    CHECK(read_file(path) == owner_text(this_process()));
  }
  CHECK_FALSE(read_file_if_there(path));
}

TEST_CASE("the owner file of another host stays until it is broken") {
  const TemporaryFolder folder;
  const std::string path = folder / "lock.owner";
  SUBCASE("named") {
    write_file(path, owner_text({"elsewhere", "some-boot", 12, 34}), Durability::none);
    std::string owner;
    CHECK_FALSE(OwnerFile::try_acquire(path, this_process(), &owner));
    CHECK(describe_owner(owner) == "process 12 on elsewhere");
  }
  SUBCASE("died while it wrote") {
    write_file(path, "", Durability::none);
    std::string owner;
    CHECK_FALSE(OwnerFile::try_acquire(path, this_process(), &owner));
    CHECK(describe_owner(owner) == "another process");
  }
  CHECK(break_lock(folder.path().string()));
  CHECK_FALSE(break_lock(folder.path().string()));
  CHECK(OwnerFile::try_acquire(path, this_process(), nullptr));
}

TEST_CASE("beside a lock that does not reach its host, an owner is known by its signs of life") {
  const TemporaryFolder folder;
  const std::string path = folder / "lock.owner";
  const std::string text = owner_text({"elsewhere", "some-boot", 12, 34});
  write_file(path, text, Durability::none);
  std::string owner;
  SUBCASE("it lives: refused, with advice") {
    const Heartbeat heartbeat(path);
    CHECK_THROWS_WITH_AS(ExperimentLock::try_acquire(folder.path().string(), &owner),
                         doctest::Contains("is run by process 12 on elsewhere, although its lock is free"), UnavailableError);
    CHECK(read_file(path) == text);
    CHECK(experiment_owner(folder.path().string()) == "process 12 on elsewhere");
  }
  SUBCASE("it is gone: followed") {
    const auto lock = ExperimentLock::try_acquire(folder.path().string(), &owner);
    REQUIRE(lock);
    CHECK(read_file(path) == owner_text(this_process()));
  }
}

TEST_CASE("a lock is for its owner alone to open") {
  const TemporaryFolder folder;
  write_file(folder / "lock", "", Durability::none);  // as an earlier version left it
  const auto lock = ExperimentLock::try_acquire(folder.path().string(), nullptr);
  REQUIRE(lock);
  struct stat status {};
  REQUIRE(::stat((folder / "lock").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600);
}

TEST_CASE("an owner of an earlier boot of this host is gone") {
  const TemporaryFolder folder;
  const std::string path = folder / "lock.owner";
  write_file(path, owner_text({host_name(), "earlier-boot", ::getpid(), this_process().start_ticks}), Durability::none);
  CHECK(OwnerFile::try_acquire(path, this_process(), nullptr));
}

TEST_CASE("owners are read as they are written") {
  const ProcessIdentity process{"node7", "b00t", 123, 456};
  CHECK(parse_owner(owner_text(process)) == process);
  CHECK_FALSE(parse_owner("host node7\nboot_id b\npid x\n"));
  CHECK_FALSE(parse_owner(""));
}

}  // namespace

}  // namespace hpcbench

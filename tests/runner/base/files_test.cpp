#include "base/files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/run_name.hpp"
#include "fakes/temporary_folder.hpp"

using namespace hpcbench;

TEST_CASE("a file is replaced whole, and what is missing is absent") {
  const TemporaryFolder folder;
  CHECK_FALSE(read_file_if_there(folder / "none"));
  CHECK_THROWS_AS(read_file(folder / "none"), UnavailableError);
  write_file(folder / "a", "one", Durability::durable);
  write_file(folder / "a", "two", Durability::none);
  CHECK(read_file(folder / "a") == "two");
  CHECK(read_tail(folder / "a", 2) == "wo");
  CHECK_THROWS_AS(write_file(folder / "no/such", "x", Durability::none), UnavailableError);
}

TEST_CASE("a file is created by one only") {
  const TemporaryFolder folder;
  CHECK(create_exclusively(folder / "claim", "mine"));
  CHECK_FALSE(create_exclusively(folder / "claim", "yours"));
  CHECK(read_file(folder / "claim") == "mine");
}

TEST_CASE("a file of a study is never written through a link, a pipe or a folder") {
  const TemporaryFolder folder;
  write_file(folder / "precious", "mine", Durability::none);
  REQUIRE(::symlink("precious", (folder / "link").c_str()) == 0);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0666) == 0);
  for (const char* const name : {"link", "pipe"}) {
    CHECK(open_study_file(folder / name, O_APPEND).get() < 0);
    CHECK(why_not_opened(errno).starts_with("it is a link or no plain file"));
  }
  CHECK(open_study_file(folder / ".", O_APPEND).get() < 0);
  CHECK(read_file(folder / "precious") == "mine");
  write_file(folder / "link", "new", Durability::none);  // replaces the link
  CHECK(read_file(folder / "link") == "new");
  CHECK(read_file(folder / "precious") == "mine");
}

TEST_CASE("files of a study are for their owner alone to write, and private ones stay private") {
  const TemporaryFolder folder;
  const auto mode_of = [&](const std::string& name) {
    struct stat status {};
    CHECK(::stat((folder / name).c_str(), &status) == 0);
    return status.st_mode & 0777U;
  };
  const mode_t before = ::umask(0002);
  write_file(folder / "a", "x", Durability::none);
  write_file(folder / "user", "x", Durability::none, kUserFile);
  make_folders(folder / "deep/folder");
  CHECK(mode_of("a") == 0644);
  CHECK(mode_of("user") == 0664);
  CHECK(mode_of("deep") == 0755);
  CHECK(mode_of("deep/folder") == 0755);
  CHECK(is_own_alone(folder / "a"));
  CHECK(is_own(folder / "user"));
  CHECK_FALSE(is_own_alone(folder / "user"));
  CHECK_FALSE(is_own(folder / "none"));
  ::umask(0077);
  write_file(folder / "private", "x", Durability::none);
  CHECK(copy_contents(folder / "a", folder / "copy").empty());
  CHECK(mode_of("private") == 0600);
  CHECK(mode_of("copy") == 0600);
  CHECK(read_file(folder / "copy") == "x");
  CHECK_FALSE(copy_contents(folder / "none", folder / "copy2").empty());
  ::umask(before);
}

TEST_CASE("folders are made where a file is not in their place") {
  const TemporaryFolder folder;
  make_folders(folder / "a/b/c/");
  make_folders(folder / "a/b/c");
  CHECK(std::filesystem::is_directory(folder / "a/b/c"));
  write_file(folder / "file", "x", Durability::none);
  CHECK_THROWS_AS(make_folders(folder / "file"), UnavailableError);
  CHECK_THROWS_AS(make_folders(folder / "file/below"), UnavailableError);
}

TEST_CASE("a process is known by more than its pid") {
  const ProcessIdentity self = this_process();
  CHECK(self.pid == ::getpid());
  CHECK(is_alive(self) == true);
  ProcessIdentity other = self;
  other.start_ticks += 1;
  CHECK(is_alive(other) == false);
  other = self;
  other.host = "elsewhere";
  CHECK_FALSE(is_alive(other).has_value());
}

TEST_CASE("SHA-256 is the one of FIPS 180-4") {
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abc", 16) == "ba7816bf8f01cfea");
  CHECK(random_hex(16).size() == 16);
  CHECK(random_hex(16) != random_hex(16));
}

TEST_CASE("attempts have names that are folders") {
  CHECK(to_string(RunName{RunKind::repeat, 1}) == "r01");
  CHECK(to_string(RunName{RunKind::warmup, 12}) == "w12");
  CHECK(to_string(RunName{RunKind::repeat, 100}) == "r100");
  CHECK(to_string(RunName{RunKind::imported, 7}) == "i07");
  CHECK(parse_run_name("r01") == RunName{RunKind::repeat, 1});
  CHECK(parse_run_name("i12") == RunName{RunKind::imported, 12});
  CHECK(RunName{RunKind::imported, 7} < RunName{RunKind::repeat, 1});
  CHECK(RunName{RunKind::repeat, 7} < RunName{RunKind::warmup, 1});
  for (const char* bad : {"r1", "r00", "x01", "r", "r01x", "r-1"}) CHECK_FALSE(parse_run_name(bad));
  const AttemptKey key{"0123456789abcdef", {RunKind::repeat, 3}, 2};
  CHECK(to_string(key) == "0123456789abcdef/r03/a2");
  CHECK(parse_attempt_key("0123456789abcdef/r03/a2") == key);
  for (const char* bad : {"x/r03", "../r03/a2", "x/r03/b2", "x/r03/a0"}) CHECK_FALSE(parse_attempt_key(bad));
}

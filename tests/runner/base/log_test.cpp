#include "base/log.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "fakes/temporary_folder.hpp"

namespace hpcbench {

namespace {

/// The log as it is for a test, and gone after it.
struct LogFile {
  TemporaryFolder folder;
  std::string path = folder / "hpcbench.log";
  explicit LogFile(std::uint64_t most_bytes = 10'000'000) { open_log(path, most_bytes); }
  ~LogFile() {
    close_log();
    set_log_level(LogLevel::info);
  }
  std::vector<std::string> lines(const std::string& suffix = "") const {
    std::vector<std::string> found = split(read_file_if_there(path + suffix).value_or(""), '\n');
    if (!found.empty() && found.back().empty()) found.pop_back();
    return found;
  }
};

std::string text_of(const std::string& line) {
  const std::size_t bracket = line.find("] ");
  return bracket == std::string::npos ? "" : line.substr(line.find(' ', bracket + 2) + 1);
}

TEST_CASE("log: a record is one line with its time in UTC, pid and level") {
  const LogFile log;
  log_info("first");
  log_warning("two\nlines\tand \\ and \x1b[0m");
  const std::vector<std::string> lines = log.lines();
  REQUIRE(lines.size() == 2);
  const std::string& line = lines[0];  // 2026-11-23T08:41:46.123Z [4711] info first
  CHECK(line.substr(4, 1) == "-");
  CHECK(line.substr(10, 1) == "T");
  CHECK(line.substr(19, 1) == ".");
  CHECK(line.substr(23) == fmt::format("Z [{}] info first", ::getpid()));
  CHECK(lines[1].ends_with("] warning two\\nlines\\tand \\\\ and \\x1b[0m"));
}

TEST_CASE("log: levels") {
  const LogFile log;
  CHECK(is_logged(LogLevel::info));
  CHECK_FALSE(is_logged(LogLevel::debug));
  log_debug("no");
  set_log_level(LogLevel::debug);
  log_debug("yes");
  set_log_level(LogLevel::error);
  log_warning("no");
  log_said("no");
  log_error("yes");
  CHECK(log.lines().size() == 2);
  CHECK(parse_log_level("warning") == LogLevel::warning);
  CHECK_FALSE(parse_log_level("loud").has_value());
}

TEST_CASE("log: a file that cannot be written changes nothing, and says why") {
  open_log("/no/such/folder/hpcbench.log");
  log_info("lost");
  CHECK(log_problem() == "No such file or directory");
  open_log("/dev/full");
  log_info("lost");
  CHECK(log_problem().value_or("").starts_with("it is a link or no plain file"));
  close_log();
  CHECK_FALSE(log_problem());
}

TEST_CASE("log: a limit on file sizes does not end the process, nor does the job after it inherit anything") {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{2000, 2000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    open_log(folder / "hpcbench.log");
    for (int i = 0; i < 100; ++i) log_info(std::string(100, 'x'));
    sigset_t pending;
    ::sigpending(&pending);
    struct sigaction action {};
    ::sigaction(SIGXFSZ, nullptr, &action);
    const bool untouched = ::sigismember(&pending, SIGXFSZ) == 0 && action.sa_handler == SIG_DFL;
    ::_exit(log_problem() && untouched ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(std::filesystem::file_size(folder / "hpcbench.log") <= 2000);
}

TEST_CASE("log: at its size the file is kept as .1, then .2") {
  const LogFile log(1000);
  for (int i = 0; i < 60; ++i) log_info(fmt::format("{:02} {}", i, std::string(60, 'x')));
  CHECK(text_of(log.lines().back()).starts_with("59 "));
  CHECK(std::filesystem::exists(log.path + ".1"));
  CHECK(std::filesystem::exists(log.path + ".2"));
  CHECK_FALSE(std::filesystem::exists(log.path + ".3"));
  // In order, and nothing lost between them.
  std::vector<std::string> all;
  for (const char* suffix : {".2", ".1", ""}) {
    for (const std::string& line : log.lines(suffix)) all.push_back(text_of(line));
    CHECK(std::filesystem::file_size(log.path + suffix) < 1200);
  }
  for (std::size_t i = 1; i < all.size(); ++i) {
    CHECK(std::stoi(all[i].substr(0, 2)) == std::stoi(all[i - 1].substr(0, 2)) + 1);
  }
}

TEST_CASE("log: a file that was removed is made anew") {
  const LogFile log;
  log_info("one");
  std::filesystem::remove(log.path);
  log_info("two");
  REQUIRE(log.lines().size() == 1);
  CHECK(text_of(log.lines()[0]) == "two");
}

TEST_CASE("log: processes that write and rotate one file at once lose and tear no line") {
  constexpr int kWriters = 4;
  constexpr int kRecords = 150;
  constexpr std::uint64_t kMostBytes = 50'000;
  const TemporaryFolder folder;
  const std::string path = folder / "hpcbench.log";
  const auto record_of = [](int writer, int i) { return fmt::format("{} {} {}", writer, i, std::string(100 + i, 'y')); };
  std::vector<pid_t> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(::fork());
    if (writers.back() != 0) continue;
    // Together they fill the file twice: three files hold all.
    open_log(path, kMostBytes);
    for (int i = 0; i < kRecords; ++i) log_info(record_of(writer, i));
    ::_exit(0);
  }
  for (const pid_t writer : writers) REQUIRE(::waitpid(writer, nullptr, 0) == writer);
  // While the one that rotates waits for its turn, the others fill the old file far beyond its size: then it was once.
  CHECK(std::filesystem::exists(path + ".1"));
  open_log(path, kMostBytes);
  for (int i = 0; i < 2 * kRecords && !std::filesystem::exists(path + ".2"); ++i) log_info(record_of(kWriters, i));
  close_log();
  std::map<int, std::vector<int>> seen;
  int files = 0;
  for (const char* suffix : {".2", ".1", ""}) {
    const std::optional<std::string> text = read_file_if_there(path + suffix);
    if (!text) continue;
    ++files;
    CHECK(text->ends_with("\n"));
    for (const std::string& line : split(*text, '\n')) {
      if (line.empty()) continue;
      const std::vector<std::string> words = split(text_of(line), ' ');
      REQUIRE(words.size() == 3);
      const int i = std::stoi(words[1]);
      CHECK(words[2] == std::string(static_cast<std::size_t>(100 + i), 'y'));
      seen[std::stoi(words[0])].push_back(i);
    }
  }
  CHECK(files == 3);
  for (int writer = 0; writer < kWriters; ++writer) CHECK(seen[writer].size() == kRecords);
}

}  // namespace

}  // namespace hpcbench

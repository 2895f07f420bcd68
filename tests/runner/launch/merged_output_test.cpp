#include "launch/merged_output.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "job_folder.hpp"

using namespace hpcbench;

namespace {

void write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    REQUIRE(count > 0);
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace

TEST_CASE("merged output: lines stay whole whatever pieces they come in, and a last one needs no end") {
  const TemporaryFolder folder;
  {
    MergedOutput merged(folder / "ranks.log");
    const int one = merged.add_stream(1);
    const int two = merged.add_stream(2);
    merged.start();
    for (int line = 0; line < 200; ++line) {
      write_all(one, "a" + std::to_string(line));
      write_all(two, "b" + std::to_string(line) + "\nhalf");
      write_all(one, "z\n");
      write_all(two, "\n");
    }
    write_all(two, "no end");
  }
  std::vector<std::string> lines = split(read_file(folder / "ranks.log"), '\n');
  REQUIRE(lines.size() == 602);
  CHECK(lines.back().empty());
  CHECK(std::count(lines.begin(), lines.end(), "2: half") == 200);
  CHECK(std::count(lines.begin(), lines.end(), "2: no end") == 1);
  CHECK(std::count(lines.begin(), lines.end(), "1: a199z") == 1);
}

TEST_CASE("merged output: processes that append to one file lose and break no line") {
  const TemporaryFolder folder;
  std::vector<pid_t> writers;
  for (int rank = 1; rank <= 4; ++rank) {
    writers.push_back(start_process_with([&] {
      MergedOutput merged(folder / "ranks.log");
      const int fd = merged.add_stream(rank);
      merged.start();
      for (int line = 0; line < 500; ++line) write_all(fd, std::string(100, 'x') + std::to_string(line) + "\n");
      merged.finish();
      return 0;
    }));
  }
  for (const pid_t writer : writers) CHECK(end_of_process(writer) == 0);
  const std::vector<std::string> lines = split(read_file(folder / "ranks.log"), '\n');
  REQUIRE(lines.size() == 2001);
  for (const std::string& line : lines)
    CHECK((line.empty() || line.starts_with(line.substr(0, 1) + ": " + std::string(100, 'x'))));
}

TEST_CASE("ranks above 0 write to ranks.log, and the last words of one that fails are found there") {
  const JobFolder job =
      bash_job("echo out $RANK; echo err $RANK >&2; [ $RANK != 2 ] || { sleep 0.2; echo why; exit 5; }; sleep 100", 3,
               {{"output", "merged"}});
  CHECK(job.run(0.2) == 5);
  CHECK(job.text("stdout.log") == "out 0\n");
  CHECK_FALSE(is_there(job / "stdout.1.log"));
  CHECK_FALSE(is_there(job / "stderr.2.log"));
  const std::vector<std::string> lines = split(job.text("ranks.log"), '\n');
  for (const char* const expected : {"1: out 1", "1: err 1", "2: out 2", "2: err 2", "2: why"}) {
    CHECK(std::count(lines.begin(), lines.end(), expected) == 1);
  }
  const nlohmann::json finished = job.json("finished.json");
  CHECK(finished["first_failed_rank"] == 2);
  CHECK(finished["tail"].get<std::string>().find("why") != std::string::npos);
}

#include "base/log.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "fakes/temporary_folder.hpp"

namespace hpcbench::train {

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("log: time, rank, step, level and text in one line; no file before the first record") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "train.3.log";
  open_log(3, path);
  CHECK_FALSE(std::filesystem::exists(path));
  log_warning("warning: a disk is full");
  set_log_step(12);
  log_error("error: two\nlines: 100 %, {}");
  open_log(0, {});
  set_log_step(0);
  log_warning("note: to the terminal alone");
  const std::string text = text_of(path);
  CAPTURE(text);
  const std::size_t begin = std::string("2026-11-23T08:41:46.123Z ").size();
  const std::size_t second = text.find('\n') + 1;
  CHECK(text.substr(begin, second - begin) == "[rank 3] warning a disk is full\n");
  CHECK(text.substr(second + begin) == "[rank 3, step 12] error two\\nlines: 100 %, {}\n");
  CHECK(text[10] == 'T');
  CHECK(text[begin - 2] == 'Z');
}

TEST_CASE("log: a file that cannot be made costs its records only") {
  open_log(0, "/proc/no/such/folder/train.log");
  log_warning("note: nothing is written, nothing ends");
  open_log(0, {});
}

}  // namespace hpcbench::train

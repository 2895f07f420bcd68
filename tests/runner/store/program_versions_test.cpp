#include "store/program_versions.hpp"

#include <doctest/doctest.h>

using namespace hpcbench;

namespace {

std::optional<std::string> only_present(const ExecutedFile& file) {
  if (file.path == "train.py") return "aaaaaaaaaaaa1111";
  if (file.path == "/usr/bin/python3") return "cccccccccccc1111";
  return std::nullopt;
}

}  // namespace

TEST_CASE("a file changed since the runs whose fact is not how its present hash begins") {
  ProgramVersions versions;
  for (int run = 0; run < 2; ++run) versions.add("id1", ".", {{"code:train.py", "aaaaaaaaaaaa"}, {"code", "x"}});
  for (int run = 0; run < 3; ++run) versions.add("id2", ".", {{"code:train.py", "bbbbbbbbbbbb"}});
  const std::vector<ProgramChange> changes = versions.changes(only_present);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].text() == "train.py changed since 3 of 5 runs");
  CHECK(changes[0].config_ids == std::vector<std::string>{"id2"});
}

TEST_CASE("nothing is claimed of a file that is missing now, or that no run executed") {
  ProgramVersions versions;
  CHECK(versions.empty());
  versions.add("id1", ".", {{"code:gone.py", "aaaaaaaaaaaa"}, {"commit", "b"}});
  CHECK(versions.changes(only_present).empty());
}

TEST_CASE("a program on PATH is compared where it was found") {
  ProgramVersions versions;
  versions.add("id1", ".", {{"program:python3", "cccccccccccc /usr/bin/python3"}});
  CHECK(versions.changes(only_present).empty());
  versions.add("id1", ".", {{"program:python3", "dddddddddddd /usr/bin/python3"}});
  versions.add("id1", ".", {{"program:python3", "dddddddddddd /gone/python3"}});
  const std::vector<ProgramChange> changes = versions.changes(only_present);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].text() == "python3 changed since 1 of 2 runs");
}

#include "runfiles/block_claim.hpp"

#include <doctest/doctest.h>

#include "base/files.hpp"
#include "fakes/temporary_folder.hpp"
#include "runfiles/claim.hpp"

namespace hpcbench {

namespace {

TEST_CASE("blocks.txt: a block for each line, up to the first that is none") {
  CHECK(blocks_text({2, 3}) == "0 2\n2 3\n");
  const auto blocks = parse_blocks("0 2\n2 3\n");
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[1].first == 2);
  CHECK(blocks[1].count == 3);
  CHECK(parse_blocks("").empty());
  CHECK(parse_blocks("0 2\n3 1\n").size() == 1);  // a gap: some line is missing
  for (const char* const text : {"0", "0 ", " 1", "a 1", "0 -1", "0 0", "1 1", "0 1 2"}) CHECK(parse_blocks(text).empty());
}

TEST_CASE("an attempt is an element of its array by itself, or with its block") {
  const std::string attempts = "a/r01/a1\nb/r01/a1\nc/r02/a1\n";
  CHECK(elements_of(attempts, std::nullopt).at("c/r02/a1") == 2);
  CHECK(elements_of(attempts, "0 2\n2 1\n").at("b/r01/a1") == 0);
  CHECK(elements_of(attempts, "0 2\n2 1\n").at("c/r02/a1") == 1);
  CHECK(elements_of(attempts, "0 2\n").count("c/r02/a1") == 0);
}

TEST_CASE("a block has begun, or never will: the answer stays") {
  const TemporaryFolder folder;
  CHECK_FALSE(block_has_begun(folder.path(), 0, "its job ended"));
  CHECK_FALSE(try_claim(block_folder(folder.path(), 0), {}));
  CHECK_FALSE(block_has_begun(folder.path(), 0, "again"));
  make_folders(block_folder(folder.path(), 1));
  CHECK(try_claim(block_folder(folder.path(), 1), {.revoked = false, .why = {}, .token = "t", .job = "1_1", .process = {}}));
  CHECK(block_has_begun(folder.path(), 1, "its job ended"));
}

}  // namespace

}  // namespace hpcbench

#include "runfiles/claim.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "fakes/temporary_folder.hpp"

using namespace hpcbench;

TEST_CASE("a job's claim is text lines and comes back whole") {
  const Claim claim{.revoked = false,
                    .why = {},
                    .token = "0123456789abcdef",
                    .job = "77",
                    .process = ProcessIdentity{"node1", "b-1", 77, 4242}};
  CHECK(claim_text(claim) == "token 0123456789abcdef\njob 77\nhost node1\nboot_id b-1\npid 77\nstart_ticks 4242\n");
  const Claim read = parse_claim(claim_text(claim));
  CHECK_FALSE(read.revoked);
  CHECK(read.token == "0123456789abcdef");
  CHECK(read.job == "77");
  CHECK(read.process == claim.process);
}

TEST_CASE("a revocation keeps to one line") {
  const std::string text =
      claim_text({.revoked = true, .why = "cancelled by\nthe user", .token = {}, .job = {}, .process = {}});
  CHECK(text == "revoked cancelled by the user\n");
  CHECK(parse_claim(text).revoked);
  CHECK(parse_claim(text).why == "cancelled by the user");
  CHECK(parse_claim("revoked").revoked);
}

TEST_CASE("what is unreadable is taken by somebody unknown") {
  for (const char* text :
       {"", "\n\n", "token", "revokedX\n", "\xff\xfe", "pid 12\n", "host h\nboot_id b\npid -3\nstart_ticks 1\n",
        "host h\nboot_id b\npid 12x\nstart_ticks 1\n", "host h\nboot_id b\npid 99999999999999999999\nstart_ticks 1\n"}) {
    const Claim claim = parse_claim(text);
    CHECK_FALSE(claim.revoked);
    CHECK(claim.token.empty());
    CHECK_FALSE(claim.process.has_value());
  }
}

TEST_CASE("a last line without its end does not count: half a pid is another pid") {
  const Claim claim = parse_claim("token t\njob 5\nhost h\nboot_id b\nstart_ticks 9\npid 12");
  CHECK(claim.token == "t");
  CHECK_FALSE(claim.process.has_value());
}

TEST_CASE("parse_claim is total") {
  CHECK(rc::check("any bytes", [](const std::string& bytes) { parse_claim(bytes); }));
}

TEST_CASE("only the first claim wins, and it stays") {
  const TemporaryFolder folder;
  CHECK_FALSE(read_claim(folder.path()).has_value());
  CHECK(try_claim(folder.path(), {.revoked = true, .why = "test", .token = {}, .job = {}, .process = {}}));
  CHECK_FALSE(try_claim(folder.path(), {.revoked = false, .why = {}, .token = "t", .job = "1", .process = {}}));
  CHECK(read_claim(folder.path())->why == "test");
}

TEST_CASE("an empty claim is taken") {
  const TemporaryFolder folder;
  write_file(folder / "claim", "", Durability::none);
  CHECK_FALSE(try_claim(folder.path(), {.revoked = true, .why = "w", .token = {}, .job = {}, .process = {}}));
  REQUIRE(read_claim(folder.path()).has_value());
  CHECK_FALSE(read_claim(folder.path())->revoked);
}

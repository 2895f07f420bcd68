// The index of a checkpoint in shards, the names of pieces, and the handling of shards in a folder.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/error.hpp"
#include "fakes/temporary_folder.hpp"
#include "files/shard_file.hpp"
#include "files/shard_index.hpp"

namespace hpcbench::train {

namespace {

const std::string kHash = "0123456789abcdef0123456789abcdef";

std::string index_error(const std::string& text) {
  try {
    parse_shard_index(text, "FILE");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

std::string entry_text(const std::string& file, const std::string& bytes, const std::string& hash) {
  return R"([{"file":")" + file + R"(","bytes":)" + bytes + R"(,"xxh3":")" + hash + R"("}])";
}

}  // namespace

TEST_CASE("shards: the index is read as it was written") {
  const auto entries = parse_shard_index(shard_index_text({{"a.safetensors", 7, kHash}, {"b", 0, kHash}}), "FILE");
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].file == "a.safetensors");
  CHECK(entries[0].bytes == 7);
  CHECK(entries[1].xxh3 == kHash);
  CHECK(parse_shard_index("[]", "FILE").empty());
}

TEST_CASE("shards: an index that is none, or leads elsewhere, is refused") {
  for (const char* const text : {"", "{", "{}", "7", "[", "[]]"})
    CHECK(index_error(text) == "error: FILE is damaged: its list of shards is none");
  for (const char* const text : {"[1]", "[{}]", "[[]]", "[null]"})
    CHECK(index_error(text) == "error: FILE is damaged: each of its shards needs file, bytes and xxh3");
  CHECK(index_error(entry_text("a", "7", kHash)).empty());
  for (const char* const bytes : {"-1", "1.5", "\"7\"", "1e3", "18446744073709551616"})
    CHECK(index_error(entry_text("a", bytes, kHash)).find("needs file, bytes and xxh3") != std::string::npos);
  for (const char* const name : {"", ".", "..", "../a", "/etc/passwd", "b/a", "a\\u0000"})
    CHECK(index_error(entry_text(name, "7", kHash)).find("a file in its folder") != std::string::npos);
  for (const std::string& hash : {std::string(), kHash.substr(1), kHash + "0", "G" + kHash.substr(1)})
    CHECK(index_error(entry_text("a", "7", hash)).find("32 hexadecimal digits") != std::string::npos);
}

TEST_CASE("shards: names of pieces") {
  const PieceName piece = parse_piece_name(to_string(PieceName{"model/a@b", 12}), "FILE");
  CHECK(piece.tensor == "model/a@b");
  CHECK(piece.begin == 12);
  for (const char* const text : {"", "a", "a@", "a@-1", "a@1x", "a@ 1", "a@9223372036854775808"})
    CHECK_THROWS_WITH_AS(parse_piece_name(text, "FILE"), doctest::Contains("error: FILE is no shard of a checkpoint"),
                         DataError);
}

TEST_CASE("shards: a save numbers its files after all existing ones, and removes none but shards") {
  const TemporaryFolder folder;
  CHECK(last_save(folder.path() / "none") == 0);
  const std::set<std::string> shards = {shard_name(2, 0, 2), shard_name(2, 1, 2), shard_name(10, 0, 1) + ".tmp-77-0"};
  const std::set<std::string> others = {"notes",
                                        "3-rank",
                                        "x-rank-0of1.safetensors",
                                        "-1-rank-0of1.safetensors",
                                        "99999999999999999999-rank-0of1.safetensors",
                                        "9223372036854775807-rank-0of1.safetensors"};
  for (const auto* names : {&shards, &others}) {
    for (const std::string& name : *names) std::ofstream(folder.path() / name) << name;
  }
  CHECK(last_save(folder.path()) == 10);
  remove_shards(folder.path(), {describe_shard(folder.path() / shard_name(2, 1, 2))});
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) left.insert(entry.path().filename());
  std::set<std::string> expected = others;
  expected.insert(shard_name(2, 1, 2));
  CHECK(left == expected);
}

TEST_CASE("shards: a file is known by its size and content") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / shard_name(1, 0, 1);
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write("abc");
  const ShardEntry entry = describe_shard(path);
  CHECK(entry.file == "1-rank-0of1.safetensors");
  CHECK(entry.bytes == 3);
  CHECK(entry.xxh3 == "06b05ab6733a618578af5f94892f3950");  // of the project xxHash: xxhsum -H2
  CHECK_NOTHROW(check_shard(path, entry));
  write("abd");
  CHECK_THROWS_WITH_AS(check_shard(path, entry), doctest::Contains(" is damaged, or of another checkpoint"), DataError);
  write("ab");
  CHECK_THROWS_WITH_AS(check_shard(path, entry), doctest::Contains(" has 2 bytes, but the checkpoint was written with 3"),
                       DataError);
  std::filesystem::remove(path);
  CHECK_THROWS_WITH_AS(check_shard(path, entry), doctest::Contains("No such file"), DataError);
}

}  // namespace hpcbench::train

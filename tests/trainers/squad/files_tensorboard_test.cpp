#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "checksum/crc32c.hpp"
#include "fakes/temporary_folder.hpp"
#include "files/tensorboard.hpp"

namespace hpcbench::train {

namespace {

std::uint64_t number_at(const std::string& bytes, std::size_t place, std::size_t size) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + place, size);
  return number;
}

/// Returns the records of all files of a folder, checked.
std::vector<std::string> records_of(const std::filesystem::path& folder) {
  std::vector<std::string> records;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    CHECK(entry.path().filename().string().rfind("events.out.tfevents.", 0) == 0);
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t place = 0; place < bytes.size();) {
      const auto size = static_cast<std::size_t>(number_at(bytes, place, 8));
      CHECK(number_at(bytes, place + 8, 4) == masked_crc32c(bytes.substr(place, 8)));
      records.push_back(bytes.substr(place + 12, size));
      CHECK(number_at(bytes, place + 12 + size, 4) == masked_crc32c(records.back()));
      place += 16 + size;
    }
  }
  return records;
}

}  // namespace

TEST_CASE("CRC-32C: known values") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);  // RFC 3720, B.4
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(masked_crc32c("123456789") == ((0xe3069283 >> 15 | 0xe3069283 << 17) + 0xa282ead8));
}

TEST_CASE("TensorBoard files: the version, then scalars, each in its record") {
  const TemporaryFolder folder;
  {
    TensorBoardFile file(folder.path() / "a" / "b");
    file.scalar("loss", 300, 0.5);
    REQUIRE(records_of(folder.path() / "a" / "b").size() == 2);  // written at once
    file.scalar("lr", -1, 1e-5);
  }
  const std::vector<std::string> records = records_of(folder.path() / "a" / "b");
  REQUIRE(records.size() == 3);
  // After the time (9 bytes): field 3, 13 bytes.
  CHECK(records[0].substr(0, 1) == "\x09");
  CHECK(records[0].substr(9) ==
        "\x1a\x0d"
        "brain.Event:2");
  // Step 300 = ac 02; a summary of 13 bytes with a value of 11: the tag, and 0.5 as float.
  CHECK(records[1].substr(9) == std::string("\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\x00\x3f", 18));
  CHECK(records[2].substr(9, 11) == "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST_CASE("TensorBoard files: two in the same second are two files; a folder that cannot be is an error") {
  const TemporaryFolder folder;
  const TensorBoardFile first(folder.path());
  const TensorBoardFile second(folder.path());
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
  std::ofstream(folder / "file") << "x";
  CHECK_THROWS_AS(TensorBoardFile(folder.path() / "file"), DataError);
}

}  // namespace hpcbench::train

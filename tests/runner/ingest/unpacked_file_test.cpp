// Packed files read as the text that they hold; damaged ones give what stands before the damage, and its place.
#include <doctest/doctest.h>
#include <zlib.h>
#include <zstd.h>

#include <optional>
#include <string>

#include "base/files.hpp"
#include "fakes/temporary_folder.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/metric_reader.hpp"

namespace hpcbench {

namespace {

std::string gzip(const std::string& text) {
  std::string packed(::compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  REQUIRE(::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return packed;
}

std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  return packed;
}

std::string steps_text(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += "step " + std::to_string(i) + " ms\n";
  return text;
}

struct PackedRead {
  std::string text;
  std::optional<std::string> problem;
};

PackedRead read_packed(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  const std::string path = folder / name;
  write_file(path, bytes, Durability::none);
  PackedRead read;
  read.problem = read_lines(path, [&](std::string_view piece) {
    read.text += piece;
    return true;
  });
  return read;
}

}  // namespace

TEST_CASE("packed files read as what they hold, of any size and in several members") {
  const TemporaryFolder folder;
  for (const int count : {0, 1, 5000, 400'000}) {
    const std::string text = steps_text(count);
    for (const auto& [name, bytes] : {std::pair<std::string, std::string>("f.gz", gzip(text)), {"f.zst", zstd(text)}}) {
      for (const int members : {1, 2}) {
        const PackedRead read = read_packed(folder, name, members == 1 ? bytes : bytes + bytes);
        CHECK_FALSE(read.problem);
        CHECK((read.text == (members == 1 ? text : text + text)));
      }
    }
  }
  CHECK(read_packed(folder, "empty.gz", "").text.empty());
  const Metric spec{"ms", "*", "step ([0-9]+) ms", ""};
  write_file(folder / "out.log.gz", gzip(steps_text(7)), Durability::none);
  const MetricMatches found = read_metric(spec, {folder / "out.log.gz"}, {"out.log.gz"});
  CHECK(found.value == 7);
  CHECK(found.place == "out.log.gz:7");
}

TEST_CASE("packed files: any cut and any damage is a problem with its byte, never a wrong text") {
  const TemporaryFolder folder;
  const std::string text = steps_text(300);
  for (const auto& [name, bytes] : {std::pair<std::string, std::string>("f.gz", gzip(text)), {"f.zst", zstd(text)}}) {
    for (std::size_t cut = 1; cut < bytes.size(); cut += 1 + bytes.size() / 97) {
      const PackedRead read = read_packed(folder, name, bytes.substr(0, cut));
      REQUIRE(read.problem);
      CHECK(read.problem->starts_with("byte "));
      CHECK(text.starts_with(read.text));
    }
    std::string wrong = bytes;
    wrong[0] = 'x';
    CHECK(read_packed(folder, name, wrong).problem);
    CHECK(read_packed(folder, name, bytes + "no member").problem);
  }
  CHECK(read_packed(folder, "f.gz", "plain text\n").problem == "byte 2: gzip: incorrect header check");
  std::string flipped = gzip(text);
  flipped[flipped.size() - 6] ^= 1;  // the checksum
  CHECK(read_packed(folder, "f.gz", flipped).problem->ends_with("gzip: incorrect data check"));
}

TEST_CASE("a file that unpacks to more than 1 GiB is read to there") {
  const TemporaryFolder folder;
  const std::string part = zstd(std::string(std::size_t{64} << 20, '\n'));
  std::string bomb;
  for (int i = 0; i < 17; ++i) bomb += part;
  write_file(folder / "bomb.zst", bomb, Durability::none);
  std::size_t read = 0;
  const auto problem = read_lines(folder / "bomb.zst", [&](std::string_view piece) {
    read += piece.size();
    return true;
  });
  REQUIRE(problem);
  CHECK(problem->ends_with("zstd: more than 1 GiB when unpacked; the rest is not read"));
  CHECK(read <= std::size_t{1} << 30);
}

TEST_CASE("an import reads packed files by the name that they pack") {
  CHECK(find_metric_source("column")->is_usual_file("metrics.csv.gz"));
  CHECK(find_metric_source("pointer")->is_usual_file("state.json.zst"));
  CHECK_FALSE(find_metric_source("pattern")->is_usual_file("metrics.csv.gz"));
  CHECK(find_metric_source("pattern")->is_usual_file("slurm.out.gz"));
}

}  // namespace hpcbench

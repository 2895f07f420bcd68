#include "ingest/wandb_file.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <zlib.h>

#include <string>

namespace hpcbench {

namespace {

std::string varint(std::size_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>((number & 0x7F) | 0x80);
  return bytes + static_cast<char>(number);
}

std::string field(std::size_t number, const std::string& content) {
  return varint(number << 3 | 2) + varint(content.size()) + content;
}
std::string item(const std::string& key, const std::string& json) { return field(1, field(2, key) + field(16, json)); }

/// Pieces of records in blocks of 32 KiB, as W&B writes them.
class Log {
 public:
  void add(std::string record) {
    bool is_first = true;
    do {
      std::size_t left = 32768 - bytes_.size() % 32768;
      if (left < 7) {
        bytes_.append(left, '\0');
        left = 32768;
      }
      const std::string piece = record.substr(0, left - 7);
      record.erase(0, piece.size());
      const int kind = record.empty() ? (is_first ? 1 : 4) : is_first ? 2 : 3;
      add_piece(static_cast<char>(kind), piece);
      is_first = false;
    } while (!record.empty());
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void add_piece(char kind, const std::string& piece) {
    const std::string checked = kind + piece;
    auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
    for (int i = 0; i < 4; ++i, sum >>= 8) bytes_ += static_cast<char>(sum & 0xFF);
    bytes_ += static_cast<char>(piece.size() & 0xFF);
    bytes_ += static_cast<char>(piece.size() >> 8);
    bytes_ += checked;
  }

  std::string bytes_ = std::string(":W&B\xE1\xBE\0", 7);
};

Log log_of_a_run() {
  Log log;
  log.add(field(17, field(4, item("gpus", "2"))));
  log.add(field(2, item("_step", "0") + item("val/loss", "2.5")));
  log.add(field(18, varint(1 << 3) + varint(1)));
  return log;
}

constexpr const char* kLines =
    "{\"config\": {\"gpus\": 2}}\n"
    "{\"history\": {\"_step\": 0, \"val/loss\": 2.5}}\n"
    "{\"exit\": {\"exit_code\": 1, \"runtime\": 0}}\n";

}  // namespace

TEST_CASE("a run of W&B is read as JSON lines") {
  std::string problem;
  CHECK(wandb_as_json(log_of_a_run().bytes(), problem) == kLines);
  CHECK(problem.empty());
  CHECK(is_wandb_name("run-x.wandb"));
  CHECK_FALSE(is_wandb_name("wandb"));
}

TEST_CASE("records that continue in the next blocks are whole") {
  Log log;
  const std::string text(100'000, 'x');
  log.add(field(5, item("note", '"' + text + '"')));
  log.add(field(5, item("gpus", "2")));
  std::string problem;
  CHECK(wandb_as_json(log.bytes(), problem) ==
        fmt::format("{{\"config\": {{\"note\": \"{}\"}}}}\n{{\"config\": {{\"gpus\": 2}}}}\n", text));
  CHECK(problem.empty());
}

TEST_CASE("a file that ends early gives what it has") {
  const std::string whole = log_of_a_run().bytes();
  for (std::size_t size = 7; size < whole.size(); ++size) {
    std::string problem;
    const std::string lines = wandb_as_json(whole.substr(0, size), problem);
    CHECK(std::string(kLines).starts_with(lines));
    CHECK(problem.empty());
  }
}

TEST_CASE("damage is named, and nothing behind it is read") {
  const std::string whole = log_of_a_run().bytes();
  for (std::size_t at = 7; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    std::string problem;
    const std::string lines = wandb_as_json(damaged, problem);
    CHECK(lines != kLines);
    CHECK(std::string(kLines).starts_with(lines));
  }
  std::string problem;
  CHECK(wandb_as_json("something else", problem).empty());
  CHECK(problem == "no file of W&B: it does not begin with its mark");
}

}  // namespace hpcbench

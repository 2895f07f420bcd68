#include "ingest/wandb_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cstdint>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "ingest/proto_fields.hpp"

namespace hpcbench {

namespace {

// The file is a log of LevelDB's form behind 7 bytes of its own: blocks of 32 KiB hold pieces of records. A piece: CRC32 of the
// rest (4 bytes), length (2), kind (1), content. A record is a protocol buffer `Record` of W&B.

constexpr std::size_t kFileHead = 7;
constexpr std::size_t kBlock = 32768;
constexpr std::size_t kPieceHead = 7;
constexpr std::string_view kMagic = ":W&B";
enum PieceKind : unsigned char { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

/// Numbers of fields.
constexpr std::uint64_t kHistory = 2, kSummary = 3, kConfig = 5, kRun = 17, kExit = 18;
constexpr std::uint64_t kConfigOfRun = 4;
constexpr std::uint64_t kKey = 1, kNestedKey = 2, kValueJson = 16;
constexpr std::uint64_t kExitCode = 1, kExitRuntime = 2;

/// Items with a key and a value in JSON, as the members of an object. Keys of nested values are joined by points.
std::string object_of_items(std::string_view message) {
  std::string members;
  for (ProtoFields item(message); item.next();) {
    if (item.number != 1 || item.wire != 2) continue;
    std::string key;
    std::string_view value;
    for (ProtoFields field(item.bytes); field.next();) {
      if (field.wire != 2) continue;
      if (field.number == kKey) key = field.bytes;
      if (field.number == kNestedKey) key += (key.empty() ? "" : ".") + std::string(field.bytes);
      if (field.number == kValueJson) value = field.bytes;
    }
    if (key.empty() || !is_json(value)) continue;
    if (!members.empty()) members += ", ";
    append_json_quote(members, key);
    members += ": ";
    for (const char c : value) members += c == '\n' || c == '\r' ? ' ' : c;
  }
  return '{' + members + '}';
}

void append_line(std::string& lines, std::string_view name, const std::string& object) {
  if (object != "{}") lines += fmt::format("{{\"{}\": {}}}\n", name, object);
}

void append_record(std::string& lines, std::string_view record) {
  for (ProtoFields field(record); field.next();) {
    if (field.wire != 2) continue;
    if (field.number == kHistory) append_line(lines, "history", object_of_items(field.bytes));
    if (field.number == kSummary) append_line(lines, "summary", object_of_items(field.bytes));
    if (field.number == kConfig) append_line(lines, "config", object_of_items(field.bytes));
    if (field.number == kRun) {
      for (ProtoFields of_run(field.bytes); of_run.next();) {
        if (of_run.number == kConfigOfRun && of_run.wire == 2) append_line(lines, "config", object_of_items(of_run.bytes));
      }
    }
    if (field.number == kExit) {
      std::int64_t code = 0;
      std::int64_t runtime = 0;
      for (ProtoFields of_exit(field.bytes); of_exit.next();) {
        if (of_exit.number == kExitCode && of_exit.wire == 0) code = static_cast<std::int64_t>(of_exit.value);
        if (of_exit.number == kExitRuntime && of_exit.wire == 0) runtime = static_cast<std::int64_t>(of_exit.value);
      }
      lines += fmt::format("{{\"exit\": {{\"exit_code\": {}, \"runtime\": {}}}}}\n", code, runtime);
    }
  }
}

}  // namespace

bool is_wandb_name(std::string_view name) { return name.ends_with(".wandb"); }

std::string wandb_as_json(std::string_view bytes, std::string& problem) {
  std::string lines;
  if (!bytes.starts_with(kMagic)) {
    problem = "no file of W&B: it does not begin with its mark";
    return lines;
  }
  std::string record;
  for (std::size_t at = kFileHead; at + kPieceHead <= bytes.size();) {
    const std::size_t left = kBlock - at % kBlock;
    if (left < kPieceHead) {  // zeros fill the block
      at += left;
      continue;
    }
    const auto checksum = little_endian<std::uint32_t>(bytes.substr(at));
    const auto size = static_cast<std::size_t>(little_endian<std::uint16_t>(bytes.substr(at + 4)));
    if (at + kPieceHead + size > bytes.size()) break;
    const std::string_view checked = bytes.substr(at + 6, size + 1);
    const auto* const data = reinterpret_cast<const Bytef*>(checked.data());
    if (size + kPieceHead > left || ::crc32(0, data, static_cast<uInt>(checked.size())) != checksum) {
      problem = fmt::format("damaged at byte {}: nothing is read from there on", at);
      break;
    }
    const auto kind = static_cast<unsigned char>(checked.front());
    if (kind == kWhole || kind == kFirst) record.clear();
    record += checked.substr(1);
    if (kind == kWhole || kind == kLast) append_record(lines, record);
    at += kPieceHead + size;
  }
  return lines;
}

}  // namespace hpcbench

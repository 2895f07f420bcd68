#include "files/shard_index.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

using ShardJson = nlohmann::json;

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

bool is_hash(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool is_entry(const ShardJson& json) {
  const auto has = [&](const char* name, ShardJson::value_t type) {
    return json.contains(name) && json.at(name).type() == type;
  };
  return json.is_object() && has("file", ShardJson::value_t::string) && has("bytes", ShardJson::value_t::number_unsigned) &&
         has("xxh3", ShardJson::value_t::string);
}

}  // namespace

std::string shard_index_text(const std::vector<ShardEntry>& entries) {
  ShardJson list = ShardJson::array();
  for (const ShardEntry& entry : entries) list.push_back({{"file", entry.file}, {"bytes", entry.bytes}, {"xxh3", entry.xxh3}});
  return list.dump();
}

std::vector<ShardEntry> parse_shard_index(std::string_view text, const std::string& file) {
  const auto fail = [&](const char* why) { throw DataError(concat("error: ", file, " is damaged: ", why)); };
  const ShardJson list = ShardJson::parse(text, nullptr, false);
  if (!list.is_array()) fail("its list of shards is none");
  std::vector<ShardEntry> entries;
  for (const ShardJson& each : list) {
    if (!is_entry(each)) fail("each of its shards needs file, bytes and xxh3");
    entries.push_back({each.at("file"), each.at("bytes"), each.at("xxh3")});
    if (!is_plain_name(entries.back().file)) fail("a shard's name must be that of a file in its folder");
    if (!is_hash(entries.back().xxh3)) fail("a shard's xxh3 must have 32 hexadecimal digits");
  }
  return entries;
}

std::string to_string(const PieceName& piece) { return concat(piece.tensor, "@", piece.begin); }

PieceName parse_piece_name(std::string_view text, const std::string& file) {
  PieceName piece;
  const std::size_t at = text.rfind('@');
  if (at != std::string_view::npos) {
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data() + at + 1, end, piece.begin);
    piece.tensor = text.substr(0, at);
    if (error == std::errc() && last == end && piece.begin >= 0) return piece;
  }
  throw DataError(concat("error: ", file, " is no shard of a checkpoint: a tensor in it does not state where it begins"));
}

}  // namespace hpcbench::train

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench::train {

/// What the index of a checkpoint in shards says of one of its files. Whatever else stands under that name, of another save or
/// damaged, is told by size and hash.
struct ShardEntry {
  std::string file;         // a name, without a folder
  std::uint64_t bytes = 0;  // of the whole file
  std::string xxh3;         // XXH3 (128 bits) of them, 32 hexadecimal digits
};

/// The entries as JSON.
std::string shard_index_text(const std::vector<ShardEntry>& entries);
/// And back. Total: entries whose names lead into no other folder, or a DataError whose text is "error: FILE " and what is
/// wrong.
std::vector<ShardEntry> parse_shard_index(std::string_view text, const std::string& file);

/// A part of a tensor, by its name in a shard: NAME@BEGIN, of the tensor's elements in a row those from BEGIN on.
struct PieceName {
  std::string tensor;
  std::int64_t begin = 0;
};
std::string to_string(const PieceName& piece);
/// Total, as above.
PieceName parse_piece_name(std::string_view text, const std::string& file);

}  // namespace hpcbench::train

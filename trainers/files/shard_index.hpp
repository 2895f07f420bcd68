#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench::train {

/// The entry of one file in the index of a checkpoint in shards. Size and hash detect another file under that name, from
/// another save or damaged.
struct ShardEntry {
  std::string file;         // a name, without a folder
  std::uint64_t bytes = 0;  // of the whole file
  std::string xxh3;         // XXH3 (128 bits) of them, 32 hexadecimal digits
};

/// Returns the entries as JSON.
std::string shard_index_text(const std::vector<ShardEntry>& entries);
/// Parses the entries. Total: entries whose names lead into no other folder, or a DataError whose text is "error: FILE " and
/// the fault.
std::vector<ShardEntry> parse_shard_index(std::string_view text, const std::string& file);

/// A part of a tensor, by its name in a shard: NAME@BEGIN, the elements from BEGIN on of the flattened tensor.
struct PieceName {
  std::string tensor;
  std::int64_t begin = 0;
};
std::string to_string(const PieceName& piece);
/// Parses the name. Total, as above.
PieceName parse_piece_name(std::string_view text, const std::string& file);

}  // namespace hpcbench::train

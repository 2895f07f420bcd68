#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "files/shard_index.hpp"

namespace hpcbench::train {

/// Returns the name of a shard: SAVE-rank-NUMBERofOF.safetensors. SAVE distinguishes the files of one save from those of
/// another, so that no save overwrites an earlier one.
std::string shard_name(std::int64_t save, int number, int of);

/// Describes a file as it is now. DataError if it cannot be read.
ShardEntry describe_shard(const std::filesystem::path& path);
/// DataError that names the shard if it cannot be read, or is not the file that the entry describes.
void check_shard(const std::filesystem::path& path, const ShardEntry& entry);

/// Returns the greatest SAVE among the files of a folder, unfinished ones included; 0 without any.
std::int64_t last_save(const std::filesystem::path& folder);
/// Removes the shards of a folder, unfinished ones included, except those of `kept`; also removes the folder if it is then
/// empty. Ignores files that cannot be removed.
void remove_shards(const std::filesystem::path& folder, const std::vector<ShardEntry>& kept);

}  // namespace hpcbench::train

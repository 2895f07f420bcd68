#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "files/shard_index.hpp"

namespace hpcbench::train {

/// The name of a shard: SAVE-rank-NUMBERofOF.safetensors. SAVE tells the files of one save from those of another, so that no
/// save touches what the one before it wrote.
std::string shard_name(std::int64_t save, int number, int of);

/// A file as it is now. DataError if it cannot be read.
ShardEntry describe_shard(const std::filesystem::path& path);
/// DataError that names the shard if it cannot be read, or is not the file that the entry describes.
void check_shard(const std::filesystem::path& path, const ShardEntry& entry);

/// The greatest SAVE among the files of a folder, half-written ones too; 0 where there are none.
std::int64_t last_save(const std::filesystem::path& folder);
/// Removes the shards of a folder, half-written ones too, but for those of `kept`; the folder, too, if it is empty then. What
/// cannot be removed stays.
void remove_shards(const std::filesystem::path& folder, const std::vector<ShardEntry>& kept);

}  // namespace hpcbench::train

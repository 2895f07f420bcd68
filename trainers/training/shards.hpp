#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "files/shard_index.hpp"
#include "optim/model.hpp"
#include "strategies/strategy.hpp"

namespace hpcbench::train {

/// Writes one rank's shard into the folder, whole or not at all; its tensors are pieces, under the names of `model` and
/// `optimizer`. One piece at a time is copied to the host. DataError if it cannot be written.
ShardEntry write_shard(const std::filesystem::path& folder, std::int64_t save, const StateShard& shard,
                       const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer);

/// Returns the tensors `wanted`, by name, sizes and type, from all shards of `index`, in `folder`. DataError names the shard
/// that is missing, damaged or of another checkpoint, or the tensor that they do not contain exactly once.
std::vector<NamedTensor> join_shards(const std::filesystem::path& index, const std::filesystem::path& folder,
                                     const std::vector<ShardEntry>& entries, const std::vector<NamedTensor>& wanted);

}  // namespace hpcbench::train

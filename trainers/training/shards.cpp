#include "training/shards.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "files/content_hash.hpp"
#include "files/shard_file.hpp"
#include "tasks/tensors.hpp"

namespace hpcbench::train {

namespace {

/// A tensor under reconstruction, and its elements so far: [begin, end).
struct Joined {
  at::Tensor tensor;
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;

  bool is_whole() {
    std::sort(parts.begin(), parts.end());
    std::int64_t filled = 0;
    for (const auto& [begin, end] : parts) {
      if (begin != filled) return false;
      filled = end;
    }
    return filled == tensor.numel();
  }
};

using JoinedByName = std::map<std::string, Joined>;

void take_piece(const StoredTensor& stored, const std::string& shard, JoinedByName& joined) {
  const PieceName name = parse_piece_name(stored.name, shard);
  const auto found = joined.find(name.tensor);
  if (found == joined.end())
    throw DataError(concat("error: ", shard, " has a tensor ", name.tensor, ", which the model has not"));
  Joined& whole = found->second;
  const at::Tensor values = to_tensor(stored);
  if (values.scalar_type() != whole.tensor.scalar_type()) {
    throw DataError(concat("error: ", shard, ": the tensor ", name.tensor, " is ", values.scalar_type(), ", not ",
                           whole.tensor.scalar_type()));
  }
  if (values.dim() != 1 || name.begin > whole.tensor.numel() - values.numel())
    throw DataError(concat("error: ", shard, ": its part of the tensor ", name.tensor, " is none of ", whole.tensor.sizes()));
  whole.tensor.view({-1}).narrow(0, name.begin, values.numel()).copy_(values);
  if (values.numel() > 0) whole.parts.emplace_back(name.begin, name.begin + values.numel());
}

}  // namespace

ShardEntry write_shard(const std::filesystem::path& folder, std::int64_t save, const StateShard& shard,
                       const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer) {
  std::vector<NamedTensor> pieces;
  for (const StatePiece& piece : shard.model)
    pieces.push_back({to_string(PieceName{model[piece.index].name, piece.begin}), piece.values});
  for (const StatePiece& piece : shard.optimizer)
    pieces.push_back({to_string(PieceName{optimizer[piece.index].name, piece.begin}), piece.values});
  const std::filesystem::path path = folder / shard_name(save, shard.number, shard.of);
  ContentHash hash;
  TensorsWriter writer(path, pieces, {}, &hash);
  for (const std::size_t index : writer.order()) writer.write(index, pieces[index].tensor);
  writer.finish();
  return {path.filename().string(), writer.bytes(), hex_of(hash.digest())};
}

std::vector<NamedTensor> join_shards(const std::filesystem::path& index, const std::filesystem::path& folder,
                                     const std::vector<ShardEntry>& entries, const std::vector<NamedTensor>& wanted) {
  JoinedByName joined;
  for (const NamedTensor& each : wanted)
    joined[each.name].tensor = at::empty(each.tensor.sizes(), at::TensorOptions(each.tensor.scalar_type()));
  for (const ShardEntry& entry : entries) {
    const std::filesystem::path path = folder / entry.file;
    check_shard(path, entry);
    const SafetensorsFile file(path);
    for (const StoredTensor& stored : file.tensors()) take_piece(stored, path.string(), joined);
  }
  std::vector<NamedTensor> tensors;
  for (const NamedTensor& each : wanted) {
    Joined& whole = joined.at(each.name);
    if (!whole.is_whole()) {
      throw DataError(
          concat("error: the shards of ", index.string(), " do not hold each element of the tensor ", each.name, " once"));
    }
    tensors.push_back({each.name, whole.tensor});
  }
  return tensors;
}

}  // namespace hpcbench::train

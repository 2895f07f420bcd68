#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "optim/model.hpp"

namespace hpcbench::train {

/// Parameters side by side in one flat tensor, which is cut into one chunk of equal size per rank. Members and chunks begin at
/// multiples of 16 elements (64 bytes in fp32); the gaps between and behind members are 0.
struct FlatUnit {
  std::vector<std::size_t> members;   // numbers in Model::parameters
  std::vector<std::int64_t> offsets;  // elements, of the members
  std::int64_t size = 0;              // elements, with padding
  std::int64_t chunk = 0;             // size / ranks
};

/// A part of a parameter in a rank's chunk of a unit.
struct ShardPiece {
  std::size_t parameter = 0;
  std::int64_t in_parameter = 0;  // elements before it in the parameter
  std::int64_t in_chunk = 0;      // and in the chunk
  std::int64_t count = 0;
};

using Groups = std::vector<std::vector<std::size_t>>;

/// Returns buckets in the reverse order of the parameters, roughly the order in which backward makes gradients: a bucket ends
/// where one more would exceed the cap (`early_first`: the first bucket at most 1 MiB, so that the first exchange begins
/// early).
Groups bucket_groups(const std::vector<NamedTensor>& parameters, std::int64_t cap_bytes, bool early_first);
/// Returns one group per unit of the model (`whole`: one in all), in the order of the units.
Groups unit_groups(const std::vector<NamedTensor>& parameters, bool whole);

std::vector<FlatUnit> lay_out(const std::vector<NamedTensor>& parameters, const Groups& groups, int ranks);
/// Returns the part of `flat` that belongs to member number `place` of the unit, in its shape.
at::Tensor member_view(const at::Tensor& flat, const FlatUnit& unit, std::size_t place,
                       const std::vector<NamedTensor>& parameters);
/// Returns the content of a rank's chunk, in its order.
std::vector<ShardPiece> pieces_of(const FlatUnit& unit, int rank, const std::vector<NamedTensor>& parameters);

}  // namespace hpcbench::train

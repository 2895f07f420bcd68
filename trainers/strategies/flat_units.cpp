#include "strategies/flat_units.hpp"

#include <algorithm>
#include <map>

namespace hpcbench::train {

namespace {

constexpr std::int64_t kUnitAlignment = 16;  // elements
constexpr std::int64_t kFirstBucketBytes = std::int64_t{1} << 20;

std::int64_t round_up(std::int64_t count, std::int64_t to) { return (count + to - 1) / to * to; }

}  // namespace

Groups bucket_groups(const std::vector<NamedTensor>& parameters, std::int64_t cap_bytes, bool early_first) {
  Groups groups;
  std::int64_t filled = 0;
  for (std::size_t index = parameters.size(); index-- > 0;) {
    const at::Tensor& tensor = parameters[index].tensor;
    const std::int64_t bytes = tensor.numel() * static_cast<std::int64_t>(tensor.element_size());
    const std::int64_t cap = early_first && groups.size() == 1 ? std::min(cap_bytes, kFirstBucketBytes) : cap_bytes;
    if (groups.empty() || filled + bytes > cap) {
      groups.emplace_back();
      filled = 0;
    }
    groups.back().push_back(index);
    filled += bytes;
  }
  // Neighbours in the model stay neighbours in memory.
  for (std::vector<std::size_t>& group : groups) std::reverse(group.begin(), group.end());
  return groups;
}

Groups unit_groups(const std::vector<NamedTensor>& parameters, bool whole) {
  std::map<int, std::vector<std::size_t>> by_unit;
  for (std::size_t index = 0; index < parameters.size(); ++index) by_unit[whole ? 0 : parameters[index].unit].push_back(index);
  Groups groups;
  for (auto& [unit, members] : by_unit) groups.push_back(std::move(members));
  return groups;
}

std::vector<FlatUnit> lay_out(const std::vector<NamedTensor>& parameters, const Groups& groups, int ranks) {
  std::vector<FlatUnit> units;
  for (const std::vector<std::size_t>& members : groups) {
    FlatUnit unit{members, {}, 0, 0};
    for (const std::size_t member : members) {
      unit.offsets.push_back(unit.size);
      unit.size = round_up(unit.size + parameters[member].tensor.numel(), kUnitAlignment);
    }
    unit.chunk = round_up((unit.size + ranks - 1) / ranks, kUnitAlignment);
    unit.size = unit.chunk * ranks;
    units.push_back(std::move(unit));
  }
  return units;
}

at::Tensor member_view(const at::Tensor& flat, const FlatUnit& unit, std::size_t place,
                       const std::vector<NamedTensor>& parameters) {
  const at::Tensor& parameter = parameters[unit.members[place]].tensor;
  return flat.narrow(0, unit.offsets[place], parameter.numel()).view(parameter.sizes());
}

std::vector<ShardPiece> pieces_of(const FlatUnit& unit, int rank, const std::vector<NamedTensor>& parameters) {
  std::vector<ShardPiece> pieces;
  const std::int64_t begin = rank * unit.chunk;
  for (std::size_t place = 0; place < unit.members.size(); ++place) {
    const std::int64_t from = std::max(begin, unit.offsets[place]);
    const std::int64_t to = std::min(begin + unit.chunk, unit.offsets[place] + parameters[unit.members[place]].tensor.numel());
    if (from < to) pieces.push_back({unit.members[place], from - unit.offsets[place], from - begin, to - from});
  }
  return pieces;
}

}  // namespace hpcbench::train

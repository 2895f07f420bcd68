#pragma once

#include <cstddef>
#include <vector>

namespace hpcbench {

/// A run of a block that is longer than a job may be.
struct PartMember {
  double needed_s = 0;            // of a job's time
  std::size_t configuration = 0;  // index into Plan::configurations
  std::size_t baseline = 0;       // what it is compared with; itself where that is nothing
};

/// The parts of such a block, each of members that need `room_s` at most in all: their indices, ascending. What is compared
/// with one baseline stays together with it where that is not longer than `room_s`, and fills parts of its own where it is, the
/// baseline in the first one. Members of the same configurations and needs are parted in the same way in every block. One that
/// is longer than `room_s` has a part for itself.
std::vector<std::vector<std::size_t>> split_block(const std::vector<PartMember>& members, double room_s);

}  // namespace hpcbench

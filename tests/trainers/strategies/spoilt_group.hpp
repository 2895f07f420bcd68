#pragma once

#include <memory>
#include <string>
#include <vector>

#include "strategies/exchange.hpp"
#include "strategies/group.hpp"

namespace hpcbench::train {

/// A fault that tests request, to prove that they would notice it. It is injected from outside: into the exchanges of ranks.
enum class Mutation {
  none,
  skip_division_by_world_size,
  skip_unit,              // one bucket or unit is not summed over the ranks
  shift_shard,            // the last rank's chunks of the gradient are shifted by one element
  forget_padding,         // the last element before a unit's padding is omitted
  skip_buffer_broadcast,  // the ranks' running statistics drift apart
  stale_gather,           // a unit's parameters are gathered with their earlier values
  // Faults only during an exchange:
  change_summed,         // other ranks' parts are changed
  change_gathered,       // this rank's own part is changed
  write_into_gathered,   // the other ranks' parts are written to
  use_sum_early,         // the sum is used before it has ended
  free_summed,           // nothing holds the memory
  give_back_gathered,    // the memory is released and taken again
  differ_between_ranks,  // the last rank makes one collective more
};

/// A group in which the exchanges of zero1, zero2 and fsdp, or broadcasts, go wrong.
class SpoiltGroup : public Group {
 public:
  SpoiltGroup(const World& world, double timeout_s, Mutation mutation, const Device& device = cpu_device())
      : Group(
            world, timeout_s, [](const std::string&) {}, device),
        mutation_(mutation) {}

  std::unique_ptr<Exchange> make_exchange(Traffic& traffic, Ledger& ledger, DeviceClock& clock) override;
  void broadcast_from_first(const std::vector<at::Tensor>& tensors) override;
  /// The ranks are equal; from here on broadcasts fail, too.
  void begin_training() { training_ = true; }

 private:
  Mutation mutation_;
  bool training_ = false;
};

}  // namespace hpcbench::train

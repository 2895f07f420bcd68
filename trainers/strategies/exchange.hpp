#pragma once

#include <ATen/core/Tensor.h>

#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "strategies/group.hpp"
#include "strategies/statistics.hpp"

namespace hpcbench::train {

/// Reduce-scatter and all-gather of flat tensors whose elements divide evenly into one chunk per rank, chunk r being rank r's.
/// Each rank sends every other one its chunk directly: (N-1)/N of the tensor's bytes, the least there is. (Gloo's own
/// reduce-scatter is an allreduce, twice as much.) Sums are made in the order of the ranks, so they do not depend on how
/// parameters are laid out in tensors. Both run while the caller computes; `tag` must be the same on all ranks.
class Exchange {
 public:
  Exchange(Group& group, Traffic& traffic, Ledger& ledger) : group_(group), traffic_(traffic), ledger_(ledger) {}

  /// An exchange under way. It holds the tensors that others read and write.
  struct Pending {
    std::vector<c10::intrusive_ptr<c10d::Work>> works;
    at::Tensor flat;
    at::Tensor received;  // the other ranks' parts of this rank's chunk, by rank
    double begun_s = 0;
    bool is_open() const { return flat.defined(); }
  };

  /// Sends the chunks of `flat` to their ranks.
  Pending begin_sum(const at::Tensor& flat, int tag);
  /// Waits; then this rank's chunk of `flat` is the sum over the ranks times `factor`, the other chunks are as they were.
  void finish_sum(Pending& pending, double factor);
  /// Sends this rank's chunk of `flat` to all.
  Pending begin_gather(const at::Tensor& flat, int tag);
  /// Waits; then all chunks of `flat` are there.
  void finish_gather(Pending& pending);

  at::Tensor own_chunk(const at::Tensor& flat) const { return chunk(flat, group_.rank()); }

 private:
  at::Tensor chunk(const at::Tensor& flat, int rank) const;
  void send(Pending& pending, const at::Tensor& tensor, int rank, int tag);
  void receive(Pending& pending, const at::Tensor& tensor, int rank, int tag);
  void wait(Pending& pending);

  Group& group_;
  Traffic& traffic_;
  Ledger& ledger_;
};

/// Bytes of a tensor's elements.
inline std::int64_t bytes_of_elements(const at::Tensor& tensor) { return tensor.numel() * std::int64_t(tensor.element_size()); }

}  // namespace hpcbench::train

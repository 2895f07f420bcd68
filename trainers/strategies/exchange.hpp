#pragma once

#include <ATen/core/Tensor.h>

#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "devices/device.hpp"
#include "strategies/device_clock.hpp"
#include "strategies/group.hpp"
#include "strategies/statistics.hpp"

namespace hpcbench::train {

/// Reduce-scatter and all-gather of flat tensors whose elements divide evenly into one chunk per rank, chunk r being rank r's.
/// On CPUs each rank sends every other one its chunk directly: (N-1)/N of the tensor's bytes, the minimum. (Gloo's own
/// reduce-scatter is an allreduce, twice as much.) Sums are made in the order of the ranks, so they do not depend on the layout
/// of parameters in tensors. Through shared memory the sums are the same to the last bit. On GPUs both are NCCL's collectives,
/// which sum in their own order, in a stream for sums and one for gathers. If tensors are cut among a part of the ranks only
/// (Group::shards()), sums continue over the replicas: on GPUs in the same stream, on CPUs when a sum is finished. All
/// exchanges run while the caller computes; `tag` must be the same on all ranks. Exchanged tensors belong to the computing
/// stream.
class Exchange {
 public:
  Exchange(Group& group, Traffic& traffic, Ledger& ledger, DeviceClock& clock)
      : group_(group),
        traffic_(traffic),
        ledger_(ledger),
        clock_(clock),
        sum_stream_(group.device().make_stream()),
        gather_stream_(group.device().make_stream()) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// An exchange in progress. It holds the tensors that others read and write.
  struct Pending {
    std::vector<c10::intrusive_ptr<c10d::Work>> works;
    at::Tensor flat;
    at::Tensor received;         // the other ranks' parts of this rank's chunk, by rank
    std::shared_ptr<Span> span;  // in a side stream
    bool is_open() const { return flat.defined(); }
  };

  /// Sends the chunks of `flat` to their ranks.
  virtual Pending begin_sum(const at::Tensor& flat, int tag);
  /// Waits; afterwards this rank's chunk of `flat` is the sum over the ranks times `factor`, and the other chunks are
  /// unchanged.
  virtual void finish_sum(Pending& pending, double factor);
  /// Sends this rank's chunk of `flat` to all.
  virtual Pending begin_gather(const at::Tensor& flat, int tag);
  /// Waits; afterwards `flat` has all chunks.
  void finish_gather(Pending& pending);

  at::Tensor own_chunk(const at::Tensor& flat) const { return chunk(flat, group_.shards().rank); }

 private:
  at::Tensor chunk(const at::Tensor& flat, int rank) const;
  void send(Pending& pending, const at::Tensor& tensor, int rank, int tag);
  void receive(Pending& pending, const at::Tensor& tensor, int rank, int tag);
  void begin_collective(Pending& pending, SideStream* stream,
                        const std::function<c10::intrusive_ptr<c10d::Work>(bool is_async)>& start, const at::Tensor& sent);
  void sum_directly(Pending& pending, const at::Tensor& own);
  c10::intrusive_ptr<c10d::Work> sum_over_replicas(const at::Tensor& own, bool is_async);
  bool by_collectives() const { return group_.exchange_way() == ExchangeWay::collectives; }
  void note_begin();
  void wait(Pending& pending);

  Group& group_;
  Traffic& traffic_;
  Ledger& ledger_;
  DeviceClock& clock_;
  int open_ = 0;                            // exchanges in progress whose end this thread will wait for
  double uncounted_since_s_ = 0;            // since then, some were in progress while this thread computed
  std::unique_ptr<SideStream> sum_stream_;  // null on a CPU
  std::unique_ptr<SideStream> gather_stream_;
};

/// Returns the bytes of a tensor's elements.
inline std::int64_t bytes_of_elements(const at::Tensor& tensor) { return tensor.numel() * std::int64_t(tensor.element_size()); }

}  // namespace hpcbench::train

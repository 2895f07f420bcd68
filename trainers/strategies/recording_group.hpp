#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>
#include <vector>

#include "devices/device.hpp"
#include "strategies/statistics.hpp"

namespace hpcbench::train {

class HostExchange;

/// The begin and end of allreduces, by this process's clock.
class ReductionTimes {
 public:
  std::size_t begin();
  void end(std::size_t reduction);
  /// Waits for the end of all, adds their times to `traffic`, and forgets them. The caller computed until the last one began,
  /// and then waited: exchange time before that is hidden (the union of their times), later time is exposed.
  void settle(Traffic& traffic);

 private:
  struct Times {
    double begun_s = 0;
    double ended_s = 0;  // 0: in progress
  };
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<Times> times_;
};

/// A process group for c10d's Reducer that records when each of its sums begins and ends; another object does all work: the
/// group `inner`, or for sums `host`, if given. With `wire` each bucket is copied into that type, summed, and copied back. On a
/// CPU `times` has the sums. On a device with a side stream (`stream`, not null) they are in that stream: the Reducer takes
/// each for ended, and readers of the buckets must first call hold_computing().
class RecordingGroup final : public c10d::ProcessGroup {
 public:
  /// `begins(tensor)` is called before a sum is started.
  using Begins = std::function<void(const at::Tensor& tensor)>;
  RecordingGroup(c10::intrusive_ptr<c10d::ProcessGroup> inner, std::shared_ptr<ReductionTimes> times, Begins begins,
                 HostExchange* host = nullptr, SideStream* stream = nullptr, std::optional<at::ScalarType> wire = {});

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions& options) override;
  /// Makes computing that is enqueued from now on begin after the sums since the previous call. Returns their spans in order.
  std::vector<std::shared_ptr<Span>> hold_computing();

 private:
  struct StreamedSum {
    std::shared_ptr<Span> span;
    at::Tensor bucket;
    at::Tensor sent;  // the bucket, or its copy in the type of the sum
  };
  c10::intrusive_ptr<c10d::Work> sum_in_wire_type(const at::Tensor& bucket, const c10d::AllreduceOptions& options);
  c10::intrusive_ptr<c10d::Work> sum_in_stream(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& options);

  c10::intrusive_ptr<c10d::ProcessGroup> inner_;
  std::shared_ptr<ReductionTimes> times_;
  Begins begins_;
  HostExchange* host_;
  SideStream* stream_;
  std::optional<at::ScalarType> wire_;
  std::vector<StreamedSum> sums_;
};

}  // namespace hpcbench::train

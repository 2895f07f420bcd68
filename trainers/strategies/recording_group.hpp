#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

#include "strategies/statistics.hpp"

namespace hpcbench::train {

class HostExchange;

/// When allreduces began and ended, by this process's clock.
class ReductionTimes {
 public:
  std::size_t begin();
  void end(std::size_t reduction);
  /// Waits for the end of all, adds their times to `traffic`, and forgets them. The caller computed until the last one began,
  /// and then waited: what was under way before is hidden (the union of their times), what came after is exposed.
  void settle(Traffic& traffic);

 private:
  struct Times {
    double begun_s = 0;
    double ended_s = 0;  // 0: under way
  };
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<Times> times_;
};

/// A process group as c10d's Reducer takes it, which notes when each of its sums begins and ends (on a
/// CPU); all work is another one's: the group `inner`, or for sums `host`, where there is one.
class RecordingGroup final : public c10d::ProcessGroup {
 public:
  /// `begins(tensor)` is called before a sum is started.
  using Begins = std::function<void(const at::Tensor& tensor)>;
  RecordingGroup(c10::intrusive_ptr<c10d::ProcessGroup> inner, std::shared_ptr<ReductionTimes> times, Begins begins,
                 HostExchange* host = nullptr);

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions& options) override;

 private:
  c10::intrusive_ptr<c10d::ProcessGroup> inner_;
  std::shared_ptr<ReductionTimes> times_;
  Begins begins_;
  HostExchange* host_;
};

}  // namespace hpcbench::train

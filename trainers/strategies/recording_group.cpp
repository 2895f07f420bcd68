#include "strategies/recording_group.hpp"

#include <ATen/core/ivalue.h>

#include <algorithm>

#include "base/clock.hpp"
#include "strategies/host_exchange.hpp"

namespace hpcbench::train {

std::size_t ReductionTimes::begin() {
  const std::lock_guard lock(mutex_);
  times_.push_back({monotonic_s(), 0});
  return times_.size() - 1;
}

void ReductionTimes::end(std::size_t reduction) {
  const std::lock_guard lock(mutex_);
  if (reduction < times_.size()) times_[reduction].ended_s = monotonic_s();
  ended_.notify_all();
}

void ReductionTimes::settle(Traffic& traffic) {
  std::unique_lock lock(mutex_);
  // Who waited for a sum may be here before its end has been noted.
  ended_.wait(lock, [this] { return std::all_of(times_.begin(), times_.end(), [](const Times& t) { return t.ended_s > 0; }); });
  if (times_.empty()) return;
  const double computed_until_s = times_.back().begun_s;
  double covered_s = times_.front().begun_s;  // the union reaches to here; they begin in their order
  double last_end_s = covered_s;
  for (const Times& each : times_) {
    const double from_s = std::max(covered_s, each.begun_s);
    const double to_s = std::min(each.ended_s, computed_until_s);
    if (to_s > from_s) {
      traffic.hidden_s += to_s - from_s;
      covered_s = to_s;
    }
    last_end_s = std::max(last_end_s, each.ended_s);
  }
  traffic.exposed_s += std::max(0.0, last_end_s - computed_until_s);
  times_.clear();
}

RecordingGroup::RecordingGroup(c10::intrusive_ptr<c10d::ProcessGroup> inner, std::shared_ptr<ReductionTimes> times,
                               Begins begins, HostExchange* host)
    : c10d::ProcessGroup(inner->getRank(), inner->getSize()),
      inner_(std::move(inner)),
      times_(std::move(times)),
      begins_(std::move(begins)),
      host_(host) {}

c10::intrusive_ptr<c10d::Work> RecordingGroup::allreduce(std::vector<at::Tensor>& tensors,
                                                         const c10d::AllreduceOptions& options) {
  begins_(tensors.front());
  // A GPU's work has ended for the host when it is enqueued: its times would mean nothing.
  if (!tensors.front().is_cpu()) return inner_->allreduce(tensors, options);
  const std::size_t reduction = times_->begin();
  c10::intrusive_ptr<c10d::Work> work = host_ ? host_->sum(tensors.front()) : inner_->allreduce(tensors, options);
  work->getFuture()->addCallback([times = times_, reduction](c10::ivalue::Future&) { times->end(reduction); });
  return work;
}

c10::intrusive_ptr<c10d::Work> RecordingGroup::broadcast(std::vector<at::Tensor>& tensors,
                                                         const c10d::BroadcastOptions& options) {
  return inner_->broadcast(tensors, options);
}

}  // namespace hpcbench::train

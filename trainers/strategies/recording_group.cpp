#include "strategies/recording_group.hpp"

#include <ATen/core/grad_mode.h>
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
  // A thread that waited for a sum may arrive before its end has been recorded.
  ended_.wait(lock, [this] { return std::all_of(times_.begin(), times_.end(), [](const Times& t) { return t.ended_s > 0; }); });
  if (times_.empty()) return;
  const double computed_until_s = times_.back().begun_s;
  double covered_s = times_.front().begun_s;  // end of the union so far; they begin in their order
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

namespace {

c10::TypePtr tensors_type() { return c10::ListType::create(c10::TensorType::get()); }

/// The part of a sum that the Reducer uses: when it has ended.
class SummingWork final : public c10d::Work {
 public:
  explicit SummingWork(c10::intrusive_ptr<c10::ivalue::Future> ended) : ended_(std::move(ended)) {}
  bool isCompleted() override { return ended_->completed(); }
  bool isSuccess() const override { return ended_->completed() && !ended_->hasError(); }
  bool wait(std::chrono::milliseconds /*timeout*/) override {
    ended_->waitAndThrow();
    return true;
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return ended_; }

 private:
  c10::intrusive_ptr<c10::ivalue::Future> ended_;
};

/// Converts back to the type in the model.
void take_back(const at::Tensor& bucket, const at::Tensor& sum) {
  const at::NoGradGuard no_grad;
  bucket.copy_(sum);
}

}  // namespace

RecordingGroup::RecordingGroup(c10::intrusive_ptr<c10d::ProcessGroup> inner, std::shared_ptr<ReductionTimes> times,
                               Begins begins, HostExchange* host, SideStream* stream, std::optional<at::ScalarType> wire)
    : c10d::ProcessGroup(inner->getRank(), inner->getSize()),
      inner_(std::move(inner)),
      times_(std::move(times)),
      begins_(std::move(begins)),
      host_(host),
      stream_(stream),
      wire_(wire) {}

c10::intrusive_ptr<c10d::Work> RecordingGroup::allreduce(std::vector<at::Tensor>& tensors,
                                                         const c10d::AllreduceOptions& options) {
  begins_(tensors.front());
  if (stream_) return sum_in_stream(tensors, options);
  const std::size_t reduction = times_->begin();
  c10::intrusive_ptr<c10d::Work> work = wire_   ? sum_in_wire_type(tensors.front(), options)
                                        : host_ ? host_->sum(tensors.front())
                                                : inner_->allreduce(tensors, options);
  work->getFuture()->addCallback([times = times_, reduction](c10::ivalue::Future&) { times->end(reduction); });
  return work;
}

c10::intrusive_ptr<c10d::Work> RecordingGroup::sum_in_wire_type(const at::Tensor& bucket,
                                                                const c10d::AllreduceOptions& options) {
  std::vector<at::Tensor> sent = {bucket.to(*wire_)};
  const auto summed = inner_->allreduce(sent, options)->getFuture();
  return c10::make_intrusive<SummingWork>(summed->then(
      [bucket, sum = sent.front()](c10::ivalue::Future& ended) {
        static_cast<void>(ended.value());  // throws if it has failed
        take_back(bucket, sum);
        return c10::IValue(std::vector<at::Tensor>{bucket});
      },
      tensors_type()));
}

c10::intrusive_ptr<c10d::Work> RecordingGroup::sum_in_stream(std::vector<at::Tensor>& tensors,
                                                             const c10d::AllreduceOptions& options) {
  c10d::AllreduceOptions in_stream = options;
  in_stream.asyncOp = false;  // in our stream, not in one of NCCL's
  // The copies belong to computing: only the sum is in the stream.
  std::vector<at::Tensor> sent = {wire_ ? tensors.front().to(*wire_) : tensors.front()};
  std::shared_ptr<Span> span = stream_->enqueue([&] {
    if (const auto work = inner_->allreduce(sent, in_stream)) work->wait();
  });
  sums_.push_back({std::move(span), tensors.front(), sent.front()});
  auto ended = c10::make_intrusive<c10::ivalue::Future>(tensors_type());
  ended->markCompleted(c10::IValue(tensors));  // for the host
  return c10::make_intrusive<SummingWork>(std::move(ended));
}

std::vector<std::shared_ptr<Span>> RecordingGroup::hold_computing() {
  std::vector<std::shared_ptr<Span>> spans;
  for (const StreamedSum& each : std::exchange(sums_, {})) {
    each.span->hold_computing();
    if (wire_) take_back(each.bucket, each.sent);
    spans.push_back(each.span);
  }
  return spans;
}

c10::intrusive_ptr<c10d::Work> RecordingGroup::broadcast(std::vector<at::Tensor>& tensors,
                                                         const c10d::BroadcastOptions& options) {
  return inner_->broadcast(tensors, options);
}

}  // namespace hpcbench::train

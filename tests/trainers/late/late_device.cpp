#include "trainers/late/late_device.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/item.h>
#include <c10/util/UniqueVoidPtr.h>

#include <atomic>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>

#include "base/text.hpp"
#include "trainers/late/late_queue.hpp"

namespace hpcbench::train {

namespace {

thread_local int current_stream = kComputing;  // NOLINT(readability-identifier-naming)
thread_local std::vector<std::size_t>* enqueued = nullptr;

class LateWork final : public c10d::Work {
 public:
  LateWork(std::shared_ptr<LateQueue> queue, std::size_t index, bool borrowed)
      : queue_(std::move(queue)), index_(index), borrowed_(borrowed) {}
  /// In a side stream its order is enough.
  bool wait(std::chrono::milliseconds /*timeout*/) override {
    if (current_stream == kComputing && (borrowed_ || queue_->haste() != Haste::no_wait)) queue_->wait_for(index_);
    return true;
  }

 private:
  std::shared_ptr<LateQueue> queue_;
  std::size_t index_;
  bool borrowed_;  // memory that belongs to no tensor: a late write would corrupt other data
};

/// Gloo computes each collective at once, from copies; its result becomes visible when it is due.
class LateBackend final : public c10d::Backend {
 public:
  LateBackend(c10::intrusive_ptr<c10d::Backend> gloo, std::shared_ptr<LateQueue> queue)
      : c10d::Backend(gloo->getRank(), gloo->getSize()),
        gloo_(std::move(gloo)),
        queue_(std::move(queue)),
        group_(agree_on_number()) {}
  const std::string getBackendName() const override { return "late"; }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& options) override {
    std::vector<at::Tensor> result = {agree("a sum", tensors.front())};
    gloo_->allreduce(result, options)->wait();
    if (const auto index = queue_->amend(current_stream, tensors.front(), result.front()))
      return c10::make_intrusive<LateWork>(queue_, *index, /*borrowed=*/false);
    return begin("a sum", {}, tensors.front(), result.front());
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions& options) override {
    std::vector<at::Tensor> result = {agree("a broadcast", tensors.front())};
    gloo_->broadcast(result, options)->wait();
    return begin("a broadcast", {}, tensors.front(), result.front());
  }
  /// Outside a step: at once.
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override {
    agree("a gather of lists", inputs.front());
    return gloo_->allgather(outputs, inputs, options);
  }
  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(at::Tensor& own, at::Tensor& whole,
                                                      const c10d::ReduceScatterOptions& options) override {
    at::Tensor from = agree("a reduce-scatter", whole);
    at::Tensor to = at::empty_like(own);
    gloo_->_reduce_scatter_base(to, from, options)->wait();
    return begin("a reduce-scatter", others(whole, own), own, to);
  }
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& whole, at::Tensor& own,
                                                 const c10d::AllgatherOptions& options) override {
    at::Tensor from = agree("an all-gather", own);
    at::Tensor to = at::empty_like(whole);
    gloo_->_allgather_base(to, from, options)->wait();
    // Its own chunk stays readable; the others are not available yet.
    std::vector<at::Tensor> outputs = others(whole, own);
    std::vector<at::Tensor> results;
    for (const at::Tensor& output : outputs)
      results.push_back(to.narrow(0, output.storage_offset() - whole.storage_offset(), output.numel()));
    return begin("an all-gather", {own}, outputs, results, whole);
  }

 private:
  /// A copy of the input, after all ranks have passed the same.
  at::Tensor agree(const std::string& name, const at::Tensor& tensor) {
    queue_->findings().expect(group_, calls_++,
                              concat(name, " of ", tensor.numel(), " elements of ", tensor.element_size(), " bytes"));
    return queue_->seen_in(current_stream, tensor);
  }

  /// Of this group, in the process that all ranks share.
  std::int64_t agree_on_number() {
    static std::atomic<std::int64_t> made = 0;
    std::vector<at::Tensor> number = {at::full({1}, getRank() == 0 ? ++made : 0, at::kLong)};
    gloo_->broadcast(number)->wait();
    return number.front().item<std::int64_t>();
  }

  /// The parts of `whole` before and behind `own`, where they share memory.
  static std::vector<at::Tensor> others(const at::Tensor& whole, const at::Tensor& own) {
    if (!own.is_alias_of(whole)) return {whole};
    std::vector<at::Tensor> parts;
    const std::int64_t begin = own.storage_offset() - whole.storage_offset();
    const std::int64_t end = begin + own.numel();
    if (begin > 0) parts.push_back(whole.narrow(0, 0, begin));
    if (end < whole.numel()) parts.push_back(whole.narrow(0, end, whole.numel() - end));
    return parts;
  }

  c10::intrusive_ptr<c10d::Work> begin(const std::string& name, const std::vector<at::Tensor>& inputs, const at::Tensor& output,
                                       const at::Tensor& result) {
    return begin(name, inputs, std::vector<at::Tensor>{output}, {result}, output);
  }

  c10::intrusive_ptr<c10d::Work> begin(const std::string& name, const std::vector<at::Tensor>& inputs,
                                       const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& results,
                                       const at::Tensor& whole) {
    Collective collective;
    collective.name = name;
    collective.stream = current_stream;
    collective.results = results;
    for (const at::Tensor& input : inputs) collective.inputs.emplace_back(input).remember();
    for (const at::Tensor& output : outputs) {
      collective.outputs.emplace_back(output).spoil();
      collective.outputs.back().remember();
    }
    // Like a backend for work that it begins itself. In a side stream nothing here holds the tensors: the test must see who
    // frees them.
    if (current_stream == kComputing) collective.held = whole;
    const std::size_t index = queue_->add(std::move(collective));
    if (enqueued != nullptr) enqueued->push_back(index);
    const bool borrowed = whole.storage().data_ptr().get_deleter() == &c10::detail::deleteNothing;
    return c10::make_intrusive<LateWork>(queue_, index, borrowed);
  }

  c10::intrusive_ptr<c10d::Backend> gloo_;
  std::shared_ptr<LateQueue> queue_;
  std::int64_t group_;
  std::size_t calls_ = 0;
};

class LateSpan final : public Span {
 public:
  LateSpan(std::shared_ptr<LateQueue> queue, std::vector<std::size_t> indices, bool joins)
      : queue_(std::move(queue)), indices_(std::move(indices)), joins_(joins) {}
  void hold_computing() override {
    held_ = true;
    if (!joins_) return;
    for (const std::size_t index : indices_) queue_->wait_for(index);
  }
  std::optional<SpanTimes> times() const override { return held_ ? std::optional<SpanTimes>(SpanTimes{1, 0}) : std::nullopt; }

 private:
  std::shared_ptr<LateQueue> queue_;
  std::vector<std::size_t> indices_;
  bool joins_;
  bool held_ = false;
};

class LateStream final : public SideStream {
 public:
  LateStream(std::shared_ptr<LateQueue> queue, int stream) : queue_(std::move(queue)), stream_(stream) {}
  std::shared_ptr<Span> enqueue(const std::function<void()>& work) override {
    std::vector<std::size_t> indices;
    current_stream = stream_;
    enqueued = &indices;
    try {
      work();
    } catch (...) {
      current_stream = kComputing;
      enqueued = nullptr;
      throw;
    }
    current_stream = kComputing;
    enqueued = nullptr;
    const Haste unjoined = stream_ == 1 ? Haste::sums_not_joined : Haste::gathers_not_joined;
    return std::make_shared<LateSpan>(queue_, std::move(indices), queue_->haste() != unjoined);
  }

 private:
  std::shared_ptr<LateQueue> queue_;
  int stream_;
};

}  // namespace

LateDevice::LateDevice(std::uint64_t seed, Haste haste, std::shared_ptr<LateFindings> findings)
    : queue_(std::make_shared<LateQueue>(seed, haste, std::move(findings))) {}

LateDevice::~LateDevice() = default;

void LateDevice::resize(const at::Tensor& flat, std::int64_t bytes) const {
  queue_->between([&] { CpuDevice::resize(flat, bytes); });
}

std::unique_ptr<SideStream> LateDevice::make_stream() const { return std::make_unique<LateStream>(queue_, ++streams_); }

void LateDevice::connect(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const c10::intrusive_ptr<c10d::Store>& /*store*/,
                         std::chrono::milliseconds /*timeout*/) const {
  const auto gloo = group->getBackend(c10::DeviceType::CPU);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::CUSTOM,
                    c10::make_intrusive<LateBackend>(gloo, queue_));
}

}  // namespace hpcbench::train

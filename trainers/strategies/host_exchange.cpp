#include "strategies/host_exchange.hpp"

namespace hpcbench::train {

namespace {

/// Calls `work(data, elements)` with the tensor's own type.
template <class Work>
void with_elements(const at::Tensor& flat, const Work& work) {
  const auto elements = static_cast<std::size_t>(flat.numel());
  if (flat.scalar_type() == at::kFloat) {
    work(flat.mutable_data_ptr<float>(), elements);
  } else {
    work(flat.mutable_data_ptr<double>(), elements);
  }
}

}  // namespace

HostExchange::HostExchange(std::unique_ptr<SharedMemory> memory) : memory_(std::move(memory)), thread_([this] { serve(); }) {}

HostExchange::~HostExchange() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  memory_->stop();
  changed_.notify_all();
  thread_.join();
}

HostExchange::Work HostExchange::sum(const at::Tensor& flat) {
  return enqueue(flat,
                 [this, flat] { with_elements(flat, [this](auto* data, std::size_t count) { memory_->sum(data, count); }); });
}

HostExchange::Work HostExchange::sum_own_chunk(const at::Tensor& flat) {
  return enqueue(flat, [this, flat] {
    with_elements(flat, [this](auto* data, std::size_t count) { memory_->sum_own_chunk(data, count); });
  });
}

HostExchange::Work HostExchange::gather(const at::Tensor& flat) {
  return enqueue(flat, [this, flat] { memory_->gather(flat.mutable_data_ptr(), static_cast<std::size_t>(flat.nbytes())); });
}

HostExchange::Work HostExchange::enqueue(const at::Tensor& flat, std::function<void()> work) {
  const bool known = flat.scalar_type() == at::kFloat || flat.scalar_type() == at::kDouble;
  TORCH_CHECK(known && flat.is_cpu() && flat.is_contiguous(), "shared memory carries contiguous tensors of fp32 and fp64");
  auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back({std::move(work), flat, future});
  }
  changed_.notify_all();
  return c10d::Work::create_from_future(future);
}

void HostExchange::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    try {
      if (!failure_) task.work();
    } catch (...) {
      failure_ = std::current_exception();
    }
    if (failure_) {
      task.future->setError(failure_);
    } else {
      task.future->markCompleted(c10::IValue(std::vector<at::Tensor>{task.flat}));
    }
    lock.lock();
  }
}

}  // namespace hpcbench::train

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/error.hpp"
#include "base/text.hpp"
#include "strategies/device_threads.hpp"
#include "strategies/exchange.hpp"
#include "strategies/measures.hpp"
#include "strategies/replicated_strategy.hpp"

namespace hpcbench::train {

namespace {

/// One process, k devices with a replica of the model each (on a CPU: k logical devices with a thread each). A batch is split
/// like torch.chunk; the first device adds the gradients in the order of the devices, updates the parameters and copies them to
/// the others. `faithful` averages the devices' mean losses, as torch's DataParallel does, even if their parts differ in size;
/// `tuned` is the mean over the samples. Running statistics are the first device's.
class Dp final : public ReplicatedStrategy {
 public:
  explicit Dp(const StrategyContext& context)
      : ReplicatedStrategy(context), threads_(static_cast<std::size_t>(device_count(context.settings))) {}

  void prepare(Trainee& trainee) override {
    Model& model = take(trainee);
    trainees_ = {&trainee};
    replicas_ = {&model};
    const at::Device first = context_.device->place();
    for (int number = 1; number < device_count(context_.settings); ++number) {
      at::Device place = first;
      if (place.is_cuda()) place.set_index(static_cast<at::DeviceIndex>(first.index() + number));
      copies_.push_back(trainee.another(place));
      trainees_.push_back(copies_.back().get());
      replicas_.push_back(&copies_.back()->model());
    }
    make_optimizer(model);
    count_replicas();
    copy_to_replicas(true);
  }

  std::vector<Reading> forward_backward(const std::vector<MicroBatch>& batches) override {
    for (std::size_t device = 0; device < replicas_.size(); ++device) {
      for (NamedTensor& parameter : replicas_[device]->parameters) parameter.tensor.mutable_grad().reset();
      forget_gradients(device);
    }
    const ScopedTimer watch(statistics_, clock_);
    std::vector<Reading> losses;
    for (const MicroBatch& batch : batches) {
      copy_to_replicas(false);
      losses.push_back(optimizer_->note_loss(run_on_devices(batch)));
    }
    add_up_gradients();
    return losses;
  }

  std::optional<Reading> optimizer_step(double lr) override {
    const UpdateWatch watch(statistics_, clock_);
    const std::optional<Reading> norm = optimizer_->step(lr);
    copy_to_replicas(true);
    return norm;
  }

  void load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                  std::int64_t optimizer_steps) override {
    ReplicatedStrategy::load_state(model, optimizer, optimizer_steps);
    copy_to_replicas(true);
  }

  void sum_over_ranks(std::vector<double>&) override { context_.device->synchronise(); }
  std::vector<std::string> exchange(const std::string& text) override { return {text}; }
  void barrier() override { context_.device->synchronise(); }

 private:
  /// Copies buffers, and after an update the parameters, of the first device to the others.
  void copy_to_replicas(bool parameters) {
    const at::NoGradGuard no_grad;
    const auto copy = [](const std::vector<NamedTensor>& from, std::vector<NamedTensor>& to) {
      for (std::size_t index = 0; index < from.size(); ++index) to[index].tensor.copy_(from[index].tensor);
    };
    for (std::size_t device = 1; device < replicas_.size(); ++device) {
      if (parameters) copy(replicas_.front()->parameters, replicas_[device]->parameters);
      copy(replicas_.front()->buffers, replicas_[device]->buffers);
    }
  }

  /// Returns the micro-batch's loss, a scalar in fp64 on the first device, for which the host does not wait; leaves each
  /// device's part of its gradient in its replica.
  at::Tensor run_on_devices(const MicroBatch& batch) {
    const auto devices = static_cast<std::int64_t>(replicas_.size());
    const std::int64_t samples = batch.samples.size(0);
    const std::int64_t part = (samples + devices - 1) / devices;
    const std::int64_t parts = (samples + part - 1) / part;
    std::vector<at::Tensor> losses(static_cast<std::size_t>(parts));
    threads_.run(losses.size(), [&](std::size_t device) {
      const c10::DeviceGuard on_device(replicas_[device]->parameters.front().tensor.device());
      const std::int64_t first = static_cast<std::int64_t>(device) * part;
      const std::int64_t count = std::min(part, samples - first);
      const double weight = context_.settings.flavour == Flavour::reference
                                ? 1.0 / static_cast<double>(parts)
                                : static_cast<double>(count) / static_cast<double>(samples);
      const at::Tensor loss = loss_on(device, batch, first, count) * weight;
      (batch.scale == 1 ? loss : loss * batch.scale).backward();
      losses[device] = loss.detach().to(at::kDouble);
    });
    const at::NoGradGuard no_grad;
    at::Tensor sum = losses.front();
    for (std::size_t device = 1; device < losses.size(); ++device)
      sum = sum + losses[device].to(sum.device(), at::kDouble, /*non_blocking=*/true);
    return sum;
  }

  at::Tensor loss_on(std::size_t device, const MicroBatch& batch, std::int64_t first, std::int64_t count) const {
    Trainee& trainee = *trainees_[device];
    const StepPlace place{batch.place.step, batch.place.first_position + first * batch.place.stride, batch.place.stride};
    return trainee.loss(batch.samples.narrow(0, first, count), place);
  }

  void add_up_gradients() {
    const at::NoGradGuard no_grad;
    for (std::size_t device = 1; device < replicas_.size(); ++device) {
      for (std::size_t index = 0; index < replicas_.front()->parameters.size(); ++index) {
        at::Tensor& sum = replicas_.front()->parameters[index].tensor.mutable_grad();
        at::Tensor& part = replicas_[device]->parameters[index].tensor.mutable_grad();
        if (!part.defined()) continue;
        sum.defined() ? sum.add_(part.to(sum.device())) : sum = part.to(replicas_.front()->parameters[index].tensor.device());
        part.reset();
      }
      forget_gradients(device);
    }
  }

  void count_replicas() {
    statistics_.units = static_cast<int>(replicas_.size());
    const std::int64_t whole = statistics_.memory.now(Held::parameters);
    statistics_.memory.add(Held::parameters, whole * (statistics_.units - 1));
    gradient_bytes_.resize(replicas_.size());
    for (std::size_t device = 0; device < replicas_.size(); ++device) {
      counted_.emplace_back(replicas_[device]->parameters.size());
      gradient_hooks_.push_back(std::make_unique<GradientHooks>(
          *replicas_[device], [this, device](std::size_t parameter) { count_gradient(device, parameter); }));
    }
  }

  /// Called in the thread of a device.
  void count_gradient(std::size_t device, std::size_t parameter) {
    if (counted_[device][parameter]) return;
    counted_[device][parameter] = 1;
    const std::int64_t bytes = bytes_of_elements(replicas_[device]->parameters[parameter].tensor);
    const std::lock_guard lock(mutex_);
    gradient_bytes_[device] += bytes;
    statistics_.memory.add(Held::gradients, bytes);
  }

  void forget_gradients(std::size_t device) {
    counted_[device].assign(counted_[device].size(), 0);
    statistics_.memory.remove(Held::gradients, gradient_bytes_[device]);
    gradient_bytes_[device] = 0;
  }

  DeviceThreads threads_;
  std::vector<std::unique_ptr<Trainee>> copies_;  // for all devices but the first
  std::vector<Trainee*> trainees_;                // by device, like the following members
  std::vector<Model*> replicas_;
  std::vector<std::unique_ptr<GradientHooks>> gradient_hooks_;  // by device
  std::vector<std::vector<char>> counted_;                      // by device and parameter: its gradient is held
  std::vector<std::int64_t> gradient_bytes_;                    // by device
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<Strategy> make_dp(const StrategyContext& context) { return std::make_unique<Dp>(context); }

}  // namespace hpcbench::train

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/item.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "strategies/device_threads.hpp"
#include "strategies/whole_model.hpp"

namespace hpcbench::train {

namespace {

/// One process, k devices with a replica of the model each (on a CPU: k logical devices with a thread each). A batch is split
/// as torch.chunk does, the gradients are added up on the first device in the order of the devices, which updates the
/// parameters and copies them to the others. `faithful` averages the devices' mean losses, as torch's DataParallel does, also
/// where their parts are not of one size; `tuned` is the mean over the samples. Running statistics are the first device's.
class Dp final : public WholeModel {
 public:
  explicit Dp(const StrategyContext& context) : WholeModel(context), threads_(context.replicas.size() + 1) {}

  void prepare(Model& model) override {
    model_ = &model;
    replicas_ = {&model};
    replicas_.insert(replicas_.end(), context_.replicas.begin(), context_.replicas.end());
    optimizer_.emplace(context_.optimizer, model.parameters);
    copy_to_replicas(true);
    count_memory();
  }

  std::vector<double> forward_backward(const std::vector<MicroBatch>& batches) override {
    for (Model* replica : replicas_) {
      for (NamedTensor& parameter : replica->parameters) parameter.tensor.mutable_grad().reset();
    }
    std::vector<double> losses;
    for (const MicroBatch& batch : batches) {
      copy_to_replicas(false);
      losses.push_back(run_on_devices(batch));
    }
    add_up_gradients();
    return losses;
  }

  std::optional<double> optimizer_step(double lr) override {
    const std::optional<double> norm = optimizer_->step(lr);
    copy_to_replicas(true);
    ++statistics_.steps;
    return norm;
  }

  void load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                  std::int64_t optimizer_steps) override {
    WholeModel::load_state(model, optimizer, optimizer_steps);
    copy_to_replicas(true);
  }

  void sum_over_ranks(std::vector<double>&) override { context_.device->synchronise(); }
  std::vector<std::string> exchange(const std::string& text) override { return {text}; }
  void barrier() override { context_.device->synchronise(); }
  StrategyStatistics statistics() const override { return statistics_; }

 private:
  /// Buffers, and after an update the parameters, of the first device to the others.
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

  /// The micro-batch's loss; each device's part of its gradient is left in its replica.
  double run_on_devices(const MicroBatch& batch) {
    const auto devices = static_cast<std::int64_t>(replicas_.size());
    const std::int64_t part = (batch.samples + devices - 1) / devices;
    const std::int64_t parts = (batch.samples + part - 1) / part;
    std::vector<double> losses(static_cast<std::size_t>(parts));
    threads_.run(losses.size(), [&](std::size_t device) {
      const c10::DeviceGuard on_device(replicas_[device]->parameters.front().tensor.device());
      const std::int64_t first = static_cast<std::int64_t>(device) * part;
      const std::int64_t count = std::min(part, batch.samples - first);
      const double weight = context_.flavour == Flavour::faithful
                                ? 1.0 / static_cast<double>(parts)
                                : static_cast<double>(count) / static_cast<double>(batch.samples);
      const at::Tensor loss = batch.part(device, first, count) * weight;
      (batch.scale == 1 ? loss : loss * batch.scale).backward();
      losses[device] = loss.item<double>();
    });
    double sum = 0;
    for (const double loss : losses) sum += loss;
    return sum;
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
    }
  }

  void count_memory() {
    std::int64_t bytes = 0;
    for (const NamedTensor& parameter : replicas_.front()->parameters)
      bytes += parameter.tensor.numel() * static_cast<std::int64_t>(parameter.tensor.element_size());
    const auto devices = static_cast<std::int64_t>(replicas_.size());
    statistics_.memory.add(Held::parameters, bytes * devices);
    statistics_.memory.add(Held::gradients, bytes * devices);
    for (const NamedTensor& state : optimizer_->state())
      statistics_.memory.add(Held::optimizer, state.tensor.numel() * static_cast<std::int64_t>(state.tensor.element_size()));
    statistics_.units = static_cast<int>(devices);
    statistics_.measured = true;
  }

  DeviceThreads threads_;
  std::vector<Model*> replicas_;
  StrategyStatistics statistics_;
};

}  // namespace

std::unique_ptr<Strategy> make_dp(const StrategyContext& context) { return std::make_unique<Dp>(context); }

}  // namespace hpcbench::train

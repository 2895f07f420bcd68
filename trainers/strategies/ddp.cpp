#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "core/text.hpp"
#include "strategies/group.hpp"
#include "strategies/strategy.hpp"

namespace hpcbench::train {

namespace {

/// Every rank holds the whole model and a share of each batch; gradients are averaged by c10d's Reducer, bucket by bucket while
/// the backward pass still runs. The model's buffers are rank 0's at every forward pass, as in torch's DistributedDataParallel.
class Ddp final : public Strategy {
 public:
  explicit Ddp(const StrategyContext& context) : context_(context), group_(*context.group) {}

  void prepare(Model& model) override {
    model_ = &model;
    group_.connect();
    for (const NamedTensor& parameter : model.parameters) parameters_.push_back(parameter.tensor);
    c10d::verify_params_across_processes(group_.process_group(), parameters_, std::nullopt);
    join_buffers();
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> state;
    for (const at::Tensor& parameter : parameters_) state.push_back(parameter.detach());
    state.insert(state.end(), joined_buffers_.begin(), joined_buffers_.end());
    group_.broadcast_from_first(state);
    make_reducer();
    optimizer_.emplace(context_.optimizer, model.parameters);
    order_buckets();
  }

  std::vector<double> forward_backward(const std::vector<MicroBatch>& batches) override {
    optimizer_->clear_gradients();
    std::vector<double> losses;
    for (std::size_t index = 0; index < batches.size(); ++index) {
      group_.broadcast_from_first(joined_buffers_);
      const bool last = index + 1 == batches.size();
      // Not told of a backward pass, the reducer leaves its gradients alone: they add up on this rank.
      if (last) begin_reduction();
      const at::Tensor value = batches[index].loss();
      if (last) reducer_->prepare_for_backward({});
      (batches[index].scale == 1 ? value : value * batches[index].scale).backward();
      losses.push_back(value.item<double>());
    }
    if (context_.mutation == Mutation::skip_division_by_world_size) {
      for (at::Tensor& parameter : parameters_) parameter.mutable_grad().mul_(group_.size());
    }
    return losses;
  }

  std::optional<double> optimizer_step(double lr) override { return optimizer_->step(lr); }

  StrategyStatistics statistics() const override { return plain_statistics(*model_, *optimizer_); }

  std::vector<NamedTensor> gather_gradients() override { return gradients_of(*model_); }

  std::vector<NamedTensor> gather_full_state() override {
    std::vector<NamedTensor> state = model_->parameters;
    state.insert(state.end(), model_->buffers.begin(), model_->buffers.end());
    return state;
  }

  std::vector<NamedTensor> gather_optimizer_state() override { return optimizer_->state(); }
  std::int64_t optimizer_steps() const override { return optimizer_->steps(); }

  void load_state(const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer,
                  std::int64_t optimizer_steps) override {
    copy_into_model(*model_, model);
    optimizer_->load_state(optimizer, optimizer_steps);
  }

  std::vector<std::string> exchange(const std::string& text) override {
    return group_.exchange(concat("exchange-", ++exchanges_), text);
  }

  void sum_over_ranks(std::vector<double>& values) override {
    if (group_.size() > 1) group_.sum(at::from_blob(values.data(), {std::ssize(values)}, at::kDouble));
  }

  void barrier() override { group_.barrier(); }

 private:
  /// Puts the buffers' data side by side in one tensor, so that one broadcast a step does.
  void join_buffers() {
    std::int64_t count = 0;
    for (const NamedTensor& buffer : model_->buffers) count += buffer.tensor.numel();
    if (count == 0) return;
    const at::NoGradGuard no_grad;
    at::Tensor joined = at::empty({count}, model_->buffers.front().tensor.options());
    std::int64_t offset = 0;
    for (NamedTensor& buffer : model_->buffers) {
      at::Tensor view = joined.narrow(0, offset, buffer.tensor.numel()).view(buffer.tensor.sizes());
      view.copy_(buffer.tensor);
      buffer.tensor.set_data(view);
      offset += view.numel();
    }
    joined_buffers_ = {joined};
  }

  void begin_reduction() {
    reducer_->prepare_for_forward();
    reducer_->rebuild_buckets();
  }

  /// The reducer lays out its buckets in the order in which the first backward pass makes gradients. A pass over zeros in the
  /// reverse order of the parameters, before training, has it done once and always alike: the sums of every step, and of a run
  /// that is resumed, are then made in one order.
  void order_buckets() {
    const at::AutoGradMode with_gradients(true);
    begin_reduction();
    at::Tensor sum;
    for (const at::Tensor& parameter : parameters_) {
      const at::Tensor zero = parameter.sum() * 0;
      sum = sum.defined() ? sum + zero : zero;
    }
    reducer_->prepare_for_backward({});
    sum.backward();
    optimizer_->clear_gradients();
  }

  void make_reducer() {
    const auto cap_bytes = static_cast<std::int64_t>(context_.bucket_cap_mb * 1024 * 1024);
    const auto first_bytes = std::min<std::int64_t>(c10d::kDefaultFirstBucketBytes, cap_bytes);
    // All in one bucket at first; order_buckets() has them laid out.
    std::vector<std::size_t> all(parameters_.size());
    for (std::size_t index = 0; index < all.size(); ++index) all[index] = index;
    std::unordered_map<std::size_t, std::string> names;
    for (std::size_t index = 0; index < all.size(); ++index) names[index] = model_->parameters[index].name;
    reducer_ =
        std::make_shared<c10d::Reducer>(parameters_, std::vector<std::vector<std::size_t>>{all}, group_.process_group(),
                                        std::vector<bool>(all.size(), false), cap_bytes, /*find_unused_parameters=*/false,
                                        /*gradient_as_bucket_view=*/true, names, first_bytes,
                                        /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
                                        std::vector<std::int64_t>{first_bytes, cap_bytes});
  }

  StrategyContext context_;
  Group& group_;
  Model* model_ = nullptr;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> joined_buffers_;
  std::shared_ptr<c10d::Reducer> reducer_;
  std::optional<Optimizer> optimizer_;
  std::int64_t exchanges_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_ddp(const StrategyContext& context) { return std::make_unique<Ddp>(context); }

}  // namespace hpcbench::train

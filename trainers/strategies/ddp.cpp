#include <ATen/core/grad_mode.h>

#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "strategies/equal_ranks.hpp"
#include "strategies/group.hpp"
#include "strategies/whole_model.hpp"

namespace hpcbench::train {

namespace {

/// Every rank holds the whole model and a share of each batch; gradients are averaged by c10d's Reducer, bucket by bucket while
/// the backward pass still runs. The model's buffers are rank 0's at every forward pass, as in torch's DistributedDataParallel.
class Ddp final : public WholeModel {
 public:
  explicit Ddp(const StrategyContext& context) : WholeModel(context), group_(*context.group) {}

  void prepare(Model& model) override {
    model_ = &model;
    group_.connect();
    for (const NamedTensor& parameter : model.parameters) parameters_.push_back(parameter.tensor);
    joined_buffers_ = make_ranks_equal(model, group_);
    const at::NoGradGuard no_grad;
    make_reducer();
    optimizer_.emplace(context_.optimizer, model.parameters);
    order_buckets();
  }

  std::vector<double> forward_backward(const std::vector<MicroBatch>& batches) override {
    optimizer_->clear_gradients();
    std::vector<double> losses;
    for (std::size_t index = 0; index < batches.size(); ++index) {
      if (joined_buffers_.defined()) group_.broadcast_from_first({joined_buffers_});
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

  std::vector<std::string> exchange(const std::string& text) override { return group_.exchange(text); }
  void sum_over_ranks(std::vector<double>& values) override { group_.sum(values); }
  void barrier() override { group_.barrier(); }

 private:
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

  Group& group_;
  std::vector<at::Tensor> parameters_;
  at::Tensor joined_buffers_;  // undefined where there are none
  std::shared_ptr<c10d::Reducer> reducer_;
};

}  // namespace

std::unique_ptr<Strategy> make_ddp(const StrategyContext& context) { return std::make_unique<Ddp>(context); }

}  // namespace hpcbench::train

#include <ATen/core/grad_mode.h>

#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "strategies/equal_ranks.hpp"
#include "strategies/exchange.hpp"
#include "strategies/group.hpp"
#include "strategies/measures.hpp"
#include "strategies/recording_group.hpp"
#include "strategies/replicated_strategy.hpp"

namespace hpcbench::train {

namespace {

/// Every rank holds the whole model and a share of each batch; c10d's Reducer averages the gradients, bucket by bucket while
/// the backward pass is running. Gradients are views of the buckets. Every forward pass uses rank 0's buffers, as in torch's
/// DistributedDataParallel.
class Ddp final : public ReplicatedStrategy {
 public:
  explicit Ddp(const StrategyContext& context)
      : ReplicatedStrategy(context), group_(*context.group), sum_stream_(group_.device().make_stream()) {}

  void prepare(Trainee& trainee) override {
    Model& model = take(trainee);
    group_.connect();
    for (const NamedTensor& parameter : model.parameters) parameters_.push_back(parameter.tensor);
    joined_buffers_ = make_ranks_equal(model, group_);
    const at::NoGradGuard no_grad;
    // Before the reducer's own hooks, so that a gradient is recorded before the sum that it completes begins.
    gradient_hooks_.emplace(model, [this](std::size_t) { statistics_.last_step.push_back({"gradient", 0}); });
    make_reducer();
    make_optimizer(model);
    order_buckets();
  }

  std::vector<Reading> forward_backward(const std::vector<MicroBatch>& batches) override {
    optimizer_->clear_gradients();
    const ScopedTimer watch(statistics_, clock_);
    if (batches.size() > 1) add_up_in_buckets();
    std::vector<Reading> losses;
    for (std::size_t index = 0; index < batches.size(); ++index) {
      broadcast_buffers();
      const bool last = index + 1 == batches.size();
      // Unless the reducer is told about a backward pass, it ignores its gradients: they add up on this rank.
      if (last) begin_reduction();
      const at::Tensor value = loss_of(batches[index]);
      if (last) reducer_->prepare_for_backward({});
      gradient_hooks_->begin_backward();
      (batches[index].scale == 1 ? value : value * batches[index].scale).backward();
      gradient_hooks_->require_all();
      losses.push_back(optimizer_->note_loss(value));
    }
    end_reduction();
    return losses;
  }

  void visit_state(const TakeTensor& take) override {
    const at::NoGradGuard no_grad;
    clock_.uncounted(statistics_.traffic, [this] { broadcast_buffers(); });
    ReplicatedStrategy::visit_state(take);
  }

  std::vector<std::string> exchange(const std::string& text) override { return group_.exchange(text); }
  void sum_over_ranks(std::vector<double>& values) override { group_.sum(values); }
  bool any_rank(bool own) override { return group_.any_rank(own); }
  void barrier() override { group_.barrier(); }

 private:
  void broadcast_buffers() {
    if (!joined_buffers_.defined()) return;
    const DeviceClock::Stretch watch(clock_, statistics_.traffic.exposed_s);
    group_.broadcast_from_first({joined_buffers_});
  }

  void begin_reduction() {
    reducer_->prepare_for_forward();
    reducer_->rebuild_buckets();
  }

  /// Returns the type in which gradients are summed, if it is not their own.
  std::optional<at::ScalarType> wire_type() const {
    if (!context_.settings.gradient_compression) return std::nullopt;
    return *context_.settings.gradient_compression == GradientCompression::bf16 ? at::kBFloat16 : at::kHalf;
  }

  /// Records that a sum of the reducer is about to begin.
  void note_sum(const at::Tensor& bucket) {
    statistics_.last_step.push_back({"sum", sums_++});
    const std::int64_t bytes = wire_type() ? bucket.numel() * kWireBytes : bytes_of_elements(bucket);
    // Gloo's and NCCL's rings: each rank sends all but one Nth of the bucket twice.
    statistics_.traffic.bytes_sent += 2 * bytes * (group_.size() - 1) / group_.size();
  }

  void end_reduction() {
    for (int sum = 0; sum < sums_; ++sum) statistics_.last_step.push_back({"sum-done", sum});
    sums_ = 0;
    times_->settle(statistics_.traffic);
    // Later reads of the gradients begin when the sums are complete.
    for (const std::shared_ptr<Span>& span : reducer_group_->hold_computing()) clock_.add(span, statistics_.traffic);
  }

  /// Sums several micro-batches' gradients in the reducer's buckets, so that no second copy is held.
  void add_up_in_buckets() {
    const at::NoGradGuard no_grad;
    for (std::size_t index = 0; index < parameters_.size(); ++index)
      parameters_[index].mutable_grad() = bucket_views_[index].zero_();
  }

  /// The reducer lays out its buckets in the order in which the first backward pass makes gradients. A pass over zeros in the
  /// reverse order of the parameters, before training, makes it do so once and always alike: the sums of every step, and of a
  /// resumed run, are then made in one order.
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
    end_reduction();
    optimizer_->clear_gradients();
    reducer_->rebuild_buckets();
    count_buckets();
  }

  void count_buckets() {
    std::unordered_map<const void*, at::Tensor> views;
    for (const c10d::GradBucket& bucket : reducer_->get_grad_buckets(/*return_zero_tensors=*/false)) {
      statistics_.memory.add(Held::gradients, bytes_of_elements(bucket.getBuffer()));
      ++statistics_.units;
      const std::vector<at::Tensor> gradients = bucket.getGradients();
      const std::vector<at::Tensor> parameters = bucket.getParameters();
      for (std::size_t place = 0; place < parameters.size(); ++place)
        views[parameters[place].unsafeGetTensorImpl()] = gradients[place];
    }
    for (const at::Tensor& parameter : parameters_) bucket_views_.push_back(views.at(parameter.unsafeGetTensorImpl()));
  }

  void make_reducer() {
    const auto cap_bytes = static_cast<std::int64_t>(context_.settings.bucket_cap_mb * 1024 * 1024);
    const auto first_bytes = std::min<std::int64_t>(c10d::kDefaultFirstBucketBytes, cap_bytes);
    // All in one bucket at first; order_buckets() then changes the layout.
    std::vector<std::size_t> all(parameters_.size());
    for (std::size_t index = 0; index < all.size(); ++index) all[index] = index;
    std::unordered_map<std::size_t, std::string> names;
    for (std::size_t index = 0; index < all.size(); ++index) names[index] = model_->parameters[index].name;
    reducer_group_ = c10::make_intrusive<RecordingGroup>(
        group_.process_group(), times_, [this](const at::Tensor& bucket) { note_sum(bucket); }, group_.host_exchange(),
        sum_stream_.get(), wire_type());
    reducer_ = std::make_shared<c10d::Reducer>(parameters_, std::vector<std::vector<std::size_t>>{all}, reducer_group_,
                                               std::vector<bool>(all.size(), false), cap_bytes,
                                               /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/true, names,
                                               first_bytes, /*skip_all_reduce_unused_params=*/false,
                                               /*use_python_reducer=*/false, std::vector<std::int64_t>{first_bytes, cap_bytes});
  }

  static constexpr std::int64_t kWireBytes = 2;
  Group& group_;
  std::vector<at::Tensor> parameters_;
  at::Tensor joined_buffers_;  // undefined without buffers
  std::optional<GradientHooks> gradient_hooks_;
  std::shared_ptr<ReductionTimes> times_ = std::make_shared<ReductionTimes>();
  int sums_ = 0;                            // begun in this step
  std::unique_ptr<SideStream> sum_stream_;  // null on a CPU
  c10::intrusive_ptr<RecordingGroup> reducer_group_;
  std::shared_ptr<c10d::Reducer> reducer_;
  std::vector<at::Tensor> bucket_views_;  // by parameter
};

}  // namespace

std::unique_ptr<Strategy> make_ddp(const StrategyContext& context) { return std::make_unique<Ddp>(context); }

}  // namespace hpcbench::train

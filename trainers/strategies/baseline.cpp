#include "strategies/exchange.hpp"
#include "strategies/measures.hpp"
#include "strategies/replicated_strategy.hpp"
#include "strategies/step_graph.hpp"

namespace hpcbench::train {

namespace {

/// One process without communication: the reference of every other strategy. Gradients are the tensors that backward made.
class Baseline final : public ReplicatedStrategy {
 public:
  using ReplicatedStrategy::ReplicatedStrategy;

  void prepare(Trainee& trainee) override {
    Model& model = take(trainee);
    // Every gradient comes from this process's own passes.
    for (NamedTensor& parameter : model.parameters) {
      if (parameter.touched) parameter.touched->trust();
    }
    make_optimizer(model);
    counted_.assign(model.parameters.size(), 0);
    gradient_hooks_.emplace(model, [this](std::size_t parameter) { count_gradient(parameter); });
    if (context_.settings.cuda_graphs) graph_.emplace(trainee, *context_.device);
  }

  std::vector<Reading> forward_backward(const std::vector<MicroBatch>& batches) override {
    optimizer_->clear_gradients();
    forget_gradients();
    const ScopedTimer watch(statistics_, clock_);
    std::vector<Reading> losses;
    for (const MicroBatch& batch : batches)
      losses.push_back(optimizer_->note_loss(graph_ ? passes_of_graph(batch) : passes(batch)));
    return losses;
  }

  void sum_over_ranks(std::vector<double>&) override { context_.device->synchronise(); }
  std::vector<std::string> exchange(const std::string& text) override { return {text}; }
  void barrier() override { context_.device->synchronise(); }

 private:
  at::Tensor passes(const MicroBatch& batch) const {
    const at::Tensor value = loss_of(batch);
    (batch.scale == 1 ? value : value * batch.scale).backward();
    return value;
  }

  at::Tensor passes_of_graph(const MicroBatch& batch) {
    TORCH_CHECK(batch.scale == 1, "a captured step has one micro-batch");  // ensured by check_settings()
    const at::Tensor value = graph_->forward_backward(batch.samples, batch.place);
    for (std::size_t parameter = 0; parameter < counted_.size(); ++parameter) {
      if (model_->parameters[parameter].tensor.grad().defined()) count_gradient(parameter);
    }
    statistics_.graph_steps = graph_->replays();
    return value;
  }

  void count_gradient(std::size_t parameter) {
    if (counted_[parameter]) return;
    counted_[parameter] = 1;
    statistics_.memory.add(Held::gradients, bytes_of_elements(model_->parameters[parameter].tensor));
  }

  void forget_gradients() {
    counted_.assign(counted_.size(), 0);
    statistics_.memory.remove(Held::gradients, statistics_.memory.now(Held::gradients));
  }

  std::optional<GradientHooks> gradient_hooks_;
  std::optional<StepGraph> graph_;
  std::vector<char> counted_;  // by parameter: its gradient is held
};

}  // namespace

std::unique_ptr<Strategy> make_baseline(const StrategyContext& context) { return std::make_unique<Baseline>(context); }

}  // namespace hpcbench::train

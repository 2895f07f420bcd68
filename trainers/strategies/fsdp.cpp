#include <ATen/core/grad_mode.h>

#include <map>

#include "strategies/sharded.hpp"

namespace hpcbench::train {

namespace {

/// Fully sharded (FSDP; Zhao et al. 2023): parameters, gradients and optimiser's state are cut up. A unit's parameters are
/// gathered before its forward pass, while the previous unit computes; they are freed after it, gathered again before its
/// backward pass (while the following unit computes), and freed when its gradients are complete, which are then
/// reduce-scattered. `wrap: none` has one unit, which stays from forward to backward, like the last unit of several.
class Fsdp final : public Sharded {
 public:
  explicit Fsdp(const StrategyContext& context) : Sharded(context) {}
  ~Fsdp() override {
    if (!model_) return;
    model_->before_unit = nullptr;
    model_->after_unit = nullptr;
  }

  void begin_evaluation() override {
    clock_.uncounted(statistics_.traffic, [this] {
      for (std::size_t unit = 0; unit < units_.size(); ++unit) begin_gather(unit);
      for (std::size_t unit = 0; unit < units_.size(); ++unit) need(unit);
    });
    evaluating_ = true;
  }

  void end_evaluation() override {
    evaluating_ = false;
    for (std::size_t unit = 0; unit < units_.size(); ++unit) release(unit);
  }

 protected:
  bool wraps_whole() const { return fsdp_wrap(context_.settings) == FsdpWrap::none; }

  Groups groups(const Model& model) const override { return unit_groups(model.parameters, wraps_whole()); }
  GradientOptions gradient_options() const override { return {}; }

  void place_parameters() override {
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      const at::Tensor whole = make_whole(unit);
      move_into(whole, unit);
      shards_.push_back(exchange_.own_chunk(whole).clone());
      statistics_.memory.add(Held::parameters, bytes_of_elements(shards_.back()));
      states_.push_back({whole, {}, true});
      statistics_.memory.add(Held::parameters, bytes_of_elements(whole));
      number_of_.emplace(model_->parameters[units_[unit].members.front()].unit, unit);
      release(unit);
    }
    if (units_.size() == 1) return;
    model_->before_unit = [this](int unit) { before_forward(number_of_.at(unit)); };
    model_->after_unit = [this](int unit, const at::Tensor& result) { after_forward(number_of_.at(unit), result); };
  }

  // With a single unit the model need not announce its use.
  void begin_pass() override {
    if (units_.size() == 1) need(0);
  }

  void end_pass() override {
    for (std::size_t unit = 0; unit < units_.size(); ++unit) release(unit);
  }

  void unit_complete(std::size_t unit) override { release(unit); }

 private:
  struct UnitParameters {
    at::Tensor whole;  // its storage is empty while the unit is freed
    Exchange::Pending gather;
    bool here = false;  // or being gathered
  };

  void before_forward(std::size_t unit) {
    if (evaluating_) return;
    need(unit);
    if (unit + 1 < units_.size()) begin_gather(unit + 1);
  }

  void after_forward(std::size_t unit, const at::Tensor& result) {
    if (evaluating_) return;
    if (context_.settings.reshard_after_forward && unit + 1 < units_.size()) release(unit);
    if (result.requires_grad()) {
      result.register_hook([this, unit](const at::Tensor& gradient) {
        before_backward(unit);
        return gradient;
      });
    }
  }

  void before_backward(std::size_t unit) {
    const at::NoGradGuard no_grad;
    need(unit);
    if (unit > 0) begin_gather(unit - 1);
  }

  std::int64_t whole_bytes(std::size_t unit) const {
    return units_[unit].size * static_cast<std::int64_t>(states_[unit].whole.element_size());
  }

  /// Into the same storage as before: the tensors that forward has saved for backward are then valid again.
  void begin_gather(std::size_t unit) {
    UnitParameters& state = states_[unit];
    if (state.here) return;
    const at::NoGradGuard no_grad;
    statistics_.memory.add(Held::parameters, whole_bytes(unit));
    group_.device().resize(state.whole, whole_bytes(unit));
    statistics_.last_step.push_back({"gather", static_cast<int>(unit)});
    exchange_.own_chunk(state.whole).copy_(shards_[unit]);
    state.gather = exchange_.begin_gather(state.whole, static_cast<int>(unit) * 2 + 1);
    state.here = true;
  }

  void need(std::size_t unit) {
    begin_gather(unit);
    if (!states_[unit].gather.is_open()) return;
    exchange_.finish_gather(states_[unit].gather);
    statistics_.last_step.push_back({"gather-done", static_cast<int>(unit)});
  }

  void release(std::size_t unit) {
    UnitParameters& state = states_[unit];
    if (!state.here) return;
    if (state.gather.is_open()) exchange_.finish_gather(state.gather);
    group_.device().resize(state.whole, 0);
    statistics_.memory.remove(Held::parameters, whole_bytes(unit));
    statistics_.last_step.push_back({"free", static_cast<int>(unit)});
    state.here = false;
  }

  std::vector<UnitParameters> states_;
  std::map<int, std::size_t> number_of_;  // of the model's unit
  bool evaluating_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_fsdp(const StrategyContext& context) { return std::make_unique<Fsdp>(context); }

}  // namespace hpcbench::train

#include <ATen/core/grad_mode.h>

#include "strategies/sharded.hpp"

namespace hpcbench::train {

namespace {

/// ZeRO, stages 1 and 2 (Rajbhandari et al. 2020): every rank holds the parameters, and 1/N of the optimiser's state. Each
/// bucket of gradients is reduce-scattered while backward runs, each rank updates its chunks, and all gather the new
/// parameters. Stage 1 keeps the whole gradient, so that micro-batches are summed without communication; stage 2 keeps 1/N and
/// the two active buckets. `faithful` does what DeepSpeed does with Lightning's settings: buckets of 2e8 elements in two
/// preallocated buffers, no overlap.
class Zero final : public Sharded {
 public:
  Zero(const StrategyContext& context, int stage) : Sharded(context), stage_(stage) {}

 protected:
  Groups groups(const Model& model) const override {
    const std::int64_t element = static_cast<std::int64_t>(model.parameters.front().tensor.element_size());
    const auto cap_bytes = context_.settings.flavour == Flavour::reference
                               ? kReferenceElements * element
                               : static_cast<std::int64_t>(context_.settings.bucket_cap_mb * 1024 * 1024);
    return bucket_groups(model.parameters, cap_bytes, context_.settings.flavour == Flavour::tuned);
  }

  GradientOptions gradient_options() const override {
    const bool reference = context_.settings.flavour == Flavour::reference;
    return {stage_ == 1, !reference, reference && stage_ == 2 ? kReferenceElements : 0};
  }

  void place_parameters() override {
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      wholes_.push_back(make_whole(unit));
      move_into(wholes_.back(), unit);
      shards_.push_back(exchange_.own_chunk(wholes_.back()));
      statistics_.memory.add(Held::parameters, bytes_of_elements(wholes_.back()));
    }
  }

  void parameters_changed() override {
    std::vector<Exchange::Pending> gathers;
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      statistics_.last_step.push_back({"gather", static_cast<int>(unit)});
      gathers.push_back(exchange_.begin_gather(wholes_[unit], static_cast<int>(unit) * 2 + 1));
    }
    for (Exchange::Pending& gather : gathers) exchange_.finish_gather(gather);
  }

 private:
  static constexpr std::int64_t kReferenceElements = 200'000'000;
  int stage_;
  std::vector<at::Tensor> wholes_;
};

}  // namespace

std::unique_ptr<Strategy> make_zero1(const StrategyContext& context) { return std::make_unique<Zero>(context, 1); }
std::unique_ptr<Strategy> make_zero2(const StrategyContext& context) { return std::make_unique<Zero>(context, 2); }

}  // namespace hpcbench::train

#include "training/schedule.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

std::int64_t warmup_of(const Settings& settings, std::int64_t total_steps) {
  if (settings.warmup_share)
    return static_cast<std::int64_t>(std::ceil(*settings.warmup_share * static_cast<double>(total_steps)));
  return settings.warmup_steps.value_or(0);
}

}  // namespace

LearningRate::LearningRate(const Settings& settings, std::int64_t total_steps)
    : base_(learning_rate(settings)),
      gamma_(settings.gamma),
      schedule_(settings.schedule),
      total_(total_steps),
      warmup_(warmup_of(settings, total_steps)) {
  if (schedule_ == Schedule::linear && warmup_ > total_)
    throw InputError(concat("error: warmup_steps is ", warmup_, ", but the run has only ", total_, " steps"));
}

double LearningRate::at_step(std::int64_t step, int epoch) const {
  double lr = base_;
  for (int past = 1; past < epoch && gamma_ != 1; ++past) lr *= gamma_;
  const auto done = static_cast<double>(step - 1);
  if (step - 1 < warmup_) return lr * (done / static_cast<double>(warmup_));
  if (schedule_ == Schedule::constant) return lr;
  const double rest = static_cast<double>(total_) - done;
  return lr * std::max(0.0, rest / static_cast<double>(std::max<std::int64_t>(1, total_ - warmup_)));
}

}  // namespace hpcbench::train

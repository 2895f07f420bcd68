#pragma once

#include <cstdint>

#include "base/settings.hpp"

namespace hpcbench::train {

/// The schedule of the learning rate. Warm-up and linear decay are those of get_linear_schedule_with_warmup (Hugging Face
/// transformers): step s (from 1) has the base rate times (s - 1) / warm-up during warm-up, then times (total - (s - 1)) /
/// (total - warm-up), or unchanged if the schedule is constant.
class LearningRate {
 public:
  /// `total_steps`: of the whole run. InputError for a linear schedule with a longer warm-up.
  LearningRate(const Settings& settings, std::int64_t total_steps);
  double at_step(std::int64_t step, int epoch) const;
  std::int64_t warmup_steps() const { return warmup_; }

 private:
  double base_;
  double gamma_;  // factor after each epoch
  Schedule schedule_;
  std::int64_t total_;
  std::int64_t warmup_;
};

}  // namespace hpcbench::train

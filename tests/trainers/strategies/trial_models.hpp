#pragma once

#include <memory>

#include "tasks/task.hpp"
#include "trainers/strategies/trial.hpp"

namespace hpcbench::train {

inline constexpr int kTrialBertLayers = 2;
inline constexpr int kTrialChainUnits = 10;
inline constexpr std::int64_t kTrialChainWidth = 64;

/// mnist_rnn on the images that come with the repository; BERT (2 layers, hidden 32; bert_wide: 3 layers, hidden 64) on tokens
/// made of the sample's number; chain: ten units of two matrices; `unused`: two linear layers, of whose parameters one is not
/// used.
std::unique_ptr<Task> make_trial_task(const Trial& trial);

}  // namespace hpcbench::train

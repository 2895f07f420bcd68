#pragma once

#include "base/task_settings.hpp"

namespace hpcbench::train {

/// The settings of mnist_rnn alone.
struct MnistSettings {
  int hidden = 64;
  bool batch_norm = true;
};

TaskSettings mnist_settings();

}  // namespace hpcbench::train

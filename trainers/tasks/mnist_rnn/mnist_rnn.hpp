#pragma once

#include <memory>

#include "tasks/task.hpp"

namespace hpcbench::train {

/// Handwritten digits read row by row: LSTM(28 -> hidden), its last state through BatchNorm1d, dropout 0.25, a linear layer to
/// 32, ReLU, dropout 0.5, a linear layer to 10, log-softmax, negative log-likelihood. Initialised like these layers in PyTorch.
/// Pixels are normalised by MNIST's mean 0.1307 and deviation 0.3081.
std::unique_ptr<Task> make_mnist_rnn(const Settings& settings);

}  // namespace hpcbench::train

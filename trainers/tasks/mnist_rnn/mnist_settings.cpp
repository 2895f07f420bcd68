#include "tasks/mnist_rnn/mnist_settings.hpp"

#include "base/setting_access.hpp"

namespace hpcbench::train {

namespace {

std::vector<SettingRow> mnist_rows() {
  RowList rows;
  rows.add("gamma", "X", "mnist_rnn: factor on the learning rate after each epoch (0.7)",
           real_of(&Settings::gamma, 0, kAtLeastZero));
  rows.add("hidden", "N", "mnist_rnn: size of the LSTM's state (64)", count_of(&MnistSettings::hidden, 1, 1 << 16));
  rows.add("batch_norm", "BOOL", "mnist_rnn: batch normalisation after the LSTM (true)", switch_of(&MnistSettings::batch_norm));
  return rows.take();
}

void set_mnist_defaults(Settings& settings) {
  settings.data = "data/mnist";
  settings.gamma = 0.7;
}

}  // namespace

TaskSettings mnist_settings() {
  TaskSettings task{"mnist_rnn", mnist_rows};
  task.notes = {
      {"data", "folder (data/mnist)"}, {"optimizer", "adadelta"}, {"dropout", "factor on its rates 0.25 and 0.5 (1)"}};
  task.examples = {"--task mnist_rnn --epochs 2 --data data/mnist"};
  task.set_defaults = set_mnist_defaults;
  return task;
}

}  // namespace hpcbench::train

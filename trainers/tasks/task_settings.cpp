#include "base/task_settings.hpp"

#include "tasks/bert_squad/squad_settings.hpp"
#include "tasks/mnist_rnn/mnist_settings.hpp"

namespace hpcbench::train {

const std::vector<TaskSettings>& task_settings() {
  static const std::vector<TaskSettings> kRows = {mnist_settings(), squad_settings()};
  return kRows;
}

}  // namespace hpcbench::train

#include "core/error.hpp"
#include "core/text.hpp"
#include "tasks/mnist_rnn/mnist_rnn.hpp"
#include "tasks/task.hpp"

namespace hpcbench::train {

const std::vector<TaskRow>& task_rows() {
  static const std::vector<TaskRow> rows = {
      {"mnist_rnn", make_mnist_rnn},
  };
  return rows;
}

std::unique_ptr<Task> make_task(const Settings& settings) {
  std::vector<std::string> names;
  for (const TaskRow& row : task_rows()) {
    if (settings.task == row.name) return row.make(settings);
    names.emplace_back(row.name);
  }
  throw InputError(concat("error: there is no task `", settings.task, "`", did_you_mean(settings.task, names),
                          "; there are: ", join(names, ", ")));
}

}  // namespace hpcbench::train

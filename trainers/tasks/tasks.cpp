#include "base/error.hpp"
#include "tasks/bert_squad/squad_settings.hpp"
#include "tasks/bert_squad/squad_task.hpp"
#include "tasks/mnist_rnn/mnist_rnn.hpp"
#include "tasks/mnist_rnn/mnist_settings.hpp"
#include "tasks/task.hpp"
#include "tasks/tensors.hpp"

namespace hpcbench::train {

void Task::place(at::Device place) {
  if (!place.is_cpu()) throw InputError("error: this task trains on CPUs only: choose `device: cpu`");
}

std::optional<std::int64_t> Task::tokens(const at::Tensor&) const { return std::nullopt; }

void Task::write_predictions(const std::filesystem::path&, const std::vector<std::string>&) const {}

void Task::write_model(const std::filesystem::path& folder, const std::vector<NamedTensor>& state) const {
  write_tensors(folder / "model.safetensors", state, {{"format", "pt"}});
}

const std::vector<TaskRow>& task_rows() {
  static const std::vector<TaskRow> kRows = {
      {mnist_settings().name, make_mnist_rnn, {}},
      {squad_settings().name, make_bert_squad, bert_squad_commands()},
  };
  return kRows;
}

std::unique_ptr<Task> make_task(const Settings& settings) {
  for (const TaskRow& row : task_rows()) {
    if (settings.task == row.name) return row.make(settings);
  }
  refuse_task(settings.task);
}

}  // namespace hpcbench::train

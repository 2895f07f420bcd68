#include "tasks/replicated_task.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

class ReplicatedTask final : public Task {
 public:
  ReplicatedTask(const Settings& settings, int devices) {
    for (int device = 0; device < devices; ++device) tasks_.push_back(make_task(settings));
  }

  void load() override {
    for (const auto& task : tasks_) task->load();
  }
  void place(const std::vector<at::Device>& places) override {
    for (std::size_t device = 0; device < tasks_.size(); ++device) tasks_[device]->place({places.at(device)});
  }
  std::vector<Note> notes() const override { return first().notes(); }
  std::vector<std::pair<std::string, std::string>> facts() const override { return first().facts(); }
  std::int64_t train_samples() const override { return first().train_samples(); }
  std::int64_t validation_samples() const override { return first().validation_samples(); }
  std::int64_t least_batch() const override { return first().least_batch(); }
  Model& model() override { return first().model(); }
  at::Tensor loss(const at::Tensor& samples, const StepPlace& place) override { return first().loss(samples, place); }
  std::vector<Measure> evaluate(std::int64_t from, std::int64_t stride) override { return first().evaluate(from, stride); }
  std::optional<std::int64_t> tokens(const at::Tensor& samples) const override { return first().tokens(samples); }
  std::vector<std::int32_t> grouping_lengths() const override { return first().grouping_lengths(); }
  std::string own_predictions() const override { return first().own_predictions(); }
  void write_predictions(const std::filesystem::path& folder, const std::vector<std::string>& of_ranks) const override {
    first().write_predictions(folder, of_ranks);
  }
  void write_model(const std::filesystem::path& folder, const std::vector<NamedTensor>& state) const override {
    first().write_model(folder, state);
  }

  std::vector<Model*> replicas() override {
    std::vector<Model*> models;
    for (std::size_t device = 1; device < tasks_.size(); ++device) models.push_back(&tasks_[device]->model());
    return models;
  }

  at::Tensor loss_on(std::size_t replica, const at::Tensor& samples, const StepPlace& place) override {
    if (samples.size(0) < least_batch()) {
      throw InputError(concat("error: batch normalisation needs at least ", least_batch(),
                              " samples a step and device, but dp ", "leaves ", samples.size(0), " for device ", replica,
                              ": choose another batch size"));
    }
    return tasks_.at(replica)->loss(samples, place);
  }

 private:
  Task& first() const { return *tasks_.front(); }
  std::vector<std::unique_ptr<Task>> tasks_;
};

}  // namespace

std::unique_ptr<Task> make_replicated_task(const Settings& settings, int devices) {
  return std::make_unique<ReplicatedTask>(settings, devices);
}

}  // namespace hpcbench::train

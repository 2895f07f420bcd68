#include "training/checkpointer.hpp"

#include <unistd.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

constexpr const char* kLastName = "last.safetensors";

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw DataError(concat("error: cannot make the folder ", folder.string(), ": ", error.message()));
  if (access(folder.c_str(), W_OK) != 0)
    throw DataError(concat("error: the folder ", folder.string(), " cannot be written to"));
}

std::int64_t size_bytes(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  std::int64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.is_regular_file()) sum += static_cast<std::int64_t>(entry.file_size());
  }
  return sum;
}

}  // namespace

Checkpointer::Checkpointer(Task& task, Strategy& strategy, const Settings& settings, const World& world, Events& events)
    : task_(task), strategy_(strategy), settings_(settings), world_(world), events_(events) {}

void Checkpointer::make_folders() const {
  if (world_.rank != 0) return;
  if (settings_.save) make_folder(*settings_.save);
  if (settings_.checkpoint != Checkpoints::none) make_folder(*output_folder(settings_) / "checkpoint");
}

TrainingState Checkpointer::resume() {
  std::filesystem::path path = *settings_.resume;
  if (path.extension() != ".safetensors") path /= kLastName;
  TrainingCheckpoint checkpoint = read_checkpoint(path, settings_to_keep(settings_, world_, task_.train_samples()),
                                                  strategy_.gather_full_state(), strategy_.gather_optimizer_state());
  std::vector<double>& sums = checkpoint.state.loss_sums;
  if (sums.size() < 2 || sums.size() % 2 != 0) throw DataError(concat("error: ", path.string(), " is damaged: its loss sums"));
  // Of another number of ranks: the first takes over what all have summed up so far.
  if (std::ssize(sums) != std::ptrdiff_t{2} * world_.size) {
    for (std::size_t index = 2; index < sums.size(); ++index) sums[index % 2] += sums[index];
    sums.resize(2);
    sums.resize(2 * static_cast<std::size_t>(world_.size), 0.0);
  }
  strategy_.load_state(checkpoint.model, checkpoint.optimizer, checkpoint.state.optimizer_steps);
  return checkpoint.state;
}

void Checkpointer::keep_last(const TrainingState& state) {
  const double start_s = monotonic_s();
  const std::filesystem::path folder = *output_folder(settings_) / "checkpoint";
  TrainingCheckpoint checkpoint{state, settings_to_keep(settings_, world_, task_.train_samples()),
                                strategy_.gather_full_state(), strategy_.gather_optimizer_state()};
  checkpoint.state.optimizer_steps = strategy_.optimizer_steps();
  // Every rank fills in its own part of the sums.
  strategy_.sum_over_ranks(checkpoint.state.loss_sums);
  if (world_.rank == 0) {
    make_folder(folder);
    write_checkpoint(folder / kLastName, checkpoint);
  }
  strategy_.barrier();
  report(folder / kLastName, "last", state, start_s);
}

void Checkpointer::write_model_folder(const std::filesystem::path& folder, const char* kind, const TrainingState& state) {
  const double start_s = monotonic_s();
  const std::vector<NamedTensor> tensors = strategy_.gather_full_state();
  if (world_.rank == 0) {
    make_folder(folder);
    task_.write_model(folder, tensors);
    if (!predictions_.empty()) task_.write_predictions(folder, predictions_);
  }
  strategy_.barrier();
  report(folder, kind, state, start_s);
}

void Checkpointer::keep_best(const TrainingState& state) {
  write_model_folder(*output_folder(settings_) / "checkpoint" / "best", "best", state);
}

void Checkpointer::save_model(const TrainingState& state) { write_model_folder(*settings_.save, "save", state); }

void Checkpointer::keep_predictions() {
  const std::string own = task_.own_predictions();
  if (own.empty()) return;
  predictions_ = strategy_.exchange(own);
  const auto folder = output_folder(settings_);
  if (world_.rank != 0 || !folder) return;
  make_folder(*folder);
  task_.write_predictions(*folder, predictions_);
}

void Checkpointer::report(const std::filesystem::path& path, const char* kind, const TrainingState& state, double start_s) {
  const double spent_s = monotonic_s() - start_s;
  seconds_ += spent_s;
  if (world_.rank != 0) return;
  events_.write(Event("checkpoint")
                    .add("path", path.string())
                    .add("bytes", size_bytes(path))
                    .add("kind", std::string(kind))
                    .add("step", state.steps)
                    .add("checkpoint_s", spent_s));
}

}  // namespace hpcbench::train

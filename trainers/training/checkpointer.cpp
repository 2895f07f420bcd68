#include "training/checkpointer.hpp"

#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "files/atomic_file.hpp"
#include "files/folder.hpp"
#include "files/shard_file.hpp"

namespace hpcbench::train {

namespace {

constexpr const char* kLastName = "last.safetensors";
constexpr const char* kBestName = "best";

/// Ranks on several hosts must write into one folder: a run cannot resume from shards that the first rank does not see.
void require_visible(const std::filesystem::path& shard) {
  std::error_code error;
  if (std::filesystem::exists(shard, error)) return;
  throw DataError(concat("error: a rank has written ", shard.string(),
                         ", but rank 0 does not see it: a checkpoint in shards needs a folder that all ranks share"));
}

std::int64_t bytes_in(const std::filesystem::path& folder) {
  std::error_code error;
  std::int64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_regular_file()) sum += static_cast<std::int64_t>(entry.file_size());
  }
  return sum;
}

/// Returns the size of a folder's files, or of a checkpoint with its shards.
std::int64_t size_bytes(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return bytes_in(path);
  return static_cast<std::int64_t>(std::filesystem::file_size(path, error)) + bytes_in(shard_folder(path));
}

}  // namespace

Checkpointer::Checkpointer(Task& task, Strategy& strategy, const Settings& settings, const World& world, Events& events)
    : task_(task), strategy_(strategy), settings_(settings), world_(world), events_(events) {}

void Checkpointer::make_folders() {
  if (world_.rank != 0) return;
  if (settings_.save) make_folder(*settings_.save);
  if (const auto output = output_folder(settings_)) make_folder(*output);  // for predictions, too
  if (settings_.checkpoint == Checkpoints::none) return;
  const std::filesystem::path folder = *output_folder(settings_) / "checkpoint";
  make_folder(folder);
  lock_.emplace(folder / "lock", FileLock::Taken::give_up);
  if (lock_->holder()) {
    throw DataError(concat("error: another training, ", *lock_->holder(), ", keeps its checkpoints in ", folder.string(),
                           ": end it, or choose another `output`"));
  }
  if (!lock_->is_held()) return;
  remove_unfinished(folder);
  remove_unfinished(folder / kBestName);
}

TrainingState Checkpointer::resume() {
  std::filesystem::path path = *settings_.resume;
  if (path.extension() != ".safetensors") path /= kLastName;
  TrainingCheckpoint checkpoint = read_checkpoint(path, settings_to_keep(settings_, world_, task_.train_samples()),
                                                  strategy_.state_layout(), strategy_.optimizer_layout());
  std::vector<double>& sums = checkpoint.state.loss_sums;
  if (sums.size() < 2 || sums.size() % 2 != 0) throw DataError(concat("error: ", path.string(), " is damaged: its loss sums"));
  // From another number of ranks: the first rank takes the sums of all.
  if (std::ssize(sums) != std::ptrdiff_t{2} * world_.size) {
    for (std::size_t index = 2; index < sums.size(); ++index) sums[index % 2] += sums[index];
    sums.resize(2);
    sums.resize(2 * static_cast<std::size_t>(world_.size), 0.0);
  }
  strategy_.load_state(checkpoint.model, checkpoint.optimizer, checkpoint.state.optimizer_steps);
  if (world_.rank == 0 && keeps_best(settings_) && checkpoint.state.best_loss)
    bring_best(path.parent_path() / kBestName, checkpoint.state.best_epoch);
  return checkpoint.state;
}

/// A training that continues in another folder may never find a better model than that of its original folder.
void Checkpointer::bring_best(const std::filesystem::path& from, int epoch) {
  const std::filesystem::path to = *output_folder(settings_) / "checkpoint" / kBestName;
  std::error_code error;
  if (std::filesystem::exists(to, error)) return;
  const std::filesystem::path copy = unfinished_path(to);
  std::filesystem::copy(from, copy, std::filesystem::copy_options::recursive, error);
  if (!error) std::filesystem::rename(copy, to, error);
  if (!error) return;
  const std::string text = concat("the best model so far, of epoch ", epoch, ", is not in ", to.string(), ": ", from.string(),
                                  " cannot be copied: ", error.message());
  log_warning("warning: " + text);
  events_.write(Event("warning").add("code", std::string("best_not_brought")).add("text", text));
}

void Checkpointer::keep_last(const TrainingState& state) {
  const double start_s = monotonic_s();
  const std::filesystem::path folder = *output_folder(settings_) / "checkpoint";
  TrainingCheckpoint checkpoint{state, settings_to_keep(settings_, world_, task_.train_samples()), strategy_.state_layout(),
                                strategy_.optimizer_layout()};
  checkpoint.state.optimizer_steps = strategy_.optimizer_steps();
  // Every rank fills in its own part of the sums.
  strategy_.sum_over_ranks(checkpoint.state.loss_sums);
  if (world_.rank == 0) make_folder(folder);
  const std::filesystem::path path = folder / kLastName;
  settings_.checkpoint_format == CheckpointFormat::sharded ? write_shards(path, checkpoint) : write_whole(path, checkpoint);
  strategy_.barrier();
  report(path, "last", state, start_s);
}

/// Tensor by tensor: neither the devices nor the host hold more than a unit of the model for it.
void Checkpointer::write_whole(const std::filesystem::path& path, const TrainingCheckpoint& checkpoint) {
  std::optional<CheckpointWriter> writer;
  if (world_.rank == 0) writer.emplace(path, checkpoint);
  strategy_.visit_state([&](std::size_t index, const NamedTensor& each) {
    if (writer) writer->write_model(index, each.tensor);
  });
  strategy_.visit_optimizer_state([&](std::size_t index, const NamedTensor& each) {
    if (writer) writer->write_optimizer(index, each.tensor);
  });
  if (!writer) return;
  writer->finish();
  remove_shards(shard_folder(path), {});
}

/// The index replaces the previous checkpoint when every shard is on the disk; only then are the old shards removed. Until then
/// no file of the old checkpoint is changed.
void Checkpointer::write_shards(const std::filesystem::path& path, const TrainingCheckpoint& checkpoint) {
  const std::filesystem::path folder = shard_folder(path);
  make_folder(folder);
  const std::string next = world_.rank == 0 ? std::to_string(last_save(folder) + 1) : "";
  const std::int64_t save = std::stoll(strategy_.exchange(next).front());
  std::vector<ShardEntry> own;
  if (const std::optional<StateShard> shard = strategy_.own_shard())
    own.push_back(write_checkpoint_shard(path, save, *shard, checkpoint));
  const std::vector<std::string> of_ranks = strategy_.exchange(shard_index_text(own));
  if (world_.rank != 0) return;
  std::vector<ShardEntry> all;
  for (const std::string& text : of_ranks) {
    for (const ShardEntry& entry : parse_shard_index(text, path.string())) all.push_back(entry);
  }
  for (const ShardEntry& entry : all) require_visible(folder / entry.file);
  write_checkpoint_index(path, checkpoint, all);
  remove_shards(folder, all);
}

void Checkpointer::write_model_folder(const std::filesystem::path& folder, const char* kind, const TrainingState& state) {
  const double start_s = monotonic_s();
  std::vector<NamedTensor> tensors = strategy_.state_layout();
  strategy_.visit_state([&](std::size_t index, const NamedTensor& each) {
    if (world_.rank == 0) tensors[index].tensor = each.tensor.detach().to(at::kCPU);
  });
  if (world_.rank == 0) {
    make_folder(folder);
    task_.write_model(folder, tensors);
    if (!predictions_.empty()) task_.write_predictions(folder, predictions_);
  }
  strategy_.barrier();
  report(folder, kind, state, start_s);
}

void Checkpointer::keep_best(const TrainingState& state) {
  write_model_folder(*output_folder(settings_) / "checkpoint" / kBestName, "best", state);
}

void Checkpointer::save_model(const TrainingState& state) { write_model_folder(*settings_.save, "save", state); }

void Checkpointer::keep_predictions() {
  const std::string own = task_.own_predictions();
  if (own.empty()) return;
  predictions_ = strategy_.exchange(own);
  const auto folder = output_folder(settings_);
  if (world_.rank != 0 || !folder) return;
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

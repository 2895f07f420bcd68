#include "training/checkpoint.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "training/shards.hpp"

namespace hpcbench::train {

namespace {

using CheckpointJson = nlohmann::json;

constexpr const char* kMetadataKey = "hpcbench_training";
constexpr const char* kShardsKey = "hpcbench_shards";
constexpr int kCheckpointFormat = 1;

CheckpointJson state_json(const TrainingState& state) {
  CheckpointJson json = {{"epoch", state.epoch},
                         {"epoch_steps", state.epoch_steps},
                         {"steps", state.steps},
                         {"optimizer_steps", state.optimizer_steps},
                         {"loss_sums", state.loss_sums},
                         {"best_epoch", state.best_epoch},
                         {"worse_evaluations", state.worse_evaluations},
                         {"stopped_early", state.stopped_early}};
  if (state.best_loss) json["best_loss"] = *state.best_loss;
  return json;
}

TrainingState state_of(const CheckpointJson& json) {
  TrainingState state;
  json.at("epoch").get_to(state.epoch);
  json.at("epoch_steps").get_to(state.epoch_steps);
  json.at("steps").get_to(state.steps);
  json.at("optimizer_steps").get_to(state.optimizer_steps);
  json.at("loss_sums").get_to(state.loss_sums);
  json.at("best_epoch").get_to(state.best_epoch);
  json.at("worse_evaluations").get_to(state.worse_evaluations);
  json.at("stopped_early").get_to(state.stopped_early);
  if (json.contains("best_loss")) state.best_loss = json.at("best_loss").get<double>();
  return state;
}

std::vector<NamedTensor> prefixed(const char* prefix, const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> named;
  for (const NamedTensor& each : tensors) named.push_back({prefix + each.name, each.tensor});
  return named;
}

/// Returns the tensors in the file's order.
std::vector<NamedTensor> all_tensors(const TrainingCheckpoint& checkpoint) {
  std::vector<NamedTensor> tensors = prefixed("model/", checkpoint.model);
  for (const NamedTensor& each : prefixed("optimizer/", checkpoint.optimizer)) tensors.push_back(each);
  return tensors;
}

std::string metadata_text(const TrainingCheckpoint& checkpoint) {
  return CheckpointJson(
             {{"format", kCheckpointFormat}, {"state", state_json(checkpoint.state)}, {"settings", checkpoint.settings}})
      .dump();
}

/// Returns the tensors of a file with the names, sizes and types of `wanted`.
std::vector<NamedTensor> read_named(const SafetensorsFile& file, const std::filesystem::path& path,
                                    const std::vector<NamedTensor>& wanted) {
  std::vector<NamedTensor> found;
  for (const NamedTensor& each : wanted) {
    const StoredTensor* stored = file.find(each.name);
    if (!stored) throw DataError(concat("error: ", path.string(), " has no tensor ", each.name));
    const at::Tensor tensor = to_tensor(*stored);
    if (tensor.sizes() != each.tensor.sizes() || tensor.scalar_type() != each.tensor.scalar_type()) {
      throw DataError(concat("error: ", path.string(), ": the tensor ", stored->name, " is ", tensor.scalar_type(), " of ",
                             tensor.sizes(), ", not ", each.tensor.scalar_type(), " of ", each.tensor.sizes()));
    }
    found.push_back({each.name, tensor});
  }
  return found;
}

std::optional<std::string> metadata_of(const SafetensorsFile& file, const std::string& wanted) {
  for (const auto& [key, value] : file.metadata()) {
    if (key == wanted) return value;
  }
  return std::nullopt;
}

CheckpointJson metadata_json(const SafetensorsFile& file, const std::filesystem::path& path) {
  CheckpointJson json = CheckpointJson::parse(metadata_of(file, kMetadataKey).value_or(""), nullptr, false);
  if (json.is_object() && json.value("format", 0) == kCheckpointFormat) return json;
  throw DataError(concat("error: ", path.string(), " is no checkpoint to resume from (trained weights alone are not enough)"));
}

void check_same_settings(const std::map<std::string, std::string>& stored, const std::map<std::string, std::string>& own,
                         const std::filesystem::path& path) {
  std::vector<std::string> differences;
  for (const auto& [name, value] : own) {
    const auto found = stored.find(name);
    const std::string before = found == stored.end() ? "not set" : found->second;
    if (before != value) differences.push_back(concat(name, " (", before, " there, ", value, " now)"));
  }
  for (const auto& [name, value] : stored) {
    if (!own.count(name)) differences.push_back(concat(name, " (", value, " there, not set now)"));
  }
  if (!differences.empty())
    throw InputError(concat("error: ", path.string(), " is of a run with other settings: ", join(differences, ", ")));
}

}  // namespace

std::map<std::string, std::string> settings_to_keep(const Settings& settings, const World& world, std::int64_t train_samples) {
  std::map<std::string, std::string> kept = deciding_settings(settings);
  if (settings.schedule == Schedule::constant && !settings.warmup_share) {
    for (const char* const name : {"epochs", "max_steps"}) kept.erase(name);
  }
  // The distribution of work may change: any strategy can continue the state of any other, with any number of ranks.
  for (const char* const name :
       {"strategy", "batch_size", "bucket_cap_mb", "exchange", "wrap", "reshard_after_forward", "shard_size", "devices"})
    kept.erase(name);
  if (settings.strategy != "dp" || settings.flavour == Flavour::tuned) kept.erase("flavour");
  const std::int64_t batch = batch_per_process(settings, world);
  kept["global_batch"] = std::to_string(batch * world.size * settings.accumulate);
  // In this order the ranks' batches determine the samples of a step.
  if (settings.order == Order::batches) kept["batch_size"] = std::to_string(batch);
  kept["train_samples"] = std::to_string(train_samples);
  return kept;
}

CheckpointWriter::CheckpointWriter(const std::filesystem::path& path, const TrainingCheckpoint& layout)
    : model_tensors_(layout.model.size()),
      file_(path, all_tensors(layout), {{kMetadataKey, metadata_text(layout)}}, nullptr, Seal::hash) {}

std::filesystem::path shard_folder(const std::filesystem::path& path) { return path.parent_path() / path.stem(); }

ShardEntry write_checkpoint_shard(const std::filesystem::path& path, std::int64_t save, const StateShard& shard,
                                  const TrainingCheckpoint& layout) {
  return write_shard(shard_folder(path), save, shard, prefixed("model/", layout.model),
                     prefixed("optimizer/", layout.optimizer));
}

void write_checkpoint_index(const std::filesystem::path& path, const TrainingCheckpoint& layout,
                            const std::vector<ShardEntry>& shards) {
  write_safetensors(path, {}, {{kMetadataKey, metadata_text(layout)}, {kShardsKey, shard_index_text(shards)}}, Seal::hash);
}

TrainingCheckpoint read_checkpoint(const std::filesystem::path& path, const std::map<std::string, std::string>& settings,
                                   const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer) {
  const SafetensorsFile file(path);
  const CheckpointJson json = metadata_json(file, path);
  file.check_seal();
  TrainingCheckpoint checkpoint;
  try {
    json.at("settings").get_to(checkpoint.settings);
    checkpoint.state = state_of(json.at("state"));
  } catch (const CheckpointJson::exception& error) {
    throw DataError(concat("error: ", path.string(), " is damaged: ", error.what()));
  }
  check_same_settings(checkpoint.settings, settings, path);
  checkpoint.model = model;
  checkpoint.optimizer = optimizer;
  const std::vector<NamedTensor> wanted = all_tensors(checkpoint);
  const std::optional<std::string> shards = metadata_of(file, kShardsKey);
  const std::vector<NamedTensor> read =
      shards ? join_shards(path, shard_folder(path), parse_shard_index(*shards, path.string()), wanted)
             : read_named(file, path, wanted);
  for (std::size_t index = 0; index < read.size(); ++index) {
    const bool of_model = index < model.size();
    (of_model ? checkpoint.model[index] : checkpoint.optimizer[index - model.size()]).tensor = read[index].tensor;
  }
  return checkpoint;
}

}  // namespace hpcbench::train

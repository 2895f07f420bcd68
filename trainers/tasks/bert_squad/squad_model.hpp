#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/settings.hpp"
#include "tasks/bert_squad/bert.hpp"
#include "tasks/bert_squad/bert_config.hpp"
#include "tasks/task.hpp"

namespace hpcbench::train {

/// The source of the model and its word pieces.
struct BertSource {
  std::optional<std::filesystem::path> folder;  // nullopt: random weights of the size in `model`
  std::filesystem::path vocabulary;
};

/// Finds the source from `model` and `vocab`. InputError if neither a size nor a folder is named, or the vocabulary is missing.
BertSource find_bert_source(const Settings& settings);

struct SquadModel {
  std::optional<Bert> bert;
  BertConfig config;  // to be saved: with the dropout rates of config.json
  std::vector<Note> notes;
};

/// Returns own if there are kernels for the model's size on a GPU, else torch.
KernelChoice kernels_of(const Settings& settings, const BertSource& source);

/// Returns the model for the settings, with weights loaded or drawn from the seed. DataError or InputError if vocabulary,
/// max_length and model do not fit each other.
SquadModel make_squad_model(const Settings& settings, const BertSource& source, std::int64_t vocabulary_size);

}  // namespace hpcbench::train

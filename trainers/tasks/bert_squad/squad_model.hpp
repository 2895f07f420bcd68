#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/settings.hpp"
#include "tasks/bert_squad/bert.hpp"
#include "tasks/bert_squad/bert_config.hpp"
#include "tasks/task.hpp"

namespace hpcbench::train {

/// Where the model and its word pieces come from.
struct BertSource {
  std::optional<std::filesystem::path> folder;  // absent: random weights of the size that `model` names
  std::filesystem::path vocabulary;
};

/// From `model` and `vocab`. InputError where neither a size nor a folder is named, or no vocabulary is there.
BertSource find_bert_source(const Settings& settings);

struct SquadModel {
  std::optional<Bert> bert;
  BertConfig config;  // to be saved: with the dropout rates of config.json
  std::vector<Note> notes;
};

/// Own, if there are kernels for the model's size on a GPU, else torch.
KernelChoice kernels_of(const Settings& settings, const BertSource& source);

/// The model as the settings want it, its weights loaded or drawn from the seed. DataError or InputError where vocabulary,
/// max_length and model do not fit each other.
SquadModel make_squad_model(const Settings& settings, const BertSource& source, std::int64_t vocabulary_size);

}  // namespace hpcbench::train

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/settings.hpp"
#include "tasks/bert_squad/data/squad_features.hpp"
#include "tasks/task.hpp"

namespace hpcbench::train {

/// The questions for training and for validation.
///
/// `data` names a file: all of it trains, or with train_share the first part of its questions (the rest validates, if there is
/// no eval_data). `data` names a folder: train-v1.1.json or train-v2.0.json trains (the first train_share of its questions),
/// dev-v*.json of the same version validates. `eval_data`, if given, always names the file for validation.
struct SquadData {
  std::shared_ptr<const SquadFeatures> train;
  std::int64_t train_features = 0;                  // only this many first features of `train`
  std::shared_ptr<const SquadFeatures> validation;  // null: nothing validates
  std::int64_t first_question = 0;                  // the first one for validation
  std::vector<Note> notes;
};

/// Prepares the features, or loads them from the cache. DataError names the file and the place; InputError for an ambiguous
/// folder.
SquadData open_squad_data(const Settings& settings, const std::filesystem::path& vocabulary, int threads);

}  // namespace hpcbench::train

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

/// Which questions train and which validate.
///
/// `data` names a file: all of it trains, or with train_share the first so many of its questions (the rest validates, if
/// there is no eval_data). `data` names a folder: train-v1.1.json or train-v2.0.json trains (the first train_share of its
/// questions), dev-v*.json of the same version validates. `eval_data` names the file that validates in any case.
struct SquadData {
  std::shared_ptr<const SquadFeatures> train;
  std::int64_t train_features = 0;                  // the first so many of `train`
  std::shared_ptr<const SquadFeatures> validation;  // null: nothing validates
  std::int64_t first_question = 0;                  // the first one that validates
  std::vector<Note> notes;
};

/// Prepares the features, or takes them from the cache. DataError names the file and the place; InputError for a folder in
/// which it is not clear what is meant.
SquadData open_squad_data(const Settings& settings, const std::filesystem::path& vocabulary, int threads);

}  // namespace hpcbench::train

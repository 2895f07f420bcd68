#pragma once

#include <memory>
#include <vector>

#include "base/options.hpp"
#include "base/settings.hpp"
#include "tasks/task.hpp"

namespace hpcbench::train {

/// BERT for extractive question answering on SQuAD 1.1 or 2.0 (docs/bert-squad.md). A sample is a feature: one window over the
/// context of one question. Measures: val_loss (mean over the features), em and f1 (per cent, over the questions).
std::unique_ptr<Task> make_bert_squad(const Settings& settings);

/// Returns `features` and `score`.
std::vector<TaskCommand> bert_squad_commands();

}  // namespace hpcbench::train

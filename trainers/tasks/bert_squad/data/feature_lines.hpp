#pragma once

#include <cstdint>
#include <cstdio>

#include "tasks/bert_squad/data/squad_features.hpp"

namespace hpcbench::train {

/// Prints features as features_command does: one JSON object a line, in the file's order whatever the number of threads, of
/// which one is the caller's. They are padded to `length` tokens with [PAD], or not at all (0). Memory does not grow with the
/// number of features. DataError where `output` cannot be written.
void print_features(const SquadFeatures& features, std::int64_t length, int threads, std::FILE* output);

}  // namespace hpcbench::train

#pragma once

#include <cstdint>
#include <cstdio>

#include "tasks/bert_squad/data/squad_features.hpp"

namespace hpcbench::train {

/// Prints features for features_command: one JSON object per line, in the file's order whatever the number of threads, one of
/// which is the caller's. They are padded to `length` tokens with [PAD], or not at all (0). Memory does not grow with the
/// number of features. DataError if `output` cannot be written.
void print_features(const SquadFeatures& features, std::int64_t length, int threads, std::FILE* output);

}  // namespace hpcbench::train

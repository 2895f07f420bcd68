#pragma once

#include "files/content_hash.hpp"
#include "tasks/bert_squad/data/feature_file.hpp"
#include "tasks/bert_squad/data/squad_features.hpp"
#include "tasks/bert_squad/text/vocabulary.hpp"

namespace hpcbench::train {

/// Reads the file that `request` names, makes its features in `request.threads` threads (one of them the caller's) and writes
/// them, in the file's order whatever the number of threads, in memory that does not grow with the contexts. `data_digest` is
/// the digest of the file when `key` was made: DataError if the file has changed. FeatureFileError if writing fails.
void make_features(const FeatureRequest& request, const Vocabulary& vocabulary, const ContentHash::Digest& data_digest,
                   const ContentHash::Digest& key, int descriptor);

}  // namespace hpcbench::train

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/bert_squad/text/token_offset.hpp"

namespace hpcbench::train {

/// One window over the context of one question: [CLS] question [SEP] part of the context [SEP], without padding. A view into
/// the mapped cache, valid as long as its SquadFeatures.
struct Feature {
  std::int64_t example = 0;                 // number of the question in the file, from 0
  std::span<const std::int32_t> input_ids;  // at most max_length
  std::int32_t context_begin = 0;           // token_type_ids are 0 before this token, 1 from it to the last [SEP]
  std::span<const TokenOffset> offsets;     // one per token
  std::int32_t start_position = 0;          // first and last token of the first answer; 0 ([CLS]) if there is none or it
  std::int32_t end_position = 0;            // is not completely inside this window; see padded_start_position
};

/// Returns the start position of a feature that is padded to `length` tokens when it is made, as run_qa does with
/// pad_to_max_length. run_qa searches the first token of an answer by moving right; if the answer begins in the window's last
/// token, it passes the last [SEP] to the end of the feature: the target is then the last [SEP] without padding (even if
/// batches are padded later), and the last padding token with it. That can only be a target if padding takes part in the
/// softmax.
inline std::int32_t padded_start_position(const Feature& feature, std::int64_t length) {
  const auto last = static_cast<std::int32_t>(feature.input_ids.size()) - 1;
  return feature.start_position == last && last > 0 ? static_cast<std::int32_t>(length) - 1 : feature.start_position;
}

/// One question of the file.
struct Question {
  std::string_view id;
  std::string_view context;               // UTF-8
  std::vector<std::string_view> answers;  // texts of all gold answers; empty: unanswerable, or the file has none
  std::int64_t first_feature = 0;         // its features are first_feature ... first_feature + features - 1
  std::int64_t features = 0;
};

/// The input of features. Everything but `cache_folder` and `threads` affects their content.
struct FeatureRequest {
  std::filesystem::path data;        // SQuAD 1.1 or 2.0
  std::filesystem::path vocabulary;  // vocab.txt: one word piece per line
  bool cased = false;
  int max_length = 384;                      // tokens of a feature, with the special ones
  int doc_stride = 128;                      // tokens that neighbouring windows share (not their distance)
  std::optional<std::int64_t> max_features;  // the first ones, and the questions that they belong to
  std::filesystem::path cache_folder;
  int threads = 1;
};

/// Returns $XDG_CACHE_HOME/hpcbench, else $HOME/.cache/hpcbench, else a folder in the system's one for temporary files.
std::filesystem::path default_cache_folder();

/// The features of a file, like those that Hugging Face's run_qa makes for training, in the file's order.
class SquadFeatures {
 public:
  /// Maps the cache that is keyed by the contents of both files and the other fields, or makes it first, in `threads` threads;
  /// processes that need the same cache at the same time do not disturb each other. A damaged cache is made again. DataError
  /// names file and place: broken JSON, an answer that is not at its stated position, an empty context, a duplicate id, a
  /// question that leaves no room for its context, a vocabulary without [CLS], [SEP] or [UNK]; InputError: impossible lengths.
  static SquadFeatures open(const FeatureRequest& request);
  ~SquadFeatures();
  SquadFeatures(SquadFeatures&&) noexcept;
  SquadFeatures& operator=(SquadFeatures&&) noexcept;

  std::int64_t size() const;
  Feature operator[](std::int64_t index) const;
  std::int64_t questions() const;
  Question question(std::int64_t index) const;
  std::int64_t vocabulary_size() const;
  /// Returns the id of [PAD]; 0 if the vocabulary has none.
  std::int32_t padding_id() const;
  /// Returns whether some question is unanswerable (SQuAD 2.0), so that "" is a possible answer. (For a file without any
  /// answers: whether its version is v2.)
  bool has_unanswerable() const;
  /// Returns whether the cache already existed.
  bool was_cached() const;
  /// Returns a note for the user: the cache could not be kept, or a damaged one was replaced.
  const std::optional<std::string>& note() const;

 private:
  struct Mapping;
  explicit SquadFeatures(std::unique_ptr<Mapping> mapping);
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace hpcbench::train

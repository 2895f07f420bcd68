#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench::train {

/// Where a token stands in its text: code points [begin, end), of the question without leading white space or of the context;
/// {0, 0} for [CLS] and [SEP].
struct TokenOffset {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// One window over the context of one question: [CLS] question [SEP] part of the context [SEP], without padding. A view into
/// the mapped cache, valid as long as its SquadFeatures.
struct Feature {
  std::int64_t example = 0;                 // number of the question in the file, from 0
  std::span<const std::int32_t> input_ids;  // at most max_length
  std::int32_t context_begin = 0;           // token_type_ids are 0 before this token, 1 from it to the last [SEP]
  std::span<const TokenOffset> offsets;     // one a token
  std::int32_t start_position = 0;          // first and last token of the first answer; 0 ([CLS]) where there is none or it
  std::int32_t end_position = 0;            // does not lie wholly in this window
};

/// One question of the file.
struct Question {
  std::string_view id;
  std::string_view context;               // UTF-8
  std::vector<std::string_view> answers;  // texts of all gold answers; empty: unanswerable
  std::int64_t first_feature = 0;         // its features are first_feature ... first_feature + features - 1
  std::int64_t features = 0;
};

/// What features are made of, and how. Everything but `cache_folder` and `threads` decides what they are.
struct FeatureRequest {
  std::filesystem::path data;        // SQuAD 1.1 or 2.0
  std::filesystem::path vocabulary;  // vocab.txt: one word piece a line
  bool cased = false;
  int max_length = 384;  // tokens of a feature, with the special ones
  int doc_stride = 128;  // tokens that neighbouring windows share (not their distance)
  std::optional<std::int64_t> max_features;
  std::filesystem::path cache_folder;
  int threads = 1;
};

/// $XDG_CACHE_HOME/hpcbench, else $HOME/.cache/hpcbench, else a folder below the system's one for temporary files.
std::filesystem::path default_cache_folder();

/// The features of a file, as Hugging Face's run_qa makes them for training, in the file's order.
class SquadFeatures {
 public:
  /// Maps the cache that is keyed by the contents of both files and the other fields, or makes it first, in `threads` threads;
  /// processes that want the same cache at the same time do not harm each other. DataError names file and place:
  /// broken JSON, an answer that does not stand where it says, an empty context, a vocabulary without [CLS], [SEP] or [UNK].
  static SquadFeatures open(const FeatureRequest& request);
  ~SquadFeatures();
  SquadFeatures(SquadFeatures&&) noexcept;
  SquadFeatures& operator=(SquadFeatures&&) noexcept;

  std::int64_t size() const;
  Feature operator[](std::int64_t index) const;
  std::int64_t questions() const;
  Question question(std::int64_t index) const;
  std::int64_t vocabulary_size() const;
  /// SQuAD 2.0: some question is unanswerable, so "" is a possible answer.
  bool has_unanswerable() const;
  /// The cache was there already.
  bool was_cached() const;

 private:
  struct Mapping;
  explicit SquadFeatures(std::unique_ptr<Mapping> mapping);
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace hpcbench::train

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tasks/bert_squad/data/feature_file.hpp"
#include "tasks/bert_squad/data/squad_reader.hpp"
#include "tasks/bert_squad/text/bert_tokenizer.hpp"

namespace hpcbench::train {

/// The encoded form of some paragraphs: bytes for a feature file and the records that describe them, with positions and numbers
/// that count from the beginning of this block.
struct FeatureBlock {
  std::vector<std::byte> bytes;
  FeatureTables tables;
  bool has_unanswerable = false;
  bool has_answers = false;

  /// Appends at a multiple of 4, and returns the position.
  std::uint64_t append(const void* data, std::size_t size);
};

/// The settings that determine a feature, and the file's name for errors.
struct EncoderSettings {
  std::filesystem::path data;
  bool cased = false;
  std::int32_t max_length = 384;
  std::int32_t doc_stride = 128;
};

/// Makes features like prepare_train_features of run_qa; the context is tokenised once for all its questions. One per thread.
class ParagraphEncoder {
 public:
  ParagraphEncoder(const EncoderSettings& settings, const Vocabulary& vocabulary);

  /// DataError names the place of the paragraph or question.
  void encode(const SquadParagraph& paragraph, FeatureBlock& block);

 private:
  void encode_context(const SquadParagraph& paragraph);
  void encode_question(const SquadQuestion& question, FeatureBlock& block);
  std::int32_t room_for_context(const SquadQuestion& question) const;
  AnswerRecord locate(const SquadParagraph& paragraph, const SquadQuestion& question, const SquadAnswer& answer) const;
  std::uint32_t byte_of(std::int64_t code_point) const;
  void assemble(std::int32_t begin, std::int32_t end);
  [[noreturn]] void fail(const SquadQuestion& question, const std::string& what) const;

  EncoderSettings settings_;
  BertTokenizer tokenizer_;
  std::int32_t begin_id_;      // [CLS]
  std::int32_t separator_id_;  // [SEP]
  TokenizedText context_;
  TokenizedText question_;
  std::vector<std::uint32_t> context_bytes_;  // where each code point begins, and the end; empty for plain ASCII
  std::int64_t context_characters_ = 0;
  std::vector<std::int32_t> ids_;  // of the current feature
  std::vector<TokenOffset> offsets_;
};

}  // namespace hpcbench::train

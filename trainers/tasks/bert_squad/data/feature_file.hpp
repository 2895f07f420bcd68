#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "files/content_hash.hpp"
#include "tasks/bert_squad/text/token_offset.hpp"

namespace hpcbench::train {

/// The file of a feature cache: a header; then, in the order of creation, contexts, ids of questions, and for each feature its
/// token ids (int32) and offsets (2 int32); then the tables of features, questions and answers. In this machine's byte order;
/// positions are bytes from the file's beginning, all multiples of 4 (tables: of 8). Raise kFeatureFormat whenever the format
/// or the definition of features changes.
inline constexpr std::uint32_t kFeatureFormat = 1;

struct FeatureRecord {
  std::uint64_t position = 0;  // of the ids; the offsets follow
  std::int32_t question = 0;
  std::int32_t tokens = 0;
  std::int32_t context_begin = 0;
  std::int32_t start_position = 0;
  std::int32_t end_position = 0;
  std::int32_t zero = 0;
};

struct QuestionRecord {
  std::uint64_t id_position = 0;
  std::uint64_t context_position = 0;
  std::uint32_t id_bytes = 0;
  std::uint32_t context_bytes = 0;
  std::int64_t first_feature = 0;
  std::int64_t features = 0;
  std::int64_t first_answer = 0;
  std::int64_t answers = 0;
};

/// The question's context, in bytes.
struct AnswerRecord {
  std::uint32_t begin = 0;
  std::uint32_t bytes = 0;
};

struct FeatureFileFacts {
  std::int64_t vocabulary_size = 0;
  std::int32_t padding_id = 0;
  std::uint32_t has_unanswerable = 0;
};

struct FeatureFileHeader {
  std::uint64_t magic = 0;
  std::uint32_t format = 0;
  std::uint32_t zero = 0;
  ContentHash::Digest key{};
  std::uint64_t file_bytes = 0;
  std::uint64_t features_position = 0;
  std::uint64_t features = 0;
  std::uint64_t questions = 0;  // the table follows that of the features
  std::uint64_t answers = 0;    // and this one that of the questions
  FeatureFileFacts facts;
  ContentHash::Digest checksum{};  // of everything after the header, then of the header with zeros here
};

struct FeatureTables {
  std::vector<FeatureRecord> features;
  std::vector<QuestionRecord> questions;
  std::vector<AnswerRecord> answers;
};

/// A file could not be made or written; `what()` gives the reason, without "error: ".
class FeatureFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Writes a file from beginning to end. FeatureFileError if that fails.
class FeatureFileWriter {
 public:
  /// The caller keeps ownership of `descriptor`, an empty file.
  explicit FeatureFileWriter(int descriptor);

  /// Returns the position of the next bytes.
  std::uint64_t position() const { return position_; }
  void append(std::span<const std::byte> bytes);
  void finish(const ContentHash::Digest& key, const FeatureTables& tables, const FeatureFileFacts& facts);

 private:
  int descriptor_;
  std::uint64_t position_ = sizeof(FeatureFileHeader);
  ContentHash hash_;
};

/// A finished file, mapped and checked.
class MappedFeatureFile {
 public:
  /// FeatureFileError names the damage: every byte is checked, so later reading needs no checks.
  MappedFeatureFile(int descriptor, const ContentHash::Digest& key);
  ~MappedFeatureFile();
  MappedFeatureFile(const MappedFeatureFile&) = delete;
  MappedFeatureFile& operator=(const MappedFeatureFile&) = delete;

  const FeatureFileFacts& facts() const { return header().facts; }
  std::span<const FeatureRecord> features() const { return features_; }
  std::span<const QuestionRecord> questions() const { return questions_; }
  std::span<const AnswerRecord> answers() const { return answers_; }
  std::span<const std::int32_t> ids(const FeatureRecord& feature) const;
  std::span<const TokenOffset> offsets(const FeatureRecord& feature) const;
  std::string_view text(std::uint64_t position, std::uint32_t bytes) const;

 private:
  const FeatureFileHeader& header() const { return *reinterpret_cast<const FeatureFileHeader*>(bytes_); }
  void check(int descriptor, const ContentHash::Digest& key);
  void check_records() const;

  const std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::span<const FeatureRecord> features_;
  std::span<const QuestionRecord> questions_;
  std::span<const AnswerRecord> answers_;
};

}  // namespace hpcbench::train

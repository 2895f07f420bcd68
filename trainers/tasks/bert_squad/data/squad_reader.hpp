#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tasks/bert_squad/data/json_pull.hpp"

namespace hpcbench::train {

struct SquadAnswer {
  std::string text;
  std::int64_t start = 0;  // answer_start: code points of the context
};

struct SquadQuestion {
  std::string id;
  std::string text;
  std::vector<SquadAnswer> answers;  // empty for is_impossible
  bool has_answers = false;          // the file states its answers, perhaps that there are none
  JsonPull::Place place;             // its place in the file
  std::string path;                  // data[0].paragraphs[0].qas[0]
};

struct SquadParagraph {
  std::string context;
  std::vector<SquadQuestion> questions;
  JsonPull::Place place;
  std::string path;
};

/// Reads a file of SQuAD 1.1 or 2.0 paragraph by paragraph, in the file's order. Ignores keys that SQuAD does not have.
/// DataError names file, line, column and path.
class SquadReader {
 public:
  explicit SquadReader(const std::filesystem::path& path) : json_(path) {}

  /// Returns false after the last paragraph; then the whole file has been read.
  bool next(SquadParagraph& paragraph);

  /// Returns the value of "version", if it has already been read.
  const std::string& version() const { return version_; }
  /// Valid only after the last paragraph.
  ContentHash::Digest digest() const { return json_.digest(); }

 private:
  enum class Level { kStart, kDocument, kArticles, kArticle, kParagraphs, kEnd };
  Level step();
  Level read_document_key();
  Level read_article_key();
  void read_paragraph(SquadParagraph& paragraph);
  void read_questions(SquadParagraph& paragraph);
  void read_question(SquadQuestion& question);
  void read_answers(std::vector<SquadAnswer>& answers);
  SquadAnswer read_answer();

  JsonPull json_;
  Level level_ = Level::kStart;
  bool has_data_ = false;
  bool has_paragraphs_ = false;
  JsonPull::Place article_place_;
  std::string version_;
  std::string key_;
};

}  // namespace hpcbench::train

#include "tasks/bert_squad/data/squad_reader.hpp"

#include <array>

#include "base/text.hpp"

namespace hpcbench::train {

namespace {

/// Tracks the keys that an object must have exactly once.
template <std::size_t Count>
class SeenKeys {
 public:
  SeenKeys(JsonPull& json, const std::array<const char*, Count>& names) : json_(json), names_(names), place_(json.place()) {}

  /// Returns the key's number among the names; -1: another key.
  int see(const std::string& key) {
    for (std::size_t i = 0; i < Count; ++i) {
      if (key != names_[i]) continue;
      if (seen_[i]) json_.fail(json_.place(), concat("the key \"", key, "\" is there twice"));
      seen_[i] = true;
      return static_cast<int>(i);
    }
    return -1;
  }
  bool has(std::size_t number) const { return seen_[number]; }
  void require(std::size_t number, const char* what) const {
    if (!seen_[number]) json_.fail(place_, concat(what, " has no \"", names_[number], "\""));
  }
  const JsonPull::Place& place() const { return place_; }

 private:
  JsonPull& json_;
  std::array<const char*, Count> names_;
  std::array<bool, Count> seen_{};
  JsonPull::Place place_;
};

}  // namespace

bool SquadReader::next(SquadParagraph& paragraph) {
  while (true) {
    if (level_ == Level::kEnd) return false;
    if (level_ == Level::kParagraphs && json_.next_element()) {
      read_paragraph(paragraph);
      return true;
    }
    level_ = step();
  }
}

SquadReader::Level SquadReader::step() {
  switch (level_) {
    case Level::kStart:
      json_.begin_object();
      return Level::kDocument;
    case Level::kDocument:
      return read_document_key();
    case Level::kArticles:
      if (!json_.next_element()) return Level::kDocument;
      article_place_ = json_.place();
      json_.begin_object();
      has_paragraphs_ = false;
      return Level::kArticle;
    case Level::kArticle:
      return read_article_key();
    default:
      return Level::kArticle;  // the paragraphs of the article have been read
  }
}

SquadReader::Level SquadReader::read_document_key() {
  if (!json_.next_key(key_)) {
    if (!has_data_) json_.fail({}, "a SQuAD file has an array \"data\", this one has none");
    json_.end();
    return Level::kEnd;
  }
  if (key_ == "data") {
    if (has_data_) json_.fail(json_.place(), "the key \"data\" is there twice");
    has_data_ = true;
    json_.begin_array();
    return Level::kArticles;
  }
  if (key_ == "version" && json_.kind_of_next() == "a string") {
    json_.read_string(version_);
  } else {
    json_.skip_value();
  }
  return Level::kDocument;
}

SquadReader::Level SquadReader::read_article_key() {
  if (!json_.next_key(key_)) {
    if (!has_paragraphs_) json_.fail(article_place_, "this article has no \"paragraphs\"");
    return Level::kArticles;
  }
  if (key_ != "paragraphs") {
    json_.skip_value();
    return Level::kArticle;
  }
  if (has_paragraphs_) json_.fail(json_.place(), "the key \"paragraphs\" is there twice");
  has_paragraphs_ = true;
  json_.begin_array();
  return Level::kParagraphs;
}

void SquadReader::read_paragraph(SquadParagraph& paragraph) {
  paragraph.questions.clear();
  paragraph.path = json_.path();
  SeenKeys<2> keys(json_, {"context", "qas"});
  paragraph.place = keys.place();
  json_.begin_object();
  while (json_.next_key(key_)) {
    switch (keys.see(key_)) {
      case 0:
        json_.read_string(paragraph.context);
        break;
      case 1:
        read_questions(paragraph);
        break;
      default:
        json_.skip_value();
    }
  }
  keys.require(0, "this paragraph");
  keys.require(1, "this paragraph");
}

void SquadReader::read_questions(SquadParagraph& paragraph) {
  json_.begin_array();
  while (json_.next_element()) read_question(paragraph.questions.emplace_back());
}

void SquadReader::read_question(SquadQuestion& question) {
  question.path = json_.path();
  SeenKeys<4> keys(json_, {"id", "question", "answers", "is_impossible"});
  question.place = keys.place();
  bool is_impossible = false;
  json_.begin_object();
  std::string key;
  while (json_.next_key(key)) {
    switch (keys.see(key)) {
      case 0:
        json_.read_string(question.id);
        break;
      case 1:
        json_.read_string(question.text);
        break;
      case 2:
        read_answers(question.answers);
        break;
      case 3:
        is_impossible = json_.read_boolean();
        break;
      default:
        json_.skip_value();
    }
  }
  keys.require(0, "this question");
  keys.require(1, "this question");
  question.has_answers = keys.has(2) || is_impossible;
  if (is_impossible) question.answers.clear();
}

void SquadReader::read_answers(std::vector<SquadAnswer>& answers) {
  json_.begin_array();
  while (json_.next_element()) answers.push_back(read_answer());
}

SquadAnswer SquadReader::read_answer() {
  SquadAnswer answer;
  SeenKeys<2> keys(json_, {"text", "answer_start"});
  json_.begin_object();
  std::string key;
  while (json_.next_key(key)) {
    switch (keys.see(key)) {
      case 0:
        json_.read_string(answer.text);
        break;
      case 1:
        answer.start = json_.read_integer();
        break;
      default:
        json_.skip_value();
    }
  }
  keys.require(0, "this answer");
  keys.require(1, "this answer");
  return answer;
}

}  // namespace hpcbench::train

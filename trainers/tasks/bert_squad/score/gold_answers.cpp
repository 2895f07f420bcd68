#include "tasks/bert_squad/score/gold_answers.hpp"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "files/json_text.hpp"

namespace hpcbench::train {

namespace {

/// Receives the events of a SQuAD file; ignores everything but ids, answers and the version.
class GoldReader {
 public:
  using json = nlohmann::json;

  explicit GoldReader(const std::string& file) : file_(file) {}

  bool null() { return scalar("null"); }
  bool number_integer(json::number_integer_t) { return scalar("a number"); }
  bool number_unsigned(json::number_unsigned_t) { return scalar("a number"); }
  bool number_float(json::number_float_t, const json::string_t&) { return scalar("a number"); }
  bool binary(json::binary_t&) { return scalar("binary data"); }

  bool boolean(bool value) {
    if (at_question_key("is_impossible")) impossible_ = value;
    return scalar("true or false");
  }

  bool string(std::string& value) {
    if (at_question_key("id")) {
      id_ = std::move(value);
      has_id_ = true;
    } else if (at_answer_key("text")) {
      answers_.push_back(std::move(value));
      answer_has_text_ = true;
    } else if (levels_.size() == 1 && levels_[0].key == "version") {
      version_ = value;
    } else {
      return scalar("a string");
    }
    return true;
  }

  bool start_object(std::size_t) {
    scalar("an object");
    push(false);
    if (in_question()) {
      id_.clear();
      answers_.clear();
      has_id_ = has_answers_ = impossible_ = false;
    }
    if (in_answer()) answer_has_text_ = false;
    return true;
  }

  bool start_array(std::size_t) {
    if (at_question_key("answers")) {
      has_answers_ = true;
    } else {
      scalar("a list");
    }
    if (levels_.size() == 1 && !levels_[0].array && levels_[0].key == "data") has_data_ = true;
    push(true);
    return true;
  }

  bool key(std::string& value) {
    levels_.back().key = std::move(value);
    if (at_question_key("is_impossible")) says_impossible_ = true;
    return true;
  }

  bool end_object() {
    if (in_question()) finish_question();
    if (in_answer() && !answer_has_text_) fail(concat("has an answer without text", of_question()));
    levels_.pop_back();
    return true;
  }

  bool end_array() {
    levels_.pop_back();
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    error_position_ = position;
    return false;
  }

  std::size_t error_position() const { return error_position_; }

  GoldAnswers finish() {
    if (!has_data_) fail("is no SQuAD file: it has no list `data`");
    if (gold_.questions.empty()) fail("is no SQuAD file: it has no questions");
    const std::size_t digit = version_.rfind('v', 0) == 0 ? 1 : 0;
    gold_.version_1 = version_.empty() ? !says_impossible_ && !has_unanswerable_ : version_.compare(digit, 2, "1.") == 0;
    return std::move(gold_);
  }

 private:
  struct Level {
    bool array = false;
    std::string key;
  };

  [[noreturn]] void fail(const std::string& why) const { throw DataError(concat("error: ", file_, " ", why)); }

  std::string of_question() const { return has_id_ ? concat(" in question `", id_, "`") : concat(" in a question without id"); }

  void push(bool array) {
    constexpr std::size_t kDeepest = 64;
    if (levels_.size() == kDeepest) fail("is no SQuAD file: its lists and objects are nested too deeply");
    levels_.push_back({array, {}});
  }

  /// data [] paragraphs [] qas [] and then, at level 6, the question.
  bool on_path_to_question() const {
    return levels_.size() >= 7 && !levels_[0].array && levels_[0].key == "data" && levels_[1].array && !levels_[2].array &&
           levels_[2].key == "paragraphs" && levels_[3].array && !levels_[4].array && levels_[4].key == "qas" &&
           levels_[5].array && !levels_[6].array;
  }
  bool in_question() const { return levels_.size() == 7 && on_path_to_question(); }
  bool in_answer() const {
    return levels_.size() == 9 && !levels_[8].array && levels_[7].array && on_path_to_question() && levels_[6].key == "answers";
  }
  bool at_question_key(const char* key) const { return in_question() && levels_[6].key == key; }
  bool at_answer_key(const char* key) const { return in_answer() && levels_[8].key == key; }

  /// Handles a value that is invalid at the places that matter.
  bool scalar(const char* what) const {
    if (at_question_key("id")) fail(concat("has ", what, " as id of a question, not a string"));
    if (at_question_key("answers")) fail(concat("has ", what, " as answers", of_question(), ", not a list"));
    if (at_answer_key("text")) fail(concat("has ", what, " as text of an answer", of_question()));
    if (levels_.size() == 8 && levels_[7].array && std::string_view(what) != "an object" && on_path_to_question() &&
        levels_[6].key == "answers")
      fail(concat("has ", what, " as answer", of_question(), ", not an object with its text"));
    return true;
  }

  void finish_question() {
    if (!has_id_) fail("has a question without id");
    if (!has_answers_ && !impossible_) fail(concat("has no answers", of_question()));
    has_unanswerable_ = has_unanswerable_ || answers_.empty();
    const auto [place, is_new] = places_.emplace(id_, gold_.questions.size());
    if (is_new) gold_.questions.push_back({id_, {}});
    gold_.questions[place->second].answers = std::move(answers_);
    answers_ = {};
  }

  const std::string& file_;
  GoldAnswers gold_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<Level> levels_;
  std::string id_;
  std::vector<std::string> answers_;
  std::string version_;
  bool has_id_ = false;
  bool has_answers_ = false;
  bool impossible_ = false;
  bool answer_has_text_ = false;
  bool says_impossible_ = false;
  bool has_unanswerable_ = false;
  bool has_data_ = false;
  std::size_t error_position_ = 0;
};

}  // namespace

GoldAnswers read_gold_answers(const std::filesystem::path& path) {
  const std::string text = read_json_text(path);
  const std::string file = path.string();
  GoldReader reader(file);
  if (!nlohmann::json::sax_parse(text, &reader)) fail_as_broken_json(path, text, reader.error_position());
  return reader.finish();
}

}  // namespace hpcbench::train

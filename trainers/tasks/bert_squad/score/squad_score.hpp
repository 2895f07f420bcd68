#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench::train {

/// The official scripts differ in two points: 2.0 leaves out gold answers of
/// which nothing is left without articles and punctuation (a question with no
/// other one asks for an empty prediction) and leaves out questions without a
/// prediction; 1.1 knows no unanswerable questions and counts a missing
/// prediction as wrong.
enum class SquadVersion { v1, v2 };

/// Exact match (0 or 1) and F1 (0 to 1) of one prediction, the best over the
/// gold answers; with none (unanswerable) the prediction must be empty. Where
/// nothing is left of the prediction or of a gold answer (articles and
/// punctuation apart), F1 is 1 if nothing is left of both, else 0. Source: the
/// official evaluation scripts of SQuAD 1.1 and 2.0; where nothing is left of
/// both, 1.1's says F1 0 beside an exact match of 1, and torchmetrics' SQuAD,
/// as here, 1.
struct AnswerScore {
  double exact = 0;
  double f1 = 0;
};
AnswerScore score_answer(std::string_view prediction, const std::vector<std::string_view>& answers,
                         SquadVersion version = SquadVersion::v2);

/// The official keys; exact and f1 in per cent. Absent where there is no such
/// question.
struct SquadScore {
  double exact = 0;
  double f1 = 0;
  std::int64_t total = 0;
  struct Part {
    double exact = 0;
    double f1 = 0;
    std::int64_t total = 0;
  };
  std::optional<Part> has_answer;
  std::optional<Part> no_answer;
};

/// Sums of the scores of questions; those of several ranks add up.
class SquadTally {
 public:
  struct Sums {
    double exact = 0;
    double f1 = 0;
    std::int64_t total = 0;
  };

  void add(const AnswerScore& score, bool has_answer);
  Sums& of(bool has_answer) { return has_answer ? has_answer_ : no_answer_; }
  SquadScore score() const;  // of no question: zeros

 private:
  Sums has_answer_;
  Sums no_answer_;
};

/// Scores a predictions.json (question id -> text) against a SQuAD file of
/// either version. DataError for unreadable files, and if there is no
/// prediction of any question. A question without a prediction is said in
/// `missing`, and counts as its version has it.
struct FileScore {
  SquadScore score;
  std::vector<std::string> missing;  // ids
  std::int64_t unknown = 0;          // predictions of questions that the data does not have
  SquadVersion version = SquadVersion::v2;
};
FileScore score_files(const std::filesystem::path& data, const std::filesystem::path& predictions);

}  // namespace hpcbench::train

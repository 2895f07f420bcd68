#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench::train {

/// The official scripts differ in two points: 2.0 ignores gold answers that are empty without articles and punctuation (a
/// question with no other answer then expects an empty prediction) and ignores questions without a prediction; 1.1 knows no
/// unanswerable questions and counts a missing prediction as wrong.
enum class SquadVersion { v1, v2 };

/// Exact match (0 or 1) and F1 (0 to 1) of one prediction, the best over the gold answers; without any (unanswerable) the
/// prediction must be empty. If the prediction or a gold answer is empty without articles and punctuation, F1 is 1 if both are
/// empty, else 0. Source: the official evaluation scripts of SQuAD 1.1 and 2.0; if both are empty, 1.1's gives F1 0 beside an
/// exact match of 1, and torchmetrics' SQuAD gives 1, as here.
struct AnswerScore {
  double exact = 0;
  double f1 = 0;
};
AnswerScore score_answer(std::string_view prediction, const std::vector<std::string_view>& answers,
                         SquadVersion version = SquadVersion::v2);

/// The official keys; exact and f1 in per cent. nullopt without such questions.
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

/// Scores a predictions.json (question id -> text) against a SQuAD file of either version. DataError for unreadable files, and
/// if no question has a prediction. Questions without a prediction are listed in `missing`, and count according to the version.
struct FileScore {
  SquadScore score;
  std::vector<std::string> missing;  // ids
  std::int64_t unknown = 0;          // predictions of questions that the data does not have
  SquadVersion version = SquadVersion::v2;
};
FileScore score_files(const std::filesystem::path& data, const std::filesystem::path& predictions);

}  // namespace hpcbench::train

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench::train {

/// Exact match (0 or 1) and F1 (0 to 1) of one prediction, the best over the gold answers; with none (unanswerable) the
/// prediction must be empty. Source: the official evaluation scripts of SQuAD 1.1 and 2.0.
struct AnswerScore {
  double exact = 0;
  double f1 = 0;
};
AnswerScore score_answer(std::string_view prediction, const std::vector<std::string_view>& answers);

/// The official keys; exact and f1 in per cent. Absent where there is no such question.
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

/// Scores a predictions.json (question id -> text) against a SQuAD file of either version. DataError for unreadable files; as
/// in the official script a question without a prediction is left out of the sums but said in `missing`.
struct FileScore {
  SquadScore score;
  std::vector<std::string> missing;  // ids
};
FileScore score_files(const std::filesystem::path& data, const std::filesystem::path& predictions);

}  // namespace hpcbench::train

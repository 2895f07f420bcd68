#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hpcbench::train {

/// What scoring needs of a SQuAD file.
struct GoldQuestion {
  std::string id;
  std::vector<std::string> answers;  // texts; empty: unanswerable
};

struct GoldAnswers {
  std::vector<GoldQuestion> questions;  // in the file's order; of an id that occurs twice the later
                                        // answers, as in Python
  /// SQuAD 1.1: `version` says so ("1.1", "v1.1"), or it says nothing and there
  /// is neither `is_impossible` nor a question without answers.
  bool version_1 = false;
};

/// DataError names the file and line and column of broken JSON, or the question
/// that is not as it should be.
GoldAnswers read_gold_answers(const std::filesystem::path& path);

}  // namespace hpcbench::train

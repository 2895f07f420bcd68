#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hpcbench::train {

/// The part of a SQuAD file that scoring needs.
struct GoldQuestion {
  std::string id;
  std::vector<std::string> answers;  // texts; empty: unanswerable
};

struct GoldAnswers {
  std::vector<GoldQuestion> questions;  // in the file's order; of an id that occurs twice the later answers, as in Python
  /// SQuAD 1.1: `version` is "1.1" or "v1.1", or there is neither a version, nor `is_impossible`, nor a question without
  /// answers.
  bool version_1 = false;
};

/// DataError names the file and line and column of broken JSON, or the invalid question.
GoldAnswers read_gold_answers(const std::filesystem::path& path);

}  // namespace hpcbench::train

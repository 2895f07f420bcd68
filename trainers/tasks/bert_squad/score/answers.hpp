#pragma once

#include <span>
#include <string>
#include <vector>

#include "tasks/bert_squad/data/squad_features.hpp"

namespace hpcbench::train {

/// A model's output for one feature: logits for each of its tokens. There may be more of them, those of padding behind the
/// feature: they take places among the n best, as in run_qa, and are never part of an answer.
struct FeatureLogits {
  Feature feature;
  std::span<const float> start;
  std::span<const float> end;
};

/// Defaults of Hugging Face's run_qa.
struct AnswerOptions {
  int n_best = 20;             // candidates per side
  int max_answer_length = 30;  // tokens
  bool may_be_empty = false;   // SQuAD 2.0: "" when the least null score over the features beats the best span
  double null_threshold = 0;
};

/// Returns the answer to one question from all of its features: the text of the context between the offsets of the best span.
/// Source: postprocess_qa_predictions of Hugging Face's examples.
std::string best_answer(const Question& question, std::span<const FeatureLogits> features, const AnswerOptions& options);

}  // namespace hpcbench::train

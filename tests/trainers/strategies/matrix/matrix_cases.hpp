#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hpcbench::train {

/// The computation of a training, independent of its distribution.
struct Choice {
  std::string task;  // mnist_rnn (without BatchNorm), or bert_squad: the size tiny
  bool adamw = false;
  bool weight_decay = false;
  bool clip = false;
  bool accumulate = false;
  bool dropout = false;
};

inline constexpr int kMatrixSteps = 20;

/// Returns all 32 of a task, or a few with each value of each choice.
std::vector<Choice> choices_of(const std::string& task, bool all);
std::string words_of(const Choice& choice);
double learning_rate_of(const Choice& choice);

/// Returns options of a run in fp64 on global batches of 24 samples; each epoch ends with one of 12. `data` is the folder that
/// write_questions() filled.
std::vector<std::string> options_of(const Choice& choice, const std::filesystem::path& data);

/// Writes a SQuAD file of 108 questions, each one feature of at most 24 tokens, and its vocabulary.
void write_questions(const std::filesystem::path& folder);

/// Returns the strategies of the table except the baseline, so that a new one is tested automatically; of two names for one
/// strategy the first.
std::vector<std::string> strategies_of_table();
bool has_several_processes(const std::string& strategy);

/// Returns the options that make a run one of `strategy` with `ranks` ranks or devices.
std::vector<std::string> options_of_strategy(const std::string& strategy, int ranks);

}  // namespace hpcbench::train

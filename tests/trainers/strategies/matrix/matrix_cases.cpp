#include "matrix_cases.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "strategies/strategy.hpp"
#include "trainers/ranks.hpp"

namespace hpcbench::train {

namespace {

constexpr int kQuestions = 108;
constexpr int kWordsOfVocabulary = 200;

/// Words from a small generator, so that the file is the same everywhere.
class DrawnWords {
 public:
  std::string next() { return "w" + std::to_string(draw() % kWordsOfVocabulary); }
  std::string some(std::uint64_t count) {
    std::string text = next();
    for (std::uint64_t index = 1; index < count; ++index) text += " " + next();
    return text;
  }
  std::uint64_t draw() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return state_ >> 33;
  }

 private:
  std::uint64_t state_ = 42;
};

}  // namespace

std::vector<Choice> choices_of(const std::string& task, bool all) {
  std::vector<Choice> choices;
  for (unsigned bits = 0; bits < 32; ++bits) {
    if (!all && bits != 0b01101 && bits != 0b10010) continue;
    choices.push_back({task, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0});
  }
  return choices;
}

std::string words_of(const Choice& choice) {
  return concat(choice.task, choice.adamw ? ", adamw" : ", sgd", choice.weight_decay ? ", weight decay" : "",
                choice.clip ? ", clip" : "", choice.accumulate ? ", accumulate" : "", choice.dropout ? ", dropout" : "");
}

double learning_rate_of(const Choice& choice) { return choice.adamw ? 1e-3 : 0.05; }

std::vector<std::string> options_of(const Choice& choice, const std::filesystem::path& data) {
  const bool mnist = choice.task == "mnist_rnn";
  std::vector<std::string> options = {"--task",         choice.task,
                                      "--precision",    "fp64",
                                      "--eval",         "false",
                                      "--max-steps",    std::to_string(kMatrixSteps),
                                      "--global-batch", "24",
                                      "--accumulate",   choice.accumulate ? "2" : "1",
                                      "--optimizer",    choice.adamw ? "adamw" : "sgd",
                                      "--momentum",     choice.adamw ? "0" : "0.9",
                                      "--lr",           choice.adamw ? "1e-3" : "0.05",
                                      "--weight-decay", choice.weight_decay ? "0.05" : "0",
                                      "--clip",         choice.clip ? "0.1" : "0",
                                      "--dropout",      !choice.dropout ? "0" : mnist ? "1" : "0.1",
                                      "--timeout",      "60"};
  const std::vector<std::string> of_task =
      mnist ? std::vector<std::string>{"--data", mnist_folder(), "--batch-norm", "false", "--train-share", "0.0108"}
            : std::vector<std::string>{"--model",          "tiny",    "--data",       data / "questions.json", "--vocab",
                                       data / "vocab.txt", "--cache", data / "cache", "--max-length",          "24",
                                       "--doc-stride",     "4"};
  options.insert(options.end(), of_task.begin(), of_task.end());
  return options;
}

void write_questions(const std::filesystem::path& folder) {
  std::ofstream vocabulary(folder / "vocab.txt");
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) vocabulary << special << '\n';
  for (int word = 0; word < kWordsOfVocabulary; ++word) vocabulary << 'w' << word << '\n';
  DrawnWords words;
  nlohmann::json paragraphs = nlohmann::json::array();
  for (int number = 0; number < kQuestions; ++number) {
    const std::string context = words.some(8 + words.draw() % 8);
    const std::size_t begin = context.find(' ') + 1;
    const std::string answer = context.substr(begin, context.find(' ', begin) - begin);
    const nlohmann::json question = {{"id", "q" + std::to_string(number)},
                                     {"question", words.some(2 + words.draw() % 3)},
                                     {"answers", {{{"text", answer}, {"answer_start", begin}}}}};
    paragraphs.push_back({{"context", context}, {"qas", {question}}});
  }
  std::ofstream(folder / "questions.json")
      << nlohmann::json{{"version", "1.1"}, {"data", {{{"title", "t"}, {"paragraphs", paragraphs}}}}}.dump();
}

std::vector<std::string> strategies_of_table() {
  std::vector<std::string> names;
  for (const StrategyRow& row : strategy_rows()) {
    const bool known = std::any_of(strategy_rows().data(), &row, [&](const StrategyRow& r) { return r.make == row.make; });
    if (!known && row.make != make_baseline) names.emplace_back(row.name);
  }
  return names;
}

bool has_several_processes(const std::string& strategy) { return find_strategy(strategy, World{}).several_processes; }

std::vector<std::string> options_of_strategy(const std::string& strategy, int ranks) {
  std::vector<std::string> options = {"--strategy", strategy};
  if (strategy == "baseline") return options;
  if (!has_several_processes(strategy)) {
    options.insert(options.end(), {"--devices", std::to_string(ranks)});
  } else {
    options.insert(options.end(), {"--bucket-cap-mb", "0.0625"});
  }
  return options;
}

}  // namespace hpcbench::train

#include "tasks/bert_squad/score/squad_score.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"
#include "tasks/bert_squad/score/gold_answers.hpp"
#include "tasks/bert_squad/score/normalise.hpp"
#include "tasks/bert_squad/score/predictions.hpp"

namespace hpcbench::train {

namespace {

using AnswerWords = std::vector<std::u32string>;

/// Both must be sorted.
double f1_of_words(const AnswerWords& prediction, const AnswerWords& gold) {
  if (prediction.empty() || gold.empty()) return prediction.empty() && gold.empty() ? 1 : 0;
  AnswerWords common;
  std::set_intersection(prediction.begin(), prediction.end(), gold.begin(), gold.end(), std::back_inserter(common));
  if (common.empty()) return 0;
  const auto same = static_cast<double>(common.size());
  const double precision = same / static_cast<double>(prediction.size());
  const double recall = same / static_cast<double>(gold.size());
  return 2 * precision * recall / (precision + recall);
}

SquadScore::Part part_of(const SquadTally::Sums& sums) {
  if (sums.total == 0) return {};
  const auto total = static_cast<double>(sums.total);
  return {100.0 * sums.exact / total, 100.0 * sums.f1 / total, sums.total};
}

}  // namespace

AnswerScore score_answer(std::string_view prediction, const std::vector<std::string_view>& answers, SquadVersion version) {
  std::vector<AnswerWords> golds;
  for (const std::string_view answer : answers) {
    AnswerWords words = answer_words(answer);
    if (version == SquadVersion::v1 || !words.empty()) golds.push_back(std::move(words));
  }
  if (golds.empty()) golds.emplace_back();
  const AnswerWords words = answer_words(prediction);
  AnswerWords sorted_words = words;
  std::sort(sorted_words.begin(), sorted_words.end());
  AnswerScore best;
  for (AnswerWords& gold : golds) {
    if (gold == words) return {1, 1};
    std::sort(gold.begin(), gold.end());
    best.f1 = std::max(best.f1, f1_of_words(sorted_words, gold));
  }
  return best;
}

void SquadTally::add(const AnswerScore& score, bool has_answer) {
  Sums& sums = of(has_answer);
  sums.exact += score.exact;
  sums.f1 += score.f1;
  ++sums.total;
}

SquadScore SquadTally::score() const {
  const SquadScore::Part all =
      part_of({has_answer_.exact + no_answer_.exact, has_answer_.f1 + no_answer_.f1, has_answer_.total + no_answer_.total});
  SquadScore score{all.exact, all.f1, all.total, std::nullopt, std::nullopt};
  if (has_answer_.total > 0) score.has_answer = part_of(has_answer_);
  if (no_answer_.total > 0) score.no_answer = part_of(no_answer_);
  return score;
}

FileScore score_files(const std::filesystem::path& data, const std::filesystem::path& predictions) {
  const GoldAnswers gold = read_gold_answers(data);
  const auto texts = read_predictions(predictions);
  FileScore result;
  result.version = gold.version_1 ? SquadVersion::v1 : SquadVersion::v2;
  SquadTally tally;
  for (const GoldQuestion& question : gold.questions) {
    const bool has_answer = !question.answers.empty();
    const auto text = texts.find(question.id);
    if (text == texts.end()) {
      result.missing.push_back(question.id);
      if (result.version == SquadVersion::v1) tally.add({}, has_answer);
      continue;
    }
    const std::vector<std::string_view> answers(question.answers.begin(), question.answers.end());
    tally.add(score_answer(text->second, answers, result.version), has_answer);
  }
  const std::size_t known = gold.questions.size() - result.missing.size();
  if (known == 0)
    throw DataError(concat("error: ", predictions.string(), " has no prediction of any question of ", data.string()));
  result.unknown = static_cast<std::int64_t>(texts.size() - known);
  result.score = tally.score();
  return result;
}

}  // namespace hpcbench::train

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

#include "tasks/bert_squad/score/answers.hpp"

namespace hpcbench::train {

namespace {

/// A feature of a question of one token and these context tokens: [CLS] question [SEP] context [SEP], with its logits.
struct MadeFeature {
  std::vector<TokenOffset> offsets;
  std::vector<float> start;
  std::vector<float> end;

  FeatureLogits logits() const {
    FeatureLogits made;
    made.feature.context_begin = 3;
    made.feature.offsets = offsets;
    made.start = start;
    made.end = end;
    return made;
  }
};

/// Tokens of one code point each, [from, from + count) of the context; all logits 0.
MadeFeature make_feature(int from, int count) {
  MadeFeature made;
  made.offsets = {{0, 0}, {0, 4}, {0, 0}};
  for (int i = from; i < from + count; ++i) made.offsets.push_back({i, i + 1});
  made.offsets.push_back({0, 0});
  made.start.assign(made.offsets.size(), 0.0F);
  made.end = made.start;
  return made;
}

std::string answer_of(const std::string& context, const std::vector<MadeFeature>& made, const AnswerOptions& options = {}) {
  Question question;
  question.context = context;
  std::vector<FeatureLogits> features;
  for (const MadeFeature& feature : made) features.push_back(feature.logits());
  return best_answer(question, features, options);
}

AnswerOptions version_2(double threshold = 0) {
  AnswerOptions options;
  options.may_be_empty = true;
  options.null_threshold = threshold;
  return options;
}

/// Returns the result of the published procedure in its original form: whole stable sorts, all candidates in a list that is
/// sorted.
std::string slow_answer(const std::string& context, const std::vector<MadeFeature>& features, const AnswerOptions& options) {
  struct Candidate {
    std::string text;
    float start, end;
  };
  std::vector<Candidate> candidates;
  std::optional<float> null_score;
  const auto sorted = [&](const std::vector<float>& logits) {
    std::vector<int> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return logits[static_cast<std::size_t>(a)] < logits[static_cast<std::size_t>(b)]; });
    std::reverse(order.begin(), order.end());
    if (order.size() > static_cast<std::size_t>(options.n_best)) order.resize(static_cast<std::size_t>(options.n_best));
    return order;
  };
  for (const MadeFeature& feature : features) {
    const float null = feature.start[0] + feature.end[0];
    if (!null_score || *null_score > null) null_score = null;
    const int last = static_cast<int>(feature.offsets.size()) - 1;
    for (const int start : sorted(feature.start)) {
      for (const int end : sorted(feature.end)) {
        if (start < 3 || start >= last || end < 3 || end >= last || end < start) continue;
        if (end - start + 1 > options.max_answer_length) continue;
        const auto from = static_cast<std::size_t>(feature.offsets[static_cast<std::size_t>(start)].begin);
        const auto to = static_cast<std::size_t>(feature.offsets[static_cast<std::size_t>(end)].end);
        candidates.push_back({context.substr(from, to - from), feature.start[static_cast<std::size_t>(start)],
                              feature.end[static_cast<std::size_t>(end)]});
      }
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.start + a.end > b.start + b.end; });
  const Candidate best = candidates.empty() ? Candidate{"empty", 0, 0} : candidates.front();
  if (options.may_be_empty && *null_score - best.start - best.end > static_cast<float>(options.null_threshold)) return "";
  return best.text;
}

}  // namespace

TEST_CASE("the best span is the text between its offsets, counted in code points") {
  MadeFeature feature = make_feature(0, 5);
  feature.start[4] = 2;  // context token 1
  feature.end[6] = 2;    // context token 3
  CHECK(answer_of("a\u00e9\u65e5\U0001f600z", {feature}) == "\u00e9\u65e5\U0001f600");
}

TEST_CASE("spans that begin or end outside of the context, run backwards or are too long are passed over") {
  MadeFeature feature = make_feature(0, 5);
  feature.start[1] = feature.start[2] = feature.start[8] = feature.end[0] = feature.end[1] = feature.end[8] = 100;
  feature.start[6] = 5;  // d
  feature.end[4] = 5;    // b: before d
  feature.end[7] = 3;    // e
  CHECK(answer_of("abcde", {feature}) == "de");
  AnswerOptions short_ones;
  short_ones.max_answer_length = 1;
  CHECK(answer_of("abcde", {feature}, short_ones) == "d");  // 5 + 0, as b alone; d's start comes first
}

TEST_CASE("only the n best starts and ends are considered; without a span the answer is `empty`") {
  MadeFeature feature = make_feature(0, 3);
  feature.start[0] = feature.end[0] = 9;
  AnswerOptions one;
  one.n_best = 1;
  CHECK(answer_of("abc", {feature}, one) == "empty");
  CHECK(answer_of("abc", {}, one) == "empty");
  CHECK(answer_of("abc", {}, version_2()) == "");
}

TEST_CASE("logits of padding take places among the n best and are no answer") {
  MadeFeature feature = make_feature(0, 3);
  feature.start[3] = feature.end[3] = 2;
  AnswerOptions two;
  two.n_best = 2;
  CHECK(answer_of("abc", {feature}, two) == "a");
  feature.start.insert(feature.start.end(), 2, 5.0F);
  feature.end.insert(feature.end.end(), 2, -5.0F);
  CHECK(answer_of("abc", {feature}, two) == "empty");
  two.n_best = 3;
  CHECK(answer_of("abc", {feature}, two) == "a");
}

TEST_CASE("equal scores: later tokens first, then earlier features") {
  // All logits 0: the last start and the last end of the context come first, in the first feature.
  CHECK(answer_of("abcdef", {make_feature(0, 3), make_feature(3, 3)}) == "c");
}

TEST_CASE("SQuAD 2.0: empty if the least null score of the features beats the best span by more than the threshold") {
  MadeFeature first = make_feature(0, 3);
  MadeFeature second = make_feature(2, 3);
  first.start[3] = first.end[3] = 2;                               // "a": 4
  first.start[0] = first.end[0] = 5;                               // null: 10
  second.start[0] = 4;                                             // null: 4, the least
  CHECK(answer_of("abcde", {first, second}, version_2()) == "a");  // 4 - 4 is not above 0
  CHECK(answer_of("abcde", {first, second}, version_2(-0.5)) == "");
  second.start[0] = 4.5;
  CHECK(answer_of("abcde", {first, second}, version_2()) == "");
  CHECK(answer_of("abcde", {first, second}, version_2(0.5)) == "a");
  CHECK(answer_of("abcde", {first, second}) == "a");  // 1.1 knows no empty answer
}

TEST_CASE("logits that are no numbers end in some answer") {
  MadeFeature feature = make_feature(0, 3);
  std::fill(feature.start.begin(), feature.start.end(), std::numeric_limits<float>::quiet_NaN());
  const std::string answer = answer_of("abc", {feature});
  CHECK(answer.size() <= 5);
}

TEST_CASE("the best answer is the one of the procedure as published") {
  CHECK(rc::check("random logits, with and without ties", [](std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
    const std::string context = "abcdefghijklmnopqrstuvwxyz";
    std::vector<MadeFeature> features;
    const bool ties = up_to(1) == 1;
    for (int i = 0; i <= up_to(2); ++i) {
      const int from = up_to(20);
      MadeFeature feature = make_feature(from, 1 + up_to(25 - from));
      std::normal_distribution<float> normal(0, 2);
      for (std::vector<float>* logits : {&feature.start, &feature.end})
        for (float& logit : *logits) logit = ties ? std::round(normal(random)) : normal(random);
      features.push_back(feature);
    }
    AnswerOptions options = up_to(1) == 1 ? version_2(up_to(2) - 1) : AnswerOptions();
    options.n_best = 1 + up_to(19);
    options.max_answer_length = 1 + up_to(9);
    RC_ASSERT(answer_of(context, features, options) == slow_answer(context, features, options));
  }));
}

}  // namespace hpcbench::train

#include "tasks/bert_squad/score/answers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace hpcbench::train {

namespace {

/// A span of one feature; scores are sums in single precision, as in run_qa.
struct AnswerSpan {
  TokenOffset place;  // begin of its first and end of its last token
  float start = 0;
  float end = 0;
  float score() const { return start + end; }
};

/// Returns the tokens with the largest logits, largest first; of equal ones the later first, like a reversed stable sort.
/// Logits that are not numbers come before all others, as in NumPy.
std::vector<int> largest_logits(std::span<const float> logits, int count) {
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](int a, int b) {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    if (std::isnan(x) != std::isnan(y)) return std::isnan(x);
    if (!std::isnan(x) && x != y) return x > y;
    return a > b;
  };
  const std::size_t kept = std::min(order.size(), static_cast<std::size_t>(std::max(count, 0)));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(), before);
  order.resize(kept);
  return order;
}

/// Returns whether the token is part of the context; the last token is the second [SEP].
bool is_of_context(const Feature& feature, int token) {
  return token >= feature.context_begin && static_cast<std::size_t>(token) + 1 < feature.offsets.size();
}

/// Returns the best span of all features that is an answer: of equal ones the first in the order of features, starts and ends.
/// Empty ones count only if `empty_counts`.
std::optional<AnswerSpan> best_span(std::span<const FeatureLogits> features, const AnswerOptions& options, bool empty_counts) {
  std::optional<AnswerSpan> best;
  for (const FeatureLogits& logits : features) {
    const Feature& feature = logits.feature;
    const std::vector<int> ends = largest_logits(logits.end, options.n_best);
    for (const int start : largest_logits(logits.start, options.n_best)) {
      if (!is_of_context(feature, start)) continue;
      for (const int end : ends) {
        if (!is_of_context(feature, end) || end < start || end - start + 1 > options.max_answer_length) continue;
        const auto first = static_cast<std::size_t>(start);
        const auto last = static_cast<std::size_t>(end);
        const AnswerSpan span{{feature.offsets[first].begin, feature.offsets[last].end}, logits.start[first], logits.end[last]};
        if (!empty_counts && span.place.begin >= span.place.end) continue;
        if (!best || span.score() > best->score()) best = span;
      }
    }
  }
  return best;
}

/// Returns the code points [begin, end) of a text in UTF-8.
std::string_view code_points_between(std::string_view text, TokenOffset place) {
  const auto byte_of = [&](std::size_t from, std::int32_t points) {
    while (points > 0 && from < text.size()) {
      ++from;
      while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
      --points;
    }
    return from;
  };
  const std::size_t begin = byte_of(0, place.begin);
  return text.substr(begin, byte_of(begin, place.end - place.begin) - begin);
}

float least_null_score(std::span<const FeatureLogits> features) {
  float least = features.front().start[0] + features.front().end[0];
  for (const FeatureLogits& logits : features.subspan(1)) {
    const float score = logits.start[0] + logits.end[0];
    if (least > score) least = score;
  }
  return least;
}

constexpr const char* kNoAnswerFound = "empty";  // run_qa's answer if there is no span at all

}  // namespace

std::string best_answer(const Question& question, std::span<const FeatureLogits> features, const AnswerOptions& options) {
  if (features.empty()) return options.may_be_empty ? "" : kNoAnswerFound;
  const std::optional<AnswerSpan> span = best_span(features, options, !options.may_be_empty);
  if (options.may_be_empty) {
    const float null_score = least_null_score(features);
    const float difference = null_score - (span ? span->start : 0.0F) - (span ? span->end : 0.0F);
    if (difference > static_cast<float>(options.null_threshold)) return "";
  }
  return span ? std::string(code_points_between(question.context, span->place)) : kNoAnswerFound;
}

}  // namespace hpcbench::train

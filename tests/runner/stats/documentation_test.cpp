#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <functional>
#include <map>

#include "base/files.hpp"
#include "base/text.hpp"
#include "stats/equivalence.hpp"
#include "stats/fits.hpp"
#include "stats/looks.hpp"
#include "stats/null_distribution.hpp"
#include "stats/stats.hpp"

using namespace hpcbench;

// The worked examples of docs/statistics.md, and those of tests/golden/stats/examples.txt, in the same form. `rounded`
// is checked by tests/runner/report, which knows digits.

namespace {

std::string number_text(double value) { return fmt::format("{:.10g}", value); }

std::string interval_text(const std::optional<Interval>& interval) {
  if (!interval) return "- - -";
  return number_text(interval->low) + " " + number_text(interval->high) + " " + number_text(interval->coverage);
}

std::string rank_text(const std::optional<CriticalRank>& rank) {
  return rank ? fmt::format("{} {}", rank->k, number_text(rank->coverage)) : "-";
}

std::string ratio_text(const std::optional<Ratio>& ratio) {
  return ratio ? number_text(ratio->value) + " " + interval_text(ratio->interval) : "-";
}

struct ExampleArguments {
  std::vector<double> left, right;  // around `/`
};

ExampleArguments read_arguments(const std::vector<std::string>& words) {
  ExampleArguments arguments;
  auto* side = &arguments.left;
  for (const std::string& word : words) {
    if (word == "/") {
      side = &arguments.right;
    } else {
      side->push_back(std::strtod(word.c_str(), nullptr));
    }
  }
  return arguments;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string& word : split(trim(text), ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

/// Takes the first argument away: the confidence, the level alpha.
double take_first(std::vector<double>& values) {
  const double first = values.at(0);
  values.erase(values.begin());
  return first;
}

std::string summary_text(const std::vector<double>& values) {
  const Summary of = *summarise(values, 0.95);
  return fmt::format("median {} q1 {} q3 {} min {} max {}", number_text(of.median), number_text(of.q1), number_text(of.q3),
                     number_text(of.min), number_text(of.max));
}

std::string join_flags(const std::vector<bool>& flags) {
  std::vector<std::string> words;
  for (const bool flag : flags) words.emplace_back(flag ? "yes" : "no");
  return join(words, " ");
}

std::string outlier_text(const std::vector<double>& values) {
  std::vector<std::string> words;
  for (const std::size_t i : outliers(values)) words.push_back(fmt::format("{}", i));
  return words.empty() ? "-" : join(words, " ");
}

int whole(double value) { return static_cast<int>(value); }
std::vector<int> wholes(const std::vector<double>& values) {
  std::vector<int> numbers;
  for (const double value : values) numbers.push_back(whole(value));
  return numbers;
}

std::string numbers_text(const std::vector<double>& values) {
  std::vector<std::string> words;
  for (const double value : values) words.push_back(number_text(value));
  return join(words, " ");
}

/// `gpus ... / speedups ...` => s, root mean square residual.
std::string fit_text(const ExampleArguments& of, std::optional<ScalingFit> (*fit)(const std::vector<ScalingPoint>&)) {
  std::vector<ScalingPoint> points;
  for (std::size_t i = 0; i < of.left.size(); ++i) points.push_back({whole(of.left[i]), of.right.at(i)});
  const auto result = fit(points);
  return result ? number_text(result->serial_fraction) + " " + number_text(result->residual_rms) : "-";
}

using Example = std::function<std::string(ExampleArguments)>;
const std::map<std::string, Example> kExamples = {
    {"summary", [](ExampleArguments a) { return summary_text(a.left); }},
    {"median-rank", [](ExampleArguments a) { return rank_text(median_critical_rank(whole(a.left[1]), a.left[0])); }},
    {"rank-sum-rank",
     [](ExampleArguments a) { return rank_text(rank_sum_critical_rank(whole(a.left[1]), whole(a.left[2]), a.left[0])); }},
    {"signed-rank-rank", [](ExampleArguments a) { return rank_text(signed_rank_critical_rank(whole(a.left[1]), a.left[0])); }},
    {"look-level",
     [](ExampleArguments a) {
       const LookLevel level = look_level(wholes(a.right), a.left[0]);
       return fmt::format("{:.4g} {:.4g}", level.z, level.level);
     }},
    {"median-look-ranks",
     [](ExampleArguments a) { return fmt::format("{}", fmt::join(median_look_ranks(wholes(a.right), a.left[0]), " ")); }},
    {"rank-sum-look-rank",
     [](ExampleArguments a) {
       return rank_text(rank_sum_rank(whole(a.left[1]), whole(a.left[2]), Confidence(a.left[0], wholes(a.right))));
     }},
    {"signed-rank-look-rank",
     [](ExampleArguments a) { return rank_text(signed_rank_rank(whole(a.left[1]), Confidence(a.left[0], wholes(a.right)))); }},
    {"median-interval",
     [](ExampleArguments a) {
       const double confidence = take_first(a.left);
       return interval_text(summarise(a.left, confidence)->interval);
     }},
    {"speedup",
     [](ExampleArguments a) {
       const double confidence = take_first(a.left);
       return ratio_text(speedup(a.left, a.right, confidence));
     }},
    {"paired-speedup",
     [](ExampleArguments a) {
       const double confidence = take_first(a.left);
       return ratio_text(paired_speedup(a.left, a.right, confidence));
     }},
    {"p-value", [](ExampleArguments a) { return number_text(rank_sum_p_value(a.left, a.right)); }},
    {"holm",
     [](ExampleArguments a) {
       const double alpha = take_first(a.left);
       return join_flags(holm(a.left, alpha));
     }},
    {"efficiency", [](ExampleArguments a) { return number_text(efficiency(a.left[0], whole(a.left[1]), whole(a.left[2]))); }},
    {"karp-flatt",
     [](ExampleArguments a) {
       const auto fraction = karp_flatt(a.left[0], whole(a.left[1]), whole(a.left[2]));
       return fraction ? number_text(*fraction) : "-";
     }},
    {"amdahl", [](ExampleArguments a) { return fit_text(a, fit_amdahl); }},
    {"gustafson", [](ExampleArguments a) { return fit_text(a, fit_gustafson); }},
    {"slower-p-value",
     [](ExampleArguments a) {
       const double threshold = take_first(a.left);
       return number_text(larger_p_value(a.left, a.right, 1 + threshold));
     }},
    {"equivalence-p-value",
     [](ExampleArguments a) {
       const double margin = take_first(a.left);
       return number_text(equivalence_p_value(a.left, a.right, margin));
     }},
    {"holm-adjusted", [](ExampleArguments a) { return numbers_text(holm_adjusted(a.left)); }},
    {"outliers", [](ExampleArguments a) { return outlier_text(a.left); }},
};

/// Numbers to ten digits, words as they are.
std::string normal_form(const std::string& result) {
  std::vector<std::string> words;
  for (const std::string& word : words_of(result)) {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    words.push_back(*end == '\0' ? number_text(value) : word);
  }
  return join(words, " ");
}

void check_example(const std::string& line) {
  CAPTURE(line);
  const std::size_t arrow = line.find("=>");
  REQUIRE(arrow != std::string::npos);
  std::vector<std::string> words = words_of(line.substr(0, arrow));
  const auto example = kExamples.find(words.at(0));
  REQUIRE(example != kExamples.end());
  words.erase(words.begin());
  CHECK(example->second(read_arguments(words)) == normal_form(line.substr(arrow + 2)));
}

}  // namespace

TEST_CASE("the worked examples of docs/statistics.md hold") {
  bool inside = false;
  int checked = 0;
  for (const std::string& line : split(read_file(std::string(HPCBENCH_SOURCE_DIR) + "/docs/statistics.md"), '\n')) {
    if (line.starts_with("```")) {
      inside = line == "```example";
      continue;
    }
    if (!inside || line.starts_with("rounded ")) continue;
    check_example(line);
    ++checked;
  }
  CHECK(checked >= 9);
}

TEST_CASE("further worked examples hold") {
  int checked = 0;
  for (const std::string& line :
       split(read_file(std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/stats/examples.txt"), '\n')) {
    if (line.empty()) continue;
    check_example(line);
    ++checked;
  }
  CHECK(checked >= 30);
}

#include "words/did_you_mean.hpp"

#include <algorithm>

namespace hpcbench {

namespace {

/// Returns the number of insertions, deletions, replacements and swaps of neighbours ("optimal string alignment").
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestName = 100;  // a longer text is no misspelt name, and the time grows with its length squared
  std::optional<std::string> best;
  if (word.size() > kLongestName) return best;
  std::size_t best_distance = std::max<std::size_t>(1, std::min<std::size_t>(2, word.size() / 3)) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const std::size_t distance = edit_distance(word, candidate);
    // A long prefix matches as well: `gpus_per` for `gpus_per_node`, `env` for `environment`.
    const bool prefix = word.size() >= 3 && candidate.starts_with(word);
    if (distance < best_distance || (prefix && !best)) {
      best = candidate;
      best_distance = std::min(distance, best_distance);
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::optional<std::string> near = nearest(word, candidates);
  return near ? " (did you mean `" + *near + "`?)" : "";
}

}  // namespace hpcbench

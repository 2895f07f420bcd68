#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/metric.hpp"

namespace hpcbench {

/// What a first pass over a file learns of one of its numbers; only ranks proposals, their values are the reader's.
struct Occurrences {
  long long count = 0;
  long long first_line = 0, last_line = 0;
  double first = 0, last = 0, least = 0, most = 0;
  bool has_decimals = false;
  bool never_falls = true;

  void add(double value, long long line, bool decimals);
  bool is_constant() const { return least == most; }
  /// Whole numbers that only grow: steps, sizes, time stamps.
  bool is_counter() const { return count > 1 && !has_decimals && never_falls && !is_constant(); }
};

/// A number with the metrics that may read it: the reader's count decides, the first form that finds all occurrences wins.
struct Candidate {
  std::vector<Metric> forms;
  Occurrences seen;
  bool is_labelled = true;
};

/// How likely a number is what a person wants to measure; `lines` are those of the file.
double score_of(const Metric& metric, const Occurrences& seen, bool is_labelled, long long lines);

/// Which value counts, by the name and what repeats: the last loss, the median step time without the first.
void choose_take(Metric& metric, const Occurrences& seen);

/// Distinct names: a second `time_s` becomes `time_s_2`.
std::string unused_name(const std::string& name, std::map<std::string, int>& used);

}  // namespace hpcbench

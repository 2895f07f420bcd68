#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scan/candidate.hpp"

namespace hpcbench {

/// The blanks at one place of a number's lines.
struct Blanks {
  std::size_t least = 1000, most = 0;
  bool has_tab = false;
  void add(std::string_view blanks);
  std::string pattern() const;
};

/// A number of a text by its label, its unit or its column, with all that its occurrences have in common.
struct TextNumber {
  enum class Kind { label, unit, cell, plain };  // `plain`: a column without a word above it
  Kind kind = Kind::label;
  std::string row_key, label, mark, unit_text, right;  // `mark`: `:` or `=` behind the label
  Blanks indent, before_mark, behind_mark, gap, behind_unit;
  std::string quotes;      // that stand before some of its values
  bool is_quoted = true;   // all of them
  std::string before;      // the boundary before the label
  bool is_ranked = false;  // its lines begin with a rank
  bool begins_line = true, has_one_before = true, ends_token = true, is_duration = false, has_comma = false;
  std::map<std::string, long long> units;
  Occurrences seen;
  std::string index, index_pattern;  // what numbers its line, and how it is found
  bool is_index_first = true;
  long long indexed = 0;
  bool has_unknown = false;         // -100 %, which programs print for "not known"
  std::vector<std::string> header;  // of a cell
  std::size_t column = 0;
  bool has_row_label = false, has_index = false;
  std::set<std::string> row_labels;

  /// Takes in the occurrences under another row key.
  void merge(const TextNumber& other);
};

/// The metrics that may read it. `needs_key`: several rows have the label, `LOOP:` and `LOOP+:`, and the row's key tells them
/// apart.
Candidate candidate_of(const TextNumber& number, bool needs_key);

}  // namespace hpcbench

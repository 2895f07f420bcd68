#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_text.hpp"
#include "scan/candidate.hpp"

namespace hpcbench {

/// Finds numbers in JSON: a document, JSON lines, or, below a `header`, JSON in the text of a log.
class JsonScan {
 public:
  explicit JsonScan(bool is_log) : is_log_(is_log) {}
  /// Whole lines. Of more than 64 MiB nothing is found.
  void feed(std::string_view piece);
  std::vector<Candidate> finish();
  long long lines() const { return lines_; }
  /// In a log: the lines that hold JSON, from 1; 0 where there are none.
  long long first_line() const { return first_line_; }
  long long last_line() const { return last_line_; }

 private:
  struct Number {
    std::string pointer, name;
    std::string index, series;
    std::string choice, choice_value;  // a member that tells values of one pointer apart, for `where`
    std::string unit_member, unit;
    bool is_duration = false;
    Occurrences seen;
  };
  struct Step {
    std::string token;          // `*` for elements, and members that are named by numbers
    const JsonMembers* object;  // null for an array
    bool is_numbered = false;
  };

  void walk_lines();
  void walk(std::string_view value);
  void take(std::string_view value);
  void describe(Number& number) const;

  bool is_log_;
  bool is_too_large_ = false;
  std::string text_;
  long long lines_ = 0, first_line_ = 0, last_line_ = 0;
  std::vector<Step> path_;
  std::map<std::string, Number> numbers_;
};

}  // namespace hpcbench

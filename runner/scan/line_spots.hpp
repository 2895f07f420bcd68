#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace hpcbench {

/// A number of a line with the text that may name it. Views are of the line.
struct Spot {
  std::size_t begin = 0, end = 0;  // of the number; a duration is one number
  std::string_view label;          // left of it: `loss`, `'eval_loss'`, `Mean TTFT (ms)`; empty without one
  std::string_view separator;      // between label and number: `: `, `=`, blanks
  std::string_view before;         // the boundary before the label: `, `, `| `; empty at the beginning of the line
  std::string_view row_key;        // `LOOP+` of `LOOP+:  cpu time  8.01: real time  8.02`; empty without one
  std::string_view gap;            // blanks between number and unit
  std::string_view unit;           // behind it: `ms`, `%`, `tokens/s`
  std::string_view right;          // words behind number and unit: `CPUs utilized`
  bool is_keyed = false;           // a colon or equals sign ends the label
  bool is_duration = false;        // `3m41.08s`, `0:41:17`
  bool is_of_total = false;        // `30/120`
};

/// The numbers of a line that is shown as terminals do; at most 64. Dates, versions, addresses, hexadecimal numbers, digits
/// within words and progress bars are none.
std::vector<Spot> find_spots(std::string_view line);

/// A line cut at runs of at least two blanks or tabs, or, with `at_each_blank`, of one.
std::vector<std::string_view> aligned_cells(std::string_view line, bool at_each_blank);

/// Whether all of a cell is a number, with a unit or not.
bool is_number_cell(std::string_view cell);

}  // namespace hpcbench

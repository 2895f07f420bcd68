#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.hpp"
#include "base/value.hpp"
#include "base/written_number.hpp"

namespace hpcbench {

/// Which of two values is the better one.
enum class Better { lower, higher };
std::string to_string(Better better);

/// The direction and kind of a metric, from `better`, its unit or its name (docs/statistics.md, "Times and rates").
struct MetricKind {
  std::optional<Better> better;  // absent: unknown, so the metric has no speedup
  bool scales = false;           // a time or a rate: it has efficiency, Karp-Flatt and fits
  bool counts_work = false;      // tokens/s grows with the size under weak scaling; s and it/s do not
  std::string per = {};          // `gpus`: each value is of one GPU (rank, node, core); empty: of the whole run
};
/// Returns the kind of a metric. `declared`, the metric's own `better`, wins.
MetricKind kind_of_metric(const std::string& name, const std::string& unit, std::optional<Better> declared);

/// Returns the unit in a metric's name: `tokens/s` for tokens_per_s, `ms` for step_ms; empty if it holds none.
std::string unit_in_name(const std::string& name);

/// How to measure a program that writes no events (docs/sources.md).
struct Metric {
  std::string name;
  std::string file;                        // glob, relative to the attempt's folder, then to the working directory
  std::string selector;                    // the value of the source's key: a pattern, a column, a pointer ...
  std::string unit = {};                   // `s`, `bytes` ...; empty if not given
  std::optional<std::string> series = {};  // `epoch`, `step`: keep all values; absent: one value
  std::string source = "pattern";          // one of metric_source_keys(), or `formula`
  std::string index = {};                  // column, member or group that names or numbers the points; empty: numbered from 1
  std::string take = "last";               // which of several values of one run counts (base/take.hpp)
  long long skip = 0;                      // the first values that `take` leaves out
  // Of `column` and `pointer`: the line of the heading, or where JSON begins; the lines above are no data.
  std::string header = {};    // the first line that this pattern matches; empty: not given
  long long header_line = 0;  // or this one, from 1; 0: not given
  // For `column` and `pointer`: required values of other cells of the row, or of members of the innermost object.
  Condition where = {};
  DecimalMark decimal = DecimalMark::unknown;  // of the numbers in its files; unknown: not declared
  std::vector<std::string> context = {};       // patterns of earlier lines whose groups `index` may name
  std::string rank = {};                       // pattern of lines: its group is the rank that a line is of; empty: not given
  std::vector<std::string> absent = {};        // numbers (by value) and texts that are no values: `0`, `nan`
  // How values compare; no part of the rules by which files are read.
  std::optional<Better> better = {};  // absent: by the unit, else by the name

  /// Returns whether the metric is computed from others when a run is read: `selector` is its expression, no file is read.
  bool is_formula() const { return source == "formula"; }
  bool has_header() const { return header_line > 0 || !header.empty(); }
};

/// Returns whether a name is a condition of `compare --fail-if`: a metric of such a name is ambiguous there.
bool is_gate_word(std::string_view name);

/// Returns whether a cell, or a scalar of JSON as text, is one of the values: numbers by value, all else by text.
bool is_one_of(std::string_view cell, const std::vector<Value>& values);

/// Returns `where` as a message prints it: `cat is kernel or memcpy, pid is 0`.
std::string describe_where(const Condition& where);

/// Returns the keys of which a metric has exactly one: `pattern`, `column`, `pointer`, `tag`, `time`, `accounting`.
const std::vector<std::string>& metric_source_keys();

/// Writes the metric as run.json and reading.json hold it. Keys with default values are left out, so that rules of files
/// without them keep their hash. `series` is its name, or, where only the rule matters, whether it has one.
void write_metric(JsonWriter& json, const Metric& metric, bool names_series);

/// The names beside metrics and axes in the formulas and requirements of `success` of one work: the parameters with their
/// values, and the derived values with their expressions, in order of dependency.
struct FormulaNames {
  Bindings parameters;
  std::vector<std::pair<std::string, std::string>> derived;

  bool empty() const { return parameters.empty() && derived.empty(); }
};
void write_json(JsonWriter& json, const FormulaNames& names);

}  // namespace hpcbench

#pragma once

#include <string>
#include <string_view>

namespace hpcbench {

/// A label as programs print it, taken apart.
struct LabelParts {
  std::string name;  // a metric's name, without its unit: `benchmark_duration`
  std::string unit;  // of brackets, `(ms)`, `[s]`, or known for the word: `tps`; empty without one
};

/// `Benchmark duration (s)` is benchmark_duration in s; `tps` is tokens in tokens/s; `t[usec]`, `CurrSamplesPerSec`,
/// `'eval_loss'`.
LabelParts parse_label(std::string_view label);

/// `s` for `seconds`, `kB` for `kbytes`; other units as they are.
std::string plain_unit(const std::string& unit);

/// The name with its unit behind, unless it ends with it: `mfu` in `%` is mfu_percent. Never empty, always an identifier.
std::string metric_name(const std::string& name, const std::string& unit);

/// Whether a word could be a unit behind a number: a known one, `%`, or a quotient with a known part such as `req/s`.
bool is_unit_text(std::string_view word);

/// `step` or `epoch` if a name is that of what numbers a series; `size` for sizes of messages and problems; empty for others.
std::string index_name(std::string_view name);

}  // namespace hpcbench

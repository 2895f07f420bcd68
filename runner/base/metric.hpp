#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// How a program that writes no events is measured (docs/sources.md).
struct Metric {
  std::string name;
  std::string file;                        // glob, relative to the attempt's folder, then to the working directory
  std::string selector;                    // what `source` is told: a pattern, a column, a pointer ...
  std::string unit = {};                   // `s`, `bytes` ...; empty if not said
  std::optional<std::string> series = {};  // `epoch`, `step`: keep all values; absent: one value
  std::string source = "pattern";          // one of metric_source_keys(), or `formula`
  std::string index = {};                  // what numbers the series, of `column` and `pointer`; empty: numbered from 1
  std::string take = "last";               // which of several values of one run counts (base/take.hpp)
  long long skip = 0;                      // the first values that `take` leaves out

  /// Computed from other metrics when a run is read: `selector` is its expression, and no file is read.
  bool is_formula() const { return source == "formula"; }
};

/// `pattern`, `column`, `pointer`, `tag`, `time`, `accounting`: the keys of which a metric has exactly one.
const std::vector<std::string>& metric_source_keys();

/// A point of a series: the n-th epoch's `train_loss`, for example.
struct SeriesPoint {
  std::string name;  // `train_loss`, `val_loss`, `epoch_s` ...
  long long index = 0;
  double value = 0;
};

}  // namespace hpcbench

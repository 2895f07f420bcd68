#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/metric.hpp"
#include "ingest/metric_reader.hpp"

namespace hpcbench {

/// A number of a file that could be a metric.
struct Proposal {
  std::string file;  // the scanned one, as `file` of the metric names it at first
  Metric metric;
  MetricMatches read;  // what the metric's own reader finds in that file
  double score = 0;    // higher: more likely to be wanted

  /// The unit of the values; empty if unknown.
  const std::string& unit() const { return metric.unit.empty() ? read.unit : metric.unit; }
};

/// The numbers of one file, the most likely first.
struct Scan {
  std::string file;
  std::vector<Proposal> proposals;
  long long left_out = 0;             // numbers beyond the limit
  std::vector<std::string> warnings;  // why the file could not be read to its end
};

/// Reads a file once for its form, and once for each proposal: `.csv` and `.tsv` by columns, `.json` and `.jsonl` by pointers,
/// all other text by patterns, JSON below a preamble by pointers, too. Total, in bounded memory: it keeps 4,096 numbers by
/// their labels, and reads the first 4 KiB of a line. `name` is that of the file in metrics and messages.
Scan scan_file(const std::string& path, const std::string& name, std::size_t limit);
/// The same for a text.
Scan scan_text(std::string_view text, const std::string& name, std::size_t limit);

}  // namespace hpcbench

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/metric.hpp"
#include "ingest/metric_reader.hpp"

namespace hpcbench {

/// Places in a piece of text: how many line ends stand before them.
struct ScannedPiece {
  std::optional<long long> last_chosen;       // the match that `take` chooses so far
  std::optional<long long> first_not_finite;  // the metric's first NaN or infinity
  std::optional<long long> first_not_number;  // likewise
  std::optional<long long> first_back;        // the first index that is below the one before
};

/// Searches text as terminals show it (terminal_text.hpp) for a metric's pattern: RE2 (linear time, whatever the pattern),
/// bytes as Latin-1 (logs are not always UTF-8), `^` and `$` at every line, and no match longer than a line. The number is the
/// group named like the metric, else the first group that is neither `index` nor `unit`, else the whole match.
class MetricScanner {
 public:
  explicit MetricScanner(const Metric& spec);
  ~MetricScanner();
  MetricScanner(const MetricScanner&) = delete;
  MetricScanner& operator=(const MetricScanner&) = delete;

  /// Why the pattern cannot be used, or nothing.
  std::optional<std::string> error() const;
  void begin_file(NumberReader::FindMark find_mark);
  /// Whole lines, or a piece of a very long one. A line that the pattern matches only with `nan`, `inf` or `infinity` in place
  /// of the number's group counts as a value that is not finite.
  ScannedPiece feed(std::string_view text);
  MetricMatches finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The same for one text.
MetricMatches scan_metric(std::string_view text, const Metric& spec);

/// Whether a pattern is found in a file, read piece by piece; absent if it is no pattern. A missing file holds nothing.
std::optional<bool> file_holds(const std::string& path, const std::string& pattern);

/// Files that a glob means: relative to `folder`, if there are none there relative to `workdir` (may be empty); sorted by
/// bytes.
std::vector<std::string> expand_glob(const std::string& pattern, const std::string& folder, const std::string& workdir);

}  // namespace hpcbench

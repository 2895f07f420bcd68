#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/metric.hpp"
#include "ingest/metric_reader.hpp"

namespace hpcbench {

/// What a piece of text held, as offsets in it.
struct ScannedPiece {
  std::optional<std::size_t> last_chosen;       // the match that `take` chooses so far
  std::optional<std::size_t> first_not_finite;  // the first NaN or infinity
};

/// Searches text for a metric's pattern: RE2 (linear time, whatever the pattern), bytes as Latin-1 (logs are not always UTF-8),
/// `^` and `$` at every line, and no match longer than a line. The number is the group named like the metric, else group 1,
/// else the whole match; it must be a number and nothing else. The group named like `index` numbers the series, and is no
/// group 1.
class MetricScanner {
 public:
  explicit MetricScanner(const Metric& spec);
  ~MetricScanner();
  MetricScanner(const MetricScanner&) = delete;
  MetricScanner& operator=(const MetricScanner&) = delete;

  /// Why the pattern cannot be used, or nothing.
  std::optional<std::string> error() const;
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

/// NaN or an infinity, as C, Python, JavaScript and Fortran print them: `nan`, `-inf`, `Infinity`.
bool is_not_finite(std::string_view text);

/// A number and nothing else: `12`, `-0.5`, `+1e-3`, `1.5D+03`, `1,541,366`, `1,104.65`, `1_000`; not ` 1`, `nan`, `1e999`, and
/// not `1,000`, which is one in some languages and a thousand in others.
std::optional<double> parse_metric_number(std::string_view text);

/// The text that was captured from `begin` to `end`; the whole of `1,541,366`, `0,31` or `1.2e-5` where only the digits
/// before the first separator or the exponent were captured.
std::string_view whole_number(std::string_view text, std::size_t begin, std::size_t end);

/// Files that a glob means: relative to `folder`, if there are none there relative to `workdir` (may be empty); sorted by
/// bytes.
std::vector<std::string> expand_glob(const std::string& pattern, const std::string& folder, const std::string& workdir);

}  // namespace hpcbench

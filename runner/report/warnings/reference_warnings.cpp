#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/looks.hpp"
#include "report/warnings/warnings.hpp"

namespace hpcbench {
namespace {

/// The allowed range of a row's values.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  explicit Bounds(const MetricReference& reference) {
    if (reference.low) low = reference.value * (1 + *reference.low);
    if (reference.high) high = reference.value * (1 + *reference.high);
  }
};

std::string describe(const Bounds& bounds) {
  if (std::isinf(bounds.low)) return fmt::format("at most {:.6g}", bounds.high);
  if (std::isinf(bounds.high)) return fmt::format("at least {:.6g}", bounds.low);
  return fmt::format("{:.6g} to {:.6g}", bounds.low, bounds.high);
}

/// Compares a row with one reference: by the interval of its median, or by the range of its runs if these are too few for one.
class MeasuredRange {
 public:
  MeasuredRange(const Sample& sample, std::string metric, const Confidence& confidence)
      : metric_(std::move(metric)), summary_(summarise_metric(sample, metric_, confidence)) {}

  bool has_value() const { return summary_.has_value(); }
  /// A row misses the bounds only if no value that the runs leave possible is allowed.
  bool misses(const Bounds& bounds) const {
    // 15 % above 100 is 114.99999999999999: a value at that rounding distance lies on the bound.
    const auto slack = [](double bound) { return kRatioRounding * std::abs(bound); };
    return high() < bounds.low - slack(bounds.low) || low() > bounds.high + slack(bounds.high);
  }

  std::string describe() const {
    if (summary_->n == 1) return fmt::format("{} is {:.6g} in its only run", metric_, summary_->median);
    const std::string ends = fmt::format("[{:.6g}, {:.6g}]", low(), high());
    if (!summary_->interval) return fmt::format("{} is in {} in {} runs, too few for an interval", metric_, ends, summary_->n);
    return fmt::format("{} is {:.6g} {} {:.1f} %", metric_, summary_->median, ends, 100 * summary_->interval->coverage);
  }

 private:
  double low() const { return summary_->interval ? summary_->interval->low : summary_->min; }
  double high() const { return summary_->interval ? summary_->interval->high : summary_->max; }

  std::string metric_;
  std::optional<Summary> summary_;
};

/// Returns the reference's name without the file's folder, so that a report is the same from an archive and for any name of the
/// file.
std::string name_of(const MetricReference& reference) {
  const std::filesystem::path file = reference.place.file;
  return fmt::format("the reference in line {} of {}", reference.place.line, file.filename().string());
}

bool has_success(const Sample& sample) {
  return std::any_of(sample.runs.begin(), sample.runs.end(),
                     [](const AttemptRecord* run) { return run->state == State::succeeded; });
}

}  // namespace

void warn_reference(const WarningContext& context, Warnings& found) {
  const std::vector<MetricReference>& references = context.experiment.report.references;
  Sightings missed(context), without_value(context);
  for (std::size_t i = 0; i < references.size(); ++i) {
    const MetricReference& reference = references[i];
    // not --metric: `value` refers to the file's own
    const std::string metric = reference.metric.value_or(context.experiment.report_metric());
    for (const Sample* sample : context.shown) {
      const auto index = static_cast<std::size_t>(sample - context.samples.data());
      if (!std::binary_search(context.references[i].begin(), context.references[i].end(), index)) continue;
      const MeasuredRange range(*sample, metric, confidence_of(context.experiment.report));
      const auto label = [&] { return row_label(context.columns, sample->row); };
      if (!range.has_value()) {
        if (has_success(*sample)) without_value.add(sample->row, [&] { return fmt::format("{}: no {}", label(), metric); });
      } else if (const Bounds bounds(reference); range.misses(bounds)) {
        missed.add(sample->row, [&] {
          return fmt::format("{}: {}, and {} allows {}", label(), range.describe(), name_of(reference), describe(bounds));
        });
      }
    }
    if (context.references[i].empty()) {
      found.push_back({"reference-unmatched",
                       {},
                       fmt::format("{} matches no configuration", name_of(reference)),
                       "nothing was judged by it under this profile or --set",
                       "report the whole study, or give the profile `report.references` of its own"});
    }
  }
  missed.report("reference-missed", "the row lies outside of what `report.references` allows",
                same_advice("find out what changed since the reference was taken, or correct the reference"), found);
  without_value.report("reference-no-value", "what was not measured cannot be judged by a reference",
                       same_advice("correct `metric` of the reference, or see why the runs have no value of it"), found);
}

}  // namespace hpcbench

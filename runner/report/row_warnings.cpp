#include <fmt/format.h>

#include "base/text.hpp"
#include "report/warnings.hpp"

namespace hpcbench {
namespace {

std::string describe_failures(const Row& row) {
  std::vector<std::string> parts;
  for (const auto& [state, count] : row.outcomes) {
    if (is_outcome(state) && state != State::succeeded) parts.push_back(fmt::format("{} {}", count, to_string(state)));
  }
  return join(parts, ", ");
}

}  // namespace

void warn_outlier(const WarningContext& context, Warnings& found) {
  Sightings rows;
  for (const Sample* sample : context.shown) {
    std::vector<std::string> far;
    for (const std::size_t i : outliers(sample->values)) {
      far.push_back(fmt::format("{} = {:.3g}", to_string(sample->measured[i]->key.run), sample->values[i]));
    }
    if (far.empty()) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: {}, median {:.3g}", row_label(context.columns, sample->row), list_some(far),
                         sample->row.summary ? sample->row.summary->median : 0);
    });
  }
  rows.report("outlier", "a run beyond 5 scaled median absolute deviations of its row; it counts all the same",
              "look at its log and node; medians and their intervals hardly move", found);
}

void warn_few_repeats(const WarningContext& context, Warnings& found) {
  Sightings rows;
  for (const Sample* sample : context.shown) {
    const Row& row = sample->row;
    if (!row.summary) continue;
    const auto& interval = row.summary->interval;
    if (interval && interval->coverage >= context.experiment.report.confidence - 1e-9) continue;
    const std::string reached = interval ? fmt::format("covers {:.4g} %", 100 * interval->coverage) : "no interval";
    rows.add(row, [&] { return fmt::format("{}: n = {}, {}", row_label(context.columns, row), row.n, reached); });
  }
  rows.report("few-repeats",
              fmt::format("so few runs carry no {:g} % interval of a median", 100 * context.experiment.report.confidence),
              "set `repeats` to 6 or more: what is there is kept", found);
}

void warn_failures(const WarningContext& context, Warnings& found) {
  Sightings rows;
  for (const Sample* sample : context.shown) {
    const std::string failures = describe_failures(sample->row);
    if (!failures.empty())
      rows.add(sample->row, [&] { return fmt::format("{}: {}", row_label(context.columns, sample->row), failures); });
  }
  rows.report("failures", "the numbers are of the runs that are left, and those may be the lucky ones",
              "read why with `hpcbench status`; run them again with `hpcbench retry`", found);
}

}  // namespace hpcbench

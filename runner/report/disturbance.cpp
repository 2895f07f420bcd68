#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "plan/calibration.hpp"
#include "report/cells.hpp"
#include "report/columns.hpp"
#include "report/digits.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

/// The runs of each job of a block.
using Jobs = std::map<std::pair<std::string, std::string>, std::vector<const AttemptRecord*>>;

Jobs jobs_of(const std::vector<const AttemptRecord*>& attempts) {
  Jobs jobs;
  for (const AttemptRecord* attempt : attempts) {
    if (attempt->batch && attempt->job && attempt->started_unix_s && attempt->finished_unix_s)
      jobs[{*attempt->batch, *attempt->job}].push_back(attempt);
  }
  return jobs;
}

/// How many runs of its job went on beside a run, on average over its time; 0 where that is not known.
double neighbours_of(const AttemptRecord& run, const Jobs& jobs) {
  if (!run.batch || !run.job || !run.started_unix_s || !run.finished_unix_s) return 0;
  const double length_s = *run.finished_unix_s - *run.started_unix_s;
  const auto job = jobs.find({*run.batch, *run.job});
  if (length_s <= 0 || job == jobs.end()) return 0;
  double together_s = 0;
  for (const AttemptRecord* other : job->second) {
    if (other->key == run.key) continue;
    together_s += std::max(
        0.0, std::min(*run.finished_unix_s, *other->finished_unix_s) - std::max(*run.started_unix_s, *other->started_unix_s));
  }
  return together_s / length_s;
}

/// A sample without the measured runs that had no neighbour; `neighbours` is of those left.
Sample with_neighbours(const Sample& packed, const Jobs& jobs, std::vector<double>& neighbours) {
  Sample part = packed;
  part.measured.clear();
  part.values.clear();
  for (std::size_t i = 0; i < packed.measured.size(); ++i) {
    const double count = neighbours_of(*packed.measured[i], jobs);
    if (count <= 0) continue;
    part.measured.push_back(packed.measured[i]);
    part.values.push_back(packed.values[i]);
    neighbours.push_back(count);
  }
  return part;
}

/// With so many pairs the widest interval of signed ranks, from the smallest ratio to the largest, covers 1 - 2 / 2^n.
int pairs_needed(double confidence) {
  constexpr double kRounding = 1e-9;
  int pairs = 1;
  for (double miss = 1; miss > 1 - confidence + kRounding; miss /= 2) ++pairs;
  return std::max(kFewestPairs, pairs);
}

/// The report's own comparison by blocks, the packed runs as its baseline.
void compare_by_blocks(Disturbance& found, const Sample& packed, const Sample& alone, const std::vector<double>& neighbours,
                       ReportSettings settings) {
  settings.paired = settings.in_blocks = true;
  double sum = 0;
  for (const auto& [p, a] : paired_runs(packed, alone, settings)) {
    ++found.pairs;
    sum += neighbours[p];
    found.alone_first += *alone.measured[a]->started_unix_s < *packed.measured[p]->started_unix_s ? 1 : 0;
  }
  found.needed = pairs_needed(settings.confidence);
  if (found.pairs == 0) return;
  found.neighbours = sum / found.pairs;
  found.ratio = estimate_speedup(packed, alone, {}, settings);
  if (!found.ratio || found.pairs >= found.needed) return;
  found.ratio->interval.reset();
  found.ratio->resolved.reset();
}

Bindings without_placement(Bindings axes) {
  std::erase_if(axes, [](const auto& axis) { return axis.first == kPlacementAxis; });
  return axes;
}

/// The axes that vary, or all.
std::string label_of(const Bindings& axes, const Plan& plan) {
  Bindings varied = axes;
  std::erase_if(varied, [&](const auto& axis) {
    return std::find(plan.varied.begin(), plan.varied.end(), axis.first) == plan.varied.end();
  });
  return describe(varied.empty() ? axes : varied);
}

std::string ratio_part(const Disturbance& each) {
  if (!each.ratio) return each.pairs == 0 ? "no ratio" : "no ratio of these values";
  const std::optional<Interval>& interval = each.ratio->interval;
  const int exponent = exponent_for_ratio(each.ratio->value, interval);
  const std::string value = round_at(each.ratio->value, exponent);
  if (!interval) return value;
  return value + " " + interval_text(round_at(interval->low, exponent), round_at(interval->high, exponent), *interval);
}

std::string pairs_part(const Table& table, const Disturbance& each) {
  std::string text = counted(each.pairs, "pair", "pairs");
  if (each.pairs < each.needed) {
    text += fmt::format(" (an interval at {:g} % needs {}; more `repeats` add pairs)", 100 * table.confidence, each.needed);
  }
  if (each.pairs > 0) text += fmt::format(", alone first in {}", each.alone_first);
  if (each.neighbours) text += fmt::format("; {:.2f} neighbours on average", *each.neighbours);
  if (each.without_neighbours > 0) {
    text += fmt::format("; {} had nothing beside {} and {} not count",
                        counted(each.without_neighbours, "packed run", "packed runs"),
                        each.without_neighbours == 1 ? "it" : "them", each.without_neighbours == 1 ? "does" : "do");
  }
  return text;
}

}  // namespace

std::vector<Disturbance> measure_disturbance(const std::vector<Sample>& samples, const std::vector<const Sample*>& shown,
                                             const Experiment& experiment, const Plan& plan,
                                             const std::vector<const AttemptRecord*>& attempts) {
  const Jobs jobs = jobs_of(attempts);
  const std::vector<std::size_t> partners = packed_partners(plan);
  std::vector<Disturbance> found;
  for (std::size_t i = 0; i < partners.size(); ++i) {
    if (!plan.configurations[i].alone || partners[i] == i) continue;
    const Sample& alone = samples[i];
    const Sample& packed = samples[partners[i]];
    const bool is_shown =
        std::any_of(shown.begin(), shown.end(), [&](const Sample* each) { return each == &alone || each == &packed; });
    if (!is_shown) continue;
    Disturbance& each = found.emplace_back();
    each.axes = without_placement(packed.row.axes);
    each.label = label_of(each.axes, plan);
    each.packed_id = packed.row.config_id;
    each.alone_id = alone.row.config_id;
    std::vector<double> neighbours;
    const Sample beside = with_neighbours(packed, jobs, neighbours);
    each.without_neighbours = static_cast<int>(packed.measured.size() - beside.measured.size());
    compare_by_blocks(each, beside, alone, neighbours, experiment.report);
  }
  return found;
}

std::vector<std::string> disturbance_lines(const Table& table) {
  std::vector<std::string> lines = {
      fmt::format("{} of packed runs / of the same alone, by blocks that have both: Hodges-Lehmann estimate of the log ratio "
                  "with its exact "
                  "signed-rank interval, which holds for its line alone.",
                  shown_metric(table))};
  for (const Disturbance& each : table.disturbances)
    lines.push_back(fmt::format("{}: {}; {}", each.label, ratio_part(each), pairs_part(table, each)));
  return lines;
}

}  // namespace hpcbench

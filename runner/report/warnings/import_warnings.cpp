#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/digits.hpp"
#include "report/warnings/warnings.hpp"

namespace hpcbench {
namespace {

constexpr double kRankTolerance = 0.05;

/// A number as a table prints it, `92.9 %`, and the unit of its last digit.
struct Printed {
  double value = 0;
  double step = 0;
  int decimals = 0;
  std::string suffix;
};

/// Parses a printed number; nullopt if the text does not begin with one.
std::optional<Printed> parse_printed(const std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789.-"), text.size());
  const std::string digits = text.substr(0, end);
  const auto number = Value::from_plain(digits).number();
  if (!number) return std::nullopt;
  const std::size_t point = digits.find('.');
  const int decimals = static_cast<int>(point == std::string::npos ? 0 : digits.size() - point - 1);
  return Printed{*number, std::pow(10.0, -decimals), decimals, std::string(trim(text.substr(end)))};
}

/// Returns whether the printed number is that value, rounded or cut, if the value is known up to `tolerance`.
bool is_shortened(const Printed& printed, double value, double tolerance) {
  const double sign = printed.value < 0 ? -1 : 1;
  const double beyond = sign * (value - printed.value);  // a cut number is nearer to 0
  return beyond > -(printed.step * 0.5 + tolerance) * (1 + 1e-9) && beyond < printed.step + tolerance;
}

/// Adds `METRIC published as 5108.80, but its own log has 4108.80` for each metric that differs.
void find_metric_differences(const AttemptRecord& run, std::vector<std::string>& differences) {
  for (const auto& [fact, text] : run.facts) {
    if (!fact.starts_with(kPublished)) continue;
    const std::string metric = fact.substr(kPublished.size());
    const auto value = run.metrics.find(metric);
    const auto given = run.units.find(metric);
    const bool named_in_s = metric.ends_with("_s") && !metric.ends_with("_per_s");
    const std::string unit = given != run.units.end() ? given->second : named_in_s ? "s" : "";
    const auto printed = parse_printed(text);
    if (value == run.metrics.end() || !printed) continue;
    double factor = 1;  // to the published unit; a foreign unit cannot be compared
    if (!printed->suffix.empty()) {
      const auto found = unit_factor(unit, printed->suffix);
      if (!found) continue;
      factor = *found;
    }
    if (is_shortened(*printed, factor * value->second, 0)) continue;
    const bool is_given = run.facts.contains("printed_" + metric);  // in a table, or given by the user: no log was read
    const double own = factor * value->second;
    const int decimals = std::max(printed->decimals, -exponent_without_interval(own));
    differences.push_back(fmt::format("{} published as {}, but {} {:.{}f}", metric, text,
                                      is_given ? "the value imported with it is" : "its own log has", own,
                                      own == 0 ? printed->decimals : decimals));
  }
}

/// Returns how much the values of a side may differ from the measured ones, because they were printed with few digits: the
/// largest relative rounding.
double relative_rounding(const Sample& sample, const std::string& metric) {
  double largest = 0;
  for (const AttemptRecord* run : sample.measured) {
    const auto fact = run->facts.find("printed_" + metric);
    const auto printed = fact == run->facts.end() ? std::nullopt : parse_printed(fact->second);
    const bool is_one_number = printed && printed->suffix.find_first_of("0123456789") == std::string::npos;  // not 1:03:48
    if (is_one_number && printed->value != 0) largest = std::max(largest, printed->step / 2 / std::abs(printed->value));
  }
  return largest;
}

/// Returns whether a cell means an absent value: `n/a`, `-`.
bool means_absent(const std::string& text) {
  constexpr std::array<std::string_view, 7> kNothing = {"", "-", "\u2013", "\u2014", "n/a", "na", "nan"};
  return std::find(kNothing.begin(), kNothing.end(), lower_case(trim(text))) != kNothing.end();
}

/// A ratio of the table that a fact may publish. `plain_scale`: 100 if numbers without a unit are percents.
struct DerivedFigure {
  const char* name;
  const char* shown;
  bool is_efficiency;
  double plain_scale;
};
constexpr std::array kDerivedFigures = {DerivedFigure{"speedup", "speedup", false, 1},
                                        DerivedFigure{"efficiency", "efficiency", true, 1},
                                        DerivedFigure{"efficiency_percent", "efficiency", true, 100}};

/// Adds `speedup published as 7.83, but tokens_per_s gives 7.43` for each ratio of the row that differs.
void find_derived_differences(const WarningContext& context, const Sample& sample, const AttemptRecord& run,
                              std::vector<std::string>& differences) {
  if (!sample.row.speedup || sample.row.speedup->value == 0) return;
  const std::string& metric = context.metric.name;
  const Sample* const base = baseline_of(context, sample);
  const double rounding = relative_rounding(sample, metric) + (base == nullptr ? 0 : relative_rounding(*base, metric));
  const double speedup = sample.row.speedup->value;
  for (const DerivedFigure& figure : kDerivedFigures) {
    const auto fact = run.facts.find(std::string(kPublished) + figure.name);
    if (fact == run.facts.end() || means_absent(fact->second) || (figure.is_efficiency && !sample.row.efficiency)) continue;
    const auto printed = parse_printed(fact->second);
    const std::string suffix = printed ? printed->suffix : "";
    const bool is_ratio = suffix.empty() || (figure.is_efficiency ? suffix == "%" : suffix == "x" || suffix == "\u00d7");
    if (!printed || !is_ratio) {
      differences.push_back(fmt::format("{} published as `{}`, which is no {} that can be read: write {}", figure.shown,
                                        fact->second, figure.shown, figure.is_efficiency ? "91 %" : "1.93"));
      continue;
    }
    constexpr double kMostEfficiency = 5;  // above it, it is no share: 91 without a unit is 91 %
    const bool is_percent = suffix == "%" || (figure.is_efficiency && printed->value > kMostEfficiency);
    const double scale = is_percent ? 100 : figure.plain_scale;
    const double here = scale * (figure.is_efficiency ? *sample.row.efficiency : speedup);
    // A published ratio may be one of medians.
    const double of_medians = here * sample.row.ratio_of_medians.value_or(speedup) / speedup;
    if (is_shortened(*printed, here, rounding * here) || is_shortened(*printed, of_medians, rounding * of_medians)) continue;
    const int two_digits = here > 0 ? 1 - static_cast<int>(std::floor(std::log10(here))) : 0;
    differences.push_back(fmt::format("{} published as {}, but {} gives {:.{}f}{}", figure.shown, fact->second, metric, here,
                                      std::max(printed->decimals, two_digits), scale == 100 ? " %" : ""));
  }
}

/// Returns all published values of a row that differ from its own. Ratios refer to the metric that the study reports.
std::vector<std::string> published_differences(const WarningContext& context, const Sample& sample) {
  const bool has_ratios = context.metric.name == context.experiment.report_metric();
  std::vector<std::string> differences;
  for (const AttemptRecord* run : sample.runs) {
    std::vector<std::string> of_run;
    find_metric_differences(*run, of_run);
    if (has_ratios) find_derived_differences(context, sample, *run, of_run);
    for (std::string& each : of_run) {
      if (std::find(differences.begin(), differences.end(), each) == differences.end()) differences.push_back(std::move(each));
    }
  }
  return differences;
}

std::vector<double> rank_times(const Sample& sample) {
  std::vector<double> times;
  for (const RankTimes& rank : sample.row.times.ranks) {
    if (rank.real_s) times.push_back(*rank.real_s);
  }
  return times;
}

std::string count_of(double value) { return fmt::format("{:.0f}", value); }

/// Returns what is odd about processes without a common group; empty if nothing is.
std::string describe_same_work(const WarningContext& context, const Sample& sample) {
  std::optional<double> processes = number_fact(sample, "processes");
  if (!processes) processes = number_fact(sample, "world_size");
  const auto batches = number_fact(sample, "batches_per_rank");
  const std::string* group = find_fact(sample, "process_group");
  if (!processes || *processes < 2 || !batches) return "";
  const Sample* base = baseline_of(context, sample);
  const auto of_baseline = base == nullptr ? std::nullopt : number_fact(*base, "batches_per_rank");
  constexpr double kUndivided = 0.9;  // of the baseline's batches in each process: the work was not divided
  const bool undivided = of_baseline && *batches >= kUndivided * *of_baseline;
  if (!undivided && (group == nullptr || *group != "none")) return "";
  std::string text = fmt::format("{}: {} processes{}, {} batches each", row_label(context.columns, sample.row),
                                 count_of(*processes), undivided ? "" : " without a process group", count_of(*batches));
  if (of_baseline) {
    text += fmt::format(" ({} together, {} in its baseline)", count_of(*processes * *batches), count_of(*of_baseline));
  }
  return text;
}

/// Returns whether the runs name a host for each of this many nodes.
bool names_hosts(const Sample& sample, double nodes) {
  return std::all_of(sample.measured.begin(), sample.measured.end(), [&](const AttemptRecord* run) {
    return static_cast<double>(split(run->node.value_or(""), ',').size()) >= nodes;
  });
}

/// Returns the number of ranks if the axis ranks_per_node states it.
std::optional<double> asked_ranks(const Sample& sample) {
  const Value* nodes = find_binding(sample.row.axes, "nodes");
  const Value* ranks = find_binding(sample.row.axes, kRanksPerNode);
  if (nodes == nullptr || ranks == nullptr || !nodes->number() || !ranks->number()) return std::nullopt;
  return *nodes->number() * *ranks->number();
}

/// Returns how many fewer or more gpus worked than the row states; empty if none, or if it is unknown.
std::string describe_gpus_mismatch(const Sample& sample, bool has_gpus) {
  // A process may use several gpus (dp), so a program of hpcbench that names its gpus is believed.
  const auto used = is_imported(sample) || asked_ranks(sample) ? std::nullopt : number_fact(sample, "gpus");
  const auto ran = used ? used : number_fact(sample, "world_size");
  const auto ranks = asked_ranks(sample);
  const double claimed = number_fact(sample, "claimed_gpus").value_or(ranks.value_or(sample.row.gpus));
  const bool claims_nodes = !ranks && !has_gpus;  // and any number of processes on each
  const char* const what = ranks ? "ranks" : claims_nodes ? "nodes" : "gpus";
  if (ran && *ran != claimed && !claims_nodes)
    return fmt::format("{} {} claimed, {} {}", count_of(claimed), what, count_of(*ran), used ? "used" : "ranks ran");
  const auto nodes = number_fact(sample, "launched_once_on_nodes");
  if (ran || !nodes || names_hosts(sample, *nodes)) return "";
  return fmt::format(
      "{} {} claimed, but `launch: once` started one process on one of {} nodes, and nothing shows that it started others",
      count_of(claimed), what, count_of(*nodes));
}

}  // namespace

void warn_published_mismatch(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const std::vector<std::string> differences = published_differences(context, *sample);
    if (differences.empty()) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: {}", row_label(context.columns, sample->row), list_some(differences, context.whole_lists));
    });
  }
  rows.report(
      "published-mismatch",
      "a published figure that its own values do not bear out is wrong, or was computed from others; all that follows from it "
      "is wrong, too",
      same_advice("report what comes out here, and correct the published table"), found);
}

void warn_equal_lines(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    if (!sample->row.facts.contains("equal_lines")) continue;
    std::vector<std::string> groups;
    for (const AttemptRecord* run : sample->runs) {
      const auto fact = run->facts.find("equal_lines");
      if (fact == run->facts.end() || std::find(groups.begin(), groups.end(), fact->second) != groups.end()) continue;
      groups.push_back(fact->second);
    }
    if (groups.empty()) continue;
    rows.add(sample->row,
             [&] { return fmt::format("{}: equal are {}", row_label(context.columns, sample->row), join(groups, "; ")); });
  }
  rows.report(
      "equal-lines",
      "equal lines of a table count as runs of their own, as rounded values may be equal; if one run was entered twice, n "
      "is too large and the interval too narrow",
      same_advice("give the table a column `id` with a name for each run: lines with one id are one run"), found);
}

void warn_gpus_mismatch(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const std::string seen = describe_gpus_mismatch(*sample, context.experiment.has_gpus);
    if (!seen.empty()) rows.add(sample->row, [&] { return row_label(context.columns, sample->row) + ": " + seen; });
  }
  const std::string size = context.experiment.has_gpus ? "gpus" : "ranks";
  rows.report(size + "-mismatch", fmt::format("speedup and efficiency are of as many {} as really worked", size),
              same_advice(fmt::format("count the ranks of the log; correct the number of {}", size)), found);
}

void warn_same_work(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const std::string seen = describe_same_work(context, *sample);
    if (!seen.empty()) rows.add(sample->row, [&] { return seen; });
  }
  rows.report("same-work",
              "processes that know nothing of each other either do the same work over or train separate models: "
              "none of their times is that of one training divided among them",
              {"start them with a launcher that makes one process group, and compare samples and losses with the baseline's",
               "report no speedup of them; compare samples and losses with the baseline's"},
              found);
}

void warn_ranks_disagree(const WarningContext& context, Warnings& found) {
  if (!context.metric.is_time) return;
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const std::vector<double> times = rank_times(*sample);
    if (times.empty() || !sample->row.summary || !is_imported(*sample)) continue;
    const double slowest = *std::max_element(times.begin(), times.end());
    const double total = sample->row.summary->median;
    if (std::abs(total - slowest) <= kRankTolerance * total) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: {:g} s in all, but its slowest rank took {:g} s", row_label(context.columns, sample->row), total,
                         slowest);
    });
  }
  rows.report(
      "ranks-disagree", "a run lasts as long as its slowest rank: one of the two is not the time of this run",
      same_advice("state what the total includes that the ranks do not (set-up, downloads), and compare like with like"),
      found);
}

}  // namespace hpcbench

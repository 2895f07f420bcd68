#include <fmt/format.h>

#include <algorithm>

#include "report/cells.hpp"
#include "report/methods.hpp"

namespace hpcbench {
namespace {

/// A verdict with its reason.
struct Judgement {
  RuleVerdict verdict = RuleVerdict::met;
  std::string reason;
};

Judgement judge_base_case(const Table& table, const WarningContext& context) {
  if (!table.has_speedup) return {RuleVerdict::not_applicable, "no speedups are reported"};
  for (const Sample& sample : context.samples) {
    if (!sample.row.is_baseline || !sample.row.summary) continue;
    return {RuleVerdict::met, fmt::format("the base case is {} on {}, with its absolute {}: median {:g}{}",
                                          row_label(context.columns, sample.row), counted_size(table.scale_by, sample.row.size),
                                          table.unit == "s" ? "time" : "value", sample.row.summary->median,
                                          table.unit.empty() ? "" : " " + table.unit)};
  }
  return {RuleVerdict::not_met, "the baseline has no value yet"};
}

Judgement judge_selection(const Table& table, const WarningContext& context) {
  if (table.rows.size() == context.samples.size())
    return {RuleVerdict::met, fmt::format("all {} configurations of the experiment are shown", table.rows.size())};
  return {RuleVerdict::not_met,
          fmt::format("{} of {} configurations are shown: explain the choice", table.rows.size(), context.samples.size())};
}

Judgement judge_intervals(const Table& table) {
  std::size_t valued = 0;
  std::size_t covered = 0;
  for (const Row& row : table.rows) {
    if (!row.summary) continue;
    ++valued;
    const auto& interval = row.summary->interval;
    covered += interval && interval->coverage >= table.confidence - 1e-9 ? 1 : 0;
  }
  if (valued == 0) return {RuleVerdict::not_applicable, "there are no values yet"};
  if (covered == valued) {
    return {RuleVerdict::met,
            fmt::format("values vary between runs; every median has its {:g} % interval", 100 * table.confidence)};
  }
  return {RuleVerdict::not_met,
          fmt::format("{} of {} {} have no {:g} % interval: too few runs, or published without one", valued - covered, valued,
                      value_word(table) == "median" ? "medians" : "values", 100 * table.confidence)};
}

Judgement judge_comparison(const Table& table) {
  if (!table.has_speedup) return {RuleVerdict::not_applicable, "nothing is compared"};
  std::size_t compared = 0;
  std::size_t without = 0;
  for (const Row& row : table.rows) {
    if (row.is_baseline || !row.speedup) continue;
    ++compared;
    without += row.speedup->interval ? 0 : 1;
  }
  if (compared == 0) return {RuleVerdict::not_applicable, "no row has a speedup yet"};
  if (without > 0) return {RuleVerdict::not_met, fmt::format("{} of {} speedups have no interval", without, compared)};
  return {RuleVerdict::met, "each speedup has its exact interval, and one that holds 1 is called unresolved"};
}

Judgement judge_factors(const Table& table) {
  std::vector<std::string> unknown;
  for (const Row& row : table.rows) {
    const bool known = row.facts.contains("commit") || row.facts.contains("code") || row.facts.contains("hpcbench");
    if (row.counts.n > 0 && !known) unknown.push_back(row.config_id);
  }
  if (!unknown.empty()) {
    return {RuleVerdict::not_met,
            fmt::format("nothing is on record of the versions behind {} of {} rows", unknown.size(), table.rows.size())};
  }
  const auto changed = [](const Row& row) {
    const auto dirty = row.facts.find("dirty");
    return dirty != row.facts.end() && dirty->second.find("true") != std::string::npos;
  };
  if (std::any_of(table.rows.begin(), table.rows.end(), changed))
    return {RuleVerdict::not_met, "runs were made with changes that no commit holds: their code cannot be restored"};
  if (has_warning(table, "confounded")) return {RuleVerdict::not_met, "factors differ that are no axes: see `confounded`"};
  return {RuleVerdict::met,
          "axes, settings, versions, commit, nodes and seeds are on record: `report --provenance`, `show RUN`"};
}

Judgement judge_clock(const Table& table, const WarningContext& context) {
  const std::string clock = describe_clock(table.metric, context.experiment);
  const auto imported = [](const Row& row) { return row.source != "measured"; };
  if (std::any_of(table.rows.begin(), table.rows.end(), imported))
    return {RuleVerdict::not_met, "hpcbench does not know how imported results were measured: state it"};
  if (clock.empty()) {
    return {RuleVerdict::not_met,
            fmt::format("`{}` is read from the program's output: state how it is measured", table.metric)};
  }
  return {RuleVerdict::met, clock};
}

Judgement judge_bounds(const Table& table) {
  if (!table.has_speedup && !table.peak_tflops) return {RuleVerdict::not_applicable, "nothing is reported that has a bound"};
  if (table.peak_tflops) return {RuleVerdict::met, "efficiency is against linear speedup, MFU against the peak of the gpu"};
  return {RuleVerdict::met,
          table.has_gpus
              ? "efficiency is the share of linear speedup; for the share of the hardware's peak set `report.peak_tflops`"
              : "efficiency is the share of linear speedup"};
}

bool has_published_mean(const Table& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const Row& row) { return row.statistic == "mean"; });
}

}  // namespace

std::vector<ReportingRule> judge_rules(const Table& table, const WarningContext& context) {
  std::vector<ReportingRule> rules;
  const auto add = [&](const char* rule, const Judgement& judgement) {
    rules.push_back({static_cast<int>(rules.size()) + 1, rule, judgement.verdict, judgement.reason});
  };
  add("state the base case of a speedup, and give its absolute time", judge_base_case(table, context));
  add("explain why only a part of a benchmark or of a machine was used", judge_selection(table, context));
  add("arithmetic means for costs only, harmonic ones for rates",
      has_published_mean(table)
          ? Judgement{RuleVerdict::not_met,
                      "rows are published means: state which mean, and whether it is of a cost or of a rate"}
          : Judgement{RuleVerdict::not_applicable, "there are no means: values, rates too, are medians over runs"});
  add("do not average ratios",
      {RuleVerdict::met, "speedups are estimated in logarithms from all pairs of runs, and never averaged"});
  add("state whether values are deterministic, else give confidence intervals", judge_intervals(table));
  add("do not assume normality without a check",
      {RuleVerdict::met, "all intervals and tests are by ranks: no distribution is assumed"});
  add("compare by sound means: intervals and tests", judge_comparison(table));
  add("ask whether mean or median is the right summary, or another percentile",
      {RuleVerdict::met,
       "a median answers how long a usual run takes; quartiles, least, largest and every run are in the JSON"});
  add("document all factors, their levels and the whole set-up", judge_factors(table));
  add("state how time was measured, synchronised and summarised across processes", judge_clock(table, context));
  add("show upper bounds where there are any", judge_bounds(table));
  add("plot what is needed to interpret, and join points only where a trend makes sense",
      {RuleVerdict::not_applicable,
       fmt::format("this is a table; `hpcbench plot` shows every run as a dot and joins points only along the number of {}",
                   table.scale_by)});
  return rules;
}

}  // namespace hpcbench

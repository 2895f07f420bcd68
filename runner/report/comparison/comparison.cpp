#include "report/comparison/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "report/comparison/gate.hpp"
#include "report/digits.hpp"
#include "report/samples.hpp"
#include "stats/equivalence.hpp"

namespace hpcbench {
namespace {

std::vector<std::string> common_axes(const Table& a, const Table& b) {
  std::vector<std::string> common;
  for (const std::string& axis : a.axes) {
    if (std::find(b.axes.begin(), b.axes.end(), axis) != b.axes.end()) common.push_back(axis);
  }
  return common;
}

std::string key_of(const Row& row, const std::vector<std::string>& axes) {
  std::vector<std::string> parts;
  for (const std::string& axis : axes) {
    const Value* value = find_binding(row.axes, axis);
    parts.push_back(value == nullptr ? "-" : value->canonical());
  }
  return join(parts, ",");
}

std::map<std::string, const Row*> rows_by_key(const Table& table, const std::vector<std::string>& axes,
                                              const std::string& side) {
  std::map<std::string, const Row*> rows;
  for (const Row& row : table.rows) {
    const auto [found, is_new] = rows.emplace(key_of(row, axes), &row);
    if (is_new) continue;
    throw InputError(
        fmt::format("error: {}: `{}` and `{}` are the same on the axes that both sides have; choose one with --only", side,
                    describe(found->second->axes), describe(row.axes)));
  }
  return rows;
}

ComparisonVerdict verdict_of(double ratio, Direction direction) {
  const bool more = ratio > 1;
  if (direction == Direction::other) return more ? ComparisonVerdict::higher : ComparisonVerdict::lower;
  return more == (direction == Direction::time) ? ComparisonVerdict::slower : ComparisonVerdict::faster;
}

/// Returns both sides of a row; `remark` gives the reason if they cannot be compared.
Sides sides_of(const Row& a, const Row& b, std::string& remark) {
  Sides sides{values_of_row(a), values_of_row(b)};
  const auto positive = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return value > 0; });
  };
  if (sides.a.empty() || sides.b.empty()) {
    remark = sides.a.empty() && sides.b.empty() ? "no value on either side"
             : sides.a.empty()                  ? "no value in A"
                                                : "no value in B";
  } else if (a.counts.censored + b.counts.censored > 0) {
    remark = "runs hit their time limit: no exact ratio";
  } else if (!positive(sides.a) || !positive(sides.b)) {
    remark = "values that are not positive have no ratio";
  } else {
    return sides;
  }
  return {};
}

/// Returns the exponent of the printed median, as in a report: by its interval, unless a time limit bounds that.
int exponent_of(const Row& row) {
  if (!row.summary) return 0;
  const double median = row.summary->median;
  const auto& interval = row.summary->interval;
  const bool counts = interval && interval->high != row.censored_at_s;
  return counts ? exponent_for_interval(median, interval->low, interval->high) : exponent_without_interval(median);
}

/// Returns one interval for several looks: by Bonferroni over all pairs of them, since each study ends by its own rule.
std::optional<Ratio> ratio_over_looks(const Sides& sides, const Comparison& comparison) {
  if (comparison.looks == 1) return speedup(sides.b, sides.a, comparison.confidence);
  const double level = 1 - (1 - comparison.confidence) / static_cast<double>(comparison.looks);
  std::optional<Ratio> ratio = speedup(sides.b, sides.a, level);
  if (!ratio || !ratio->interval) return ratio;
  constexpr double kRounding = 1e-9;
  if (ratio->interval->coverage < level - kRounding) {
    ratio->interval.reset();
    ratio->resolved.reset();
  } else {
    ratio->interval->coverage = comparison.confidence;
    ratio->interval->looks = static_cast<int>(comparison.looks);
  }
  return ratio;
}

/// Notes sides of a row whose measurements give no value.
void note_left_out(Comparison& comparison, const GateRow& row, const SideRuns& a, const SideRuns& b) {
  const std::string name = name_of_row(comparison, row);
  const auto add = [&](const Row* side, const SideRuns& runs, const char* letter) {
    if (side == nullptr || runs.is_complete()) return;
    comparison.left_out.push_back(fmt::format("{}in {}: {}", name.empty() ? "" : name + " ", letter, runs.text));
  };
  add(row.a, a, "A");
  add(row.b, b, "B");
}

ComparedRow compare_row(const Row& a, const Row& b, const std::vector<std::string>& axes, const Comparison& comparison,
                        Sides& sides) {
  ComparedRow row;
  for (const std::string& axis : axes) {
    if (const Value* value = find_binding(a.axes, axis)) row.axes.emplace_back(axis, *value);
  }
  row.a_id = a.config_id;
  row.b_id = b.config_id;
  row.a_n = a.counts.n;
  row.b_n = b.counts.n;
  if (a.summary) row.a_median = a.summary->median;
  if (b.summary) row.b_median = b.summary->median;
  row.a_exponent = exponent_of(a);
  row.b_exponent = exponent_of(b);
  sides = sides_of(a, b, row.remark);
  if (sides.a.empty()) return row;
  row.ratio = ratio_over_looks(sides, comparison);
  if (!a.statistic.empty() || !b.statistic.empty()) {
    row.ratio->interval.reset();
    row.ratio->resolved.reset();
    row.remark = "a published statistic: a ratio of two numbers, without an interval";
    sides = {};
    return row;
  }
  if (!row.ratio->interval) row.remark = fmt::format("{} + {} runs are too few for an interval", row.a_n, row.b_n);
  row.p_value = p_value_over_looks(rank_sum_p_value(sides.a, sides.b), comparison.looks);
  return row;
}

constexpr double kNothingLearned = 1;  // the p-value of a row without two sides, which stays in the family

void decide(Comparison& comparison, const std::vector<Sides>& sides) {
  const double level = 1 - comparison.confidence;
  const Direction direction = direction_of(comparison);
  std::vector<double> different;
  std::vector<double> equivalent;
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    different.push_back(comparison.rows[i].p_value.value_or(kNothingLearned));
    const double p = sides[i].a.empty() ? kNothingLearned : equivalence_p_value(sides[i].a, sides[i].b, comparison.margin);
    equivalent.push_back(p_value_over_looks(p, comparison.looks));
  }
  different = holm_adjusted(different);
  equivalent = holm_adjusted(equivalent);
  constexpr double kRounding = 1e-12;
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    ComparedRow& row = comparison.rows[i];
    if (!row.p_value) continue;
    row.adjusted_p = different[i];
    row.equivalent = equivalent[i] <= level + kRounding;
    if (different[i] <= level + kRounding && row.ratio->value != 1) {
      row.verdict = verdict_of(row.ratio->value, direction);
    } else if (row.equivalent) {
      row.verdict = ComparisonVerdict::equivalent;
    }
  }
}

/// Returns the distinct values of a fact over the rows of a table; several values of a row are joined by `|`.
std::string values_of_fact(const Table& table, const std::string& name) {
  std::set<std::string> values;
  for (const Row& row : table.rows) {
    if (const auto fact = row.facts.find(name); fact != row.facts.end()) {
      for (const std::string& value : split(fact->second, '|')) values.insert(value);
    }
    if (name != "node") continue;
    for (const RunValue& run : row.runs) {
      if (!run.node.empty()) values.insert(run.node);
    }
  }
  return values.empty() ? "-" : join({values.begin(), values.end()}, ", ");
}

std::vector<SideDifference> find_side_differences(const Table& a, const Table& b) {
  constexpr std::array kFacts = {"precision", "global_batch",    "samples", "optimizer_steps", "device", "node",
                                 "threads",   "omp_num_threads", "bound",   "torch",           "python", "hpcbench",
                                 "commit",    "dirty",           "code",    "source"};
  std::vector<SideDifference> differences;
  for (const char* name : kFacts) {
    SideDifference difference{name, values_of_fact(a, name), values_of_fact(b, name)};
    if (difference.a != difference.b) differences.push_back(std::move(difference));
  }
  return differences;
}

std::vector<std::string> varied_axes(const Table& a, const Table& b, const std::vector<std::string>& common) {
  std::vector<std::string> columns;
  for (const std::string& axis : common) {
    const auto has = [&](const Table& table) {
      return std::find(table.columns.begin(), table.columns.end(), axis) != table.columns.end();
    };
    if (has(a) || has(b)) columns.push_back(axis);
  }
  return columns;
}

void note_power(Comparison& comparison) {
  std::size_t few = 0;
  for (const ComparedRow& row : comparison.rows) few += row.p_value && !row.ratio->interval ? 1 : 0;
  if (few == 0) return;
  const int needed = fewest_runs_to_reject(1, (1 - comparison.confidence) / 2);
  comparison.notes.push_back(
      fmt::format("{} of {} rows have too few runs for an interval, so nothing can be resolved there: one row at {:g} % needs "
                  "at least {} + {} runs",
                  few, comparison.rows.size(), 100 * comparison.confidence, needed, needed));
}

/// Notes the kind of value on each side of each row, if one of the sides is published.
void note_statistics(Comparison& comparison, const std::vector<GateRow>& matched) {
  const auto kind_of = [](const Row& row) {
    return row.statistic.empty() ? std::string("the median of runs") : "the published " + row.statistic;
  };
  std::map<std::pair<std::string, std::string>, std::size_t> rows;
  for (const GateRow& row : matched) {
    const bool is_published = !row.a->statistic.empty() || !row.b->statistic.empty();
    if (is_published && row.a->summary && row.b->summary) ++rows[{kind_of(*row.a), kind_of(*row.b)}];
  }
  for (const auto& [kinds, count] : rows) {
    comparison.notes.push_back(fmt::format(
        "{}A is {}, B is {}{}", count == matched.size() ? "" : fmt::format("in {} of {} rows ", count, matched.size()),
        kinds.first, kinds.second, kinds.first == kinds.second ? "" : ": their ratio compares the statistics, too"));
  }
}

/// Notes warnings about which program and which runs are behind the values of a side.
void note_warnings(Comparison& comparison, const Table& side, const char* letter) {
  constexpr std::array<std::string_view, 3> kCodes = {"mixed-program", "changed-program", "set-aside"};
  for (const TableWarning& warning : side.warnings) {
    if (std::find(kCodes.begin(), kCodes.end(), warning.code) == kCodes.end()) continue;
    comparison.notes.push_back(fmt::format("warning {} of {}: {} ({})", warning.code, letter, warning.seen, warning.why));
  }
  int again = 0;
  for (const Row& row : side.rows) again += row.counts.tried_again;
  if (again == 0) return;
  comparison.notes.push_back(
      fmt::format("warning tried-again of {}: {} needed more than one attempt, and earlier ones do not count as failed", letter,
                  counted(again, "run", "runs")));
}

/// Returns which values are better, even if one side does not declare it. InputError if the sides contradict each other.
MetricKind common_kind(const Table& a, const Table& b) {
  if (a.kind.better && b.kind.better && a.kind.better != b.kind.better) {
    const auto word = [](const Table& table) { return table.kind.better == Better::higher ? "larger" : "smaller"; };
    throw InputError(fmt::format(
        "error: of `{}`, {} values are better on one side and {} ones on the other: write the same `better` in both files",
        a.metric, word(a), word(b)));
  }
  return a.kind.better ? a.kind : b.kind;
}

void require_comparable(const Table& a, const Table& b, const ComparisonOptions& options) {
  if (a.metric != b.metric) {
    throw InputError(fmt::format("error: {} reports `{}`, {} reports `{}`: name one of them with --metric", options.a, a.metric,
                                 options.b, b.metric));
  }
  if (a.unit != b.unit && !a.unit.empty() && !b.unit.empty()) {
    throw InputError(fmt::format("error: `{}` is in `{}` on one side and in `{}` on the other", a.metric, a.unit, b.unit));
  }
  if (a.inner != b.inner) {
    throw InputError(fmt::format("error: {} has `{}`, {} has `{}`: give both the same `report.rows` and `report.at`", options.a,
                                 shown_metric(a), options.b, shown_metric(b)));
  }
}

}  // namespace

Direction direction_of(const Comparison& comparison) {
  if (!comparison.kind.scales) return Direction::other;
  return comparison.kind.better == Better::higher ? Direction::rate : Direction::time;
}

std::string to_string(ComparisonVerdict verdict) {
  switch (verdict) {
    case ComparisonVerdict::faster:
      return "faster";
    case ComparisonVerdict::slower:
      return "slower";
    case ComparisonVerdict::higher:
      return "higher";
    case ComparisonVerdict::lower:
      return "lower";
    case ComparisonVerdict::equivalent:
      return "equivalent";
    case ComparisonVerdict::not_resolved:
      return "not resolved";
  }
  return "not resolved";
}

Comparison compare_tables(const Table& a, const Table& b, const ComparisonOptions& options) {
  require_comparable(a, b, options);
  Comparison comparison;
  comparison.a = options.a;
  comparison.b = options.b;
  comparison.metric = a.metric;
  comparison.unit = a.unit.empty() ? b.unit : a.unit;
  comparison.kind = common_kind(a, b);
  comparison.confidence = a.confidence;
  const auto looks_of = [](const Table& table) { return static_cast<long long>(std::max<std::size_t>(1, table.looks.size())); };
  comparison.looks = looks_of(a) * looks_of(b);
  comparison.margin = options.margin;
  const std::vector<std::string> axes = common_axes(a, b);
  comparison.columns = varied_axes(a, b, axes);
  const auto of_a = rows_by_key(a, axes, options.a);
  auto of_b = rows_by_key(b, axes, options.b);
  std::vector<Sides> sides;
  std::vector<GateRow> matched;
  std::vector<GateRow> single;
  for (const Row& row : a.rows) {
    const auto other = of_b.find(key_of(row, axes));
    if (other == of_b.end()) {
      comparison.only_a.push_back(describe(row.axes));
      single.push_back({&row, nullptr});
      continue;
    }
    matched.push_back({&row, other->second});
    sides.emplace_back();
    comparison.rows.push_back(compare_row(row, *other->second, axes, comparison, sides.back()));
    comparison.rows.back().a_runs = runs_of_side(&row, a);
    comparison.rows.back().b_runs = runs_of_side(other->second, b);
    matched.back().b_not_begun = comparison.rows.back().b_runs.not_begun;
    note_left_out(comparison, matched.back(), comparison.rows.back().a_runs, comparison.rows.back().b_runs);
  }
  for (const Row& row : b.rows) {
    if (of_a.contains(key_of(row, axes))) continue;
    comparison.only_b.push_back(describe(row.axes));
    single.push_back({nullptr, &row, runs_of_side(&row, b).not_begun});
  }
  if (comparison.rows.empty()) {
    throw InputError(fmt::format("error: no configuration of {} is one of {}: they share the axes {}, and no point on them",
                                 options.a, options.b, axes.empty() ? "(none)" : join(axes, ", ")));
  }
  for (const GateRow& row : single) note_left_out(comparison, row, runs_of_side(row.a, a), runs_of_side(row.b, b));
  decide(comparison, sides);
  comparison.differences = find_side_differences(a, b);
  note_power(comparison);
  note_statistics(comparison, matched);
  note_warnings(comparison, a, "A");
  note_warnings(comparison, b, "B");
  if (a.inner) comparison.notes.push_back(fmt::format("each value is that at {} = {}", a.inner->name, a.inner->at.text()));
  if (!options.fail_if.empty()) apply_rules(comparison, options, sides, matched, single);
  return comparison;
}

}  // namespace hpcbench

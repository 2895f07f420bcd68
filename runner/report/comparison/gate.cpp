#include "report/comparison/gate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "stats/equivalence.hpp"

namespace hpcbench {
namespace {

using Kind = FailRule::Kind;
constexpr double kGateRounding = 1e-12;

bool has_values(const Row* row) { return row != nullptr && !values_of_row(*row).empty(); }

std::string counted_runs(long long count) { return fmt::format("{} run{}", count, count == 1 ? "" : "s"); }

/// Returns a reason such as `8 runs failed`, `4 runs succeeded without a value, 4 runs set aside`, `no runs`.
std::string why_without_value(const Row& row) {
  std::vector<std::string> parts;
  for (const auto& [state, runs] : row.counts.outcomes) {
    parts.push_back(fmt::format("{} {}{}", counted_runs(runs),
                                state == State::timeout ? "reached the time limit" : shown_name(state),
                                state == State::succeeded ? " without a value" : ""));
    if (state == State::succeeded && row.counts.nan > 0) parts.back() += fmt::format(" ({} nan)", row.counts.nan);
  }
  if (row.runs_left_out() > 0) parts.push_back(fmt::format("{} set aside", counted_runs(row.runs_left_out())));
  return parts.empty() ? "no runs" : join(parts, ", ");
}

/// Returns why a side of a row has no value; empty if it has one.
std::string lack_of(const Row* row, const char* side) {
  if (row == nullptr) return fmt::format("{} has no such configuration", side);
  return has_values(row) ? "" : fmt::format("no value in {}: {}", side, why_without_value(*row));
}

/// Returns a sentence such as `1 run of B has not ended: 4 succeeded, 1 running; 2 runs of B have not begun: run them`.
std::string why_not_ended(const Row& b, long long unfinished, int not_begun) {
  std::vector<std::string> parts;
  const auto have = [](long long count) { return count == 1 ? "has" : "have"; };
  if (unfinished > 0) {
    parts.push_back(
        fmt::format("{} of B {} not ended: {}", counted_runs(unfinished), have(unfinished), b.counts.outcomes.text()));
  }
  if (not_begun > 0) {
    parts.push_back(fmt::format("{} of B {} not begun: run {}, or give --allow-missing", counted_runs(not_begun),
                                have(not_begun), not_begun == 1 ? "it" : "them"));
  }
  return join(parts, "; ");
}

/// One rule, applied to all rows.
class RuleCheck {
 public:
  RuleCheck(const Comparison& comparison, const ComparisonOptions& options, const std::vector<Sides>& sides)
      : comparison_(comparison), options_(options), sides_(sides) {}

  RuleResult check(const FailRule& rule, const std::vector<GateRow>& matched, const std::vector<GateRow>& single) {
    RuleResult result{rule, GateState::passes, {}};
    if (is_change(rule.kind)) find_p_values(rule);
    for (std::size_t i = 0; i < matched.size(); ++i) result.rows.push_back(finding(rule, matched[i], &i));
    for (const GateRow& row : single) {
      RowFinding found = finding(rule, row, nullptr);
      if (found.state != GateState::not_compared) result.rows.push_back(std::move(found));
    }
    result.state = state_of(result.rows);
    return result;
  }

 private:
  static bool is_change(Kind kind) { return kind <= Kind::lower; }

  static GateState state_of(const std::vector<RowFinding>& rows) {
    const auto has = [&](GateState state) {
      return std::any_of(rows.begin(), rows.end(), [&](const RowFinding& row) { return row.state == state; });
    };
    if (has(GateState::fails)) return GateState::fails;
    return has(GateState::undecided) || !has(GateState::passes) ? GateState::undecided : GateState::passes;
  }

  /// `i` is the index of a row that both sides have.
  RowFinding finding(const FailRule& rule, const GateRow& row, const std::size_t* i) {
    RowFinding found{name_of_row(comparison_, row), GateState::passes, ""};
    if (rule.kind == Kind::missing) {
      found.reason = !lack_of(row.a, "A").empty() ? lack_of(row.a, "A") : lack_of(row.b, "B");
      if (!found.reason.empty()) found.state = GateState::fails;
    } else if (rule.kind == Kind::no_value) {
      check_value(found, row);
    } else if (rule.kind == Kind::failed) {
      check_failed(found, rule, row);
    } else if (i == nullptr) {
      found.state = GateState::not_compared;
    } else {
      check_compared(found, rule, row, *i);
    }
    return found;
  }

  static void check_value(RowFinding& found, const GateRow& row) {
    // A configuration that A never ran must give a value in B if B ran it.
    const bool is_new = row.a == nullptr || row.a->counts.outcomes.empty();
    const bool is_lost_in_b = is_new && row.b != nullptr && !row.b->counts.outcomes.empty() && !has_values(row.b);
    if (is_lost_in_b) {
      found.state = GateState::fails;
      found.reason =
          fmt::format("{} (A {})", lack_of(row.b, "B"), row.a == nullptr ? "has no such configuration" : "has no runs");
    } else if (!has_values(row.a)) {
      found.state = GateState::not_compared;
      found.reason = lack_of(row.a, "A");
    } else if (!has_values(row.b)) {
      found.state = GateState::fails;
      found.reason = lack_of(row.b, "B");
    }
  }

  void check_failed(RowFinding& found, const FailRule& rule, const GateRow& row) const {
    if (row.b == nullptr) {
      found.state = GateState::not_compared;
      found.reason = lack_of(row.b, "B");
      return;
    }
    const StateCounts& outcomes = row.b->counts.outcomes;
    const long long ended = outcomes.ended();
    const long long unfinished = outcomes.all() - ended;
    const int not_begun = options_.allow_missing ? 0 : row.b_not_begun;
    if (ended + unfinished + not_begun == 0) {
      found.state = GateState::not_compared;
      found.reason = "no run of B counts: " + why_without_value(*row.b);
      return;
    }
    const long long others = ended - outcomes.of(State::succeeded);
    if (static_cast<double>(others) > rule.threshold) {
      found.state = GateState::fails;
    } else if (static_cast<double>(others + unfinished + not_begun) > rule.threshold) {
      found.state = GateState::undecided;
      found.reason = why_not_ended(*row.b, unfinished, not_begun);
      return;
    }
    found.reason = others == 0 ? fmt::format("{} of B succeeded", counted_runs(ended))
                               : fmt::format("{} of {} of B did not succeed: {}", others, counted_runs(ended),
                                             outcomes.text(State::succeeded));
  }

  void check_compared(RowFinding& found, const FailRule& rule, const GateRow& row, std::size_t i) {
    const std::string lack = has_values(row.a) ? lack_of(row.b, "B") : lack_of(row.a, "A");
    if (!lack.empty()) {
      // A change cannot be observed there. Anything that must be proven is not.
      const bool is_proven = is_change(rule.kind) || options_.allow_missing;
      found.state = is_proven ? GateState::not_compared : GateState::fails;
      found.reason = lack;
    } else if (rule.kind == Kind::not_equivalent) {
      const bool holds = !comparison_.rows[i].equivalent;
      found.state = holds ? GateState::fails : GateState::passes;
      const std::string within = fmt::format("equivalent within {:g} %", 100 * comparison_.margin);
      found.reason = holds ? "not proven " + within + unproven(i, 1 - comparison_.confidence) : within;
    } else if (rule.kind == Kind::not_resolved) {
      const bool holds = comparison_.rows[i].verdict == ComparisonVerdict::not_resolved;
      found.state = holds ? GateState::fails : GateState::passes;
      found.reason = holds ? "not resolved" + unproven(i, change_level()) : to_string(comparison_.rows[i].verdict);
    } else {
      check_change(found, rule, i);
    }
  }

  void check_change(RowFinding& found, const FailRule& rule, std::size_t i) {
    if (p_values_[i] <= change_level() + kGateRounding) {
      found.state = GateState::fails;
      const std::string by = rule.threshold > 0 ? fmt::format(" by more than {:g} %", 100 * rule.threshold) : "";
      found.reason = fmt::format("{}{}: B / A is {}", word_of(rule.kind), by, compared_ratio_text(comparison_.rows[i]));
      return;
    }
    if (sides_[i].a.empty() || has_too_few(i, change_level())) found.state = GateState::undecided;
    found.reason = "not proven" + unproven(i, change_level());
  }

  static const char* word_of(Kind kind) {
    return kind == Kind::slower ? "slower" : kind == Kind::faster ? "faster" : kind == Kind::higher ? "larger" : "smaller";
  }

  int fewest_runs(double level) const {
    return fewest_runs_to_reject(static_cast<double>(comparison_.rows.size()) * static_cast<double>(comparison_.looks), level);
  }
  bool has_too_few(std::size_t i, double level) const {
    return static_cast<int>(std::min(sides_[i].a.size(), sides_[i].b.size())) < fewest_runs(level);
  }

  /// Returns ` (3 + 3 runs; at least 4 + 4 are needed)`, or why no number of runs would suffice.
  std::string unproven(std::size_t i, double level) const {
    const Sides& sides = sides_[i];
    if (sides.a.empty()) return ": " + comparison_.rows[i].remark;
    const std::string runs = fmt::format(" ({} + {} runs", sides.a.size(), sides.b.size());
    if (!has_too_few(i, level)) return fmt::format("{}; B / A is {})", runs, compared_ratio_text(comparison_.rows[i]));
    return fmt::format("{}; at least {} + {} are needed)", runs, fewest_runs(level), fewest_runs(level));
  }

  double change_level() const { return (1 - comparison_.confidence) / 2; }

  /// One-sided, for a change beyond the threshold in the rule's direction; 1 for a row without two sides.
  void find_p_values(const FailRule& rule) {
    const Direction direction = direction_of(comparison_);
    if ((rule.kind == Kind::slower || rule.kind == Kind::faster) && direction == Direction::other) {
      throw InputError(fmt::format(
          "error: --fail-if `{0}`: `{1}` is neither a time nor a rate; write `{1} > 5%` (larger) or `{1} < -5%` (smaller)",
          rule.text, comparison_.metric));
    }
    const bool up = rule.kind == Kind::higher || (rule.kind == Kind::slower && direction == Direction::time) ||
                    (rule.kind == Kind::faster && direction == Direction::rate);
    const double factor = 1 + rule.threshold;
    p_values_.clear();
    for (const Sides& side : sides_) {
      const double p = side.a.empty() ? 1
                       : up           ? larger_p_value(side.a, side.b, factor)
                                      : smaller_p_value(side.a, side.b, 1 / factor);
      p_values_.push_back(p_value_over_looks(p, comparison_.looks));
    }
    p_values_ = holm_adjusted(p_values_);
  }

  const Comparison& comparison_;
  const ComparisonOptions& options_;
  const std::vector<Sides>& sides_;
  std::vector<double> p_values_;  // of the current rule, after Holm
};

/// Returns the rules of --fail-if, after the rule that they imply: no row may lose its value.
std::vector<FailRule> rules_of(const ComparisonOptions& options, const std::string& metric) {
  std::vector<FailRule> rules;
  const bool has_missing = std::any_of(options.fail_if.begin(), options.fail_if.end(),
                                       [](const FailRule& rule) { return rule.kind == Kind::missing; });
  if (!options.allow_missing && !has_missing)
    rules.push_back({Kind::no_value, 0, "", fmt::format("no value of {} in B", metric)});
  rules.insert(rules.end(), options.fail_if.begin(), options.fail_if.end());
  return rules;
}

}  // namespace

std::string name_of_row(const Comparison& comparison, const GateRow& row) {
  if (row.a == nullptr || row.b == nullptr) return describe(row.a != nullptr ? row.a->axes : row.b->axes);
  Bindings axes;
  for (const std::string& column : comparison.columns) {
    if (const Value* value = find_binding(row.a->axes, column)) axes.emplace_back(column, *value);
  }
  return describe(axes.empty() ? row.a->axes : axes);
}

SideRuns runs_of_side(const Row* row, const Table& side) {
  SideRuns runs;
  if (row == nullptr) return runs;
  int repeats = 0;
  int imported = 0;
  for (const RunValue& run : row->runs) {
    runs.with_value += run.value ? 1 : 0;
    repeats += run.run.is_repeat() ? 1 : 0;
    imported += run.run.is_imported() ? 1 : 0;
  }
  std::vector<std::string> parts;
  if (runs.with_value > 0) parts.push_back(fmt::format("{} with a value", runs.with_value));
  runs.nan = row->counts.nan;
  runs.set_aside = row->runs_left_out();
  for (const auto& [state, count] : row->counts.outcomes) {
    if (state != State::succeeded) {
      (is_outcome(state) ? runs.failed : runs.unfinished) += static_cast<int>(count);
      parts.push_back(fmt::format("{} {}", count, shown_name(state)));
    } else if (count > runs.with_value) {
      runs.without_value = static_cast<int>(count) - runs.with_value;
      parts.push_back(fmt::format("{} succeeded without a value{}", runs.without_value,
                                  side.looks.empty() ? "" : " or after the last look"));
      if (runs.nan > 0) parts.back() += fmt::format(" ({} nan)", runs.nan);
    }
  }
  if (runs.set_aside > 0) parts.push_back(fmt::format("{} set aside", runs.set_aside));
  const bool is_planned = side.planned_repeats > 0 && (imported == 0 || repeats > 0);
  const int again = row->runs_set_aside() - runs.set_aside;
  if (again > 0) parts.push_back(fmt::format("{} measured again", again));
  runs.measured_again = again;
  if (is_planned) runs.not_begun = std::max(0, side.planned_repeats - repeats - runs.set_aside);
  if (runs.not_begun > 0) parts.push_back(fmt::format("{} not begun", runs.not_begun));
  runs.text = parts.empty() ? "no runs" : join(parts, ", ");
  return runs;
}

void add_errors(Comparison& comparison, std::vector<std::string> errors) {
  comparison.errors = std::move(errors);
  if (comparison.errors.empty()) return;
  for (ComparedRow& row : comparison.rows) row.fails = false;
  for (RuleResult& rule : comparison.rules) {
    rule.state = GateState::undecided;
    for (RowFinding& row : rule.rows) {
      if (row.state == GateState::not_compared) continue;
      row.state = GateState::undecided;
      row.reason = "an import is broken, so values may be missing or old";
    }
  }
}

std::vector<double> values_of_row(const Row& row) {
  std::vector<double> values;
  for (const RunValue& run : row.runs) {
    if (run.value) values.push_back(*run.value);
  }
  return values;
}

std::string to_string(GateState state) {
  switch (state) {
    case GateState::passes:
      return "passes";
    case GateState::fails:
      return "fails";
    case GateState::undecided:
      return "undecided";
    case GateState::not_compared:
      return "not compared";
  }
  return "undecided";
}

GateState gate_state(const Comparison& comparison) {
  const auto has = [&](GateState state) {
    return std::any_of(comparison.rules.begin(), comparison.rules.end(),
                       [&](const RuleResult& rule) { return rule.state == state; });
  };
  if (!comparison.errors.empty()) return GateState::undecided;
  return has(GateState::fails) ? GateState::fails : has(GateState::undecided) ? GateState::undecided : GateState::passes;
}

void apply_rules(Comparison& comparison, const ComparisonOptions& options, const std::vector<Sides>& sides,
                 const std::vector<GateRow>& matched, const std::vector<GateRow>& single) {
  RuleCheck check(comparison, options, sides);
  std::vector<RuleResult> results;
  for (const FailRule& rule : rules_of(options, comparison.metric)) results.push_back(check.check(rule, matched, single));
  for (const RuleResult& result : results) {
    for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
      if (result.rows[i].state == GateState::fails) comparison.rows[i].fails = true;
    }
  }
  comparison.rules = std::move(results);
}

}  // namespace hpcbench

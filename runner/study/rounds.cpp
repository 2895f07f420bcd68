#include "study/rounds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "plan/select.hpp"
#include "study/follow.hpp"
#include "study/index.hpp"
#include "submit/next_attempt.hpp"

namespace hpcbench {

namespace {

constexpr double kHour = 3600;

/// Whether an attempt continued another one: its wall_s is then that of all segments so far.
bool is_continued(const AttemptRecord& attempt) {
  const auto segments = attempt.metrics.find("segments");
  return segments != attempt.metrics.end() && segments->second > 1;
}

/// Chooses what the next round has.
class RoundChoice {
 public:
  RoundChoice(const Study& study, const RoundsView& view) : study_(study), rows_(view.rows) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const bool asked = study.selected().find(study.plan.configurations[i].id).has_value();
      if (asked && rows_[i].next > rows_[i].ended) going_.push_back(i);
    }
  }

  bool none() const { return going_.empty(); }

  /// All rows whose next look is the nearest, up to it.
  Round up_to_look() const {
    int look = rows_[going_.front()].next;
    for (const std::size_t i : going_) look = std::min(look, rows_[i].next);
    std::vector<std::size_t> chosen;
    for (const std::size_t i : going_) {
      if (rows_[i].next == look) chosen.push_back(i);
    }
    return make(chosen, look, false);
  }

  /// One block within what is left.
  Round one_block(double left_hours) const {
    const std::vector<std::size_t> candidates = affordable(left_hours);
    int block = rows_[candidates.front()].ended + 1;
    // Rows that stay behind would wait for ever: unless the cheapest rows go first, the least block does.
    if (!cheapest_first(left_hours)) {
      for (const std::size_t i : candidates) block = std::min(block, rows_[i].ended + 1);
    }
    std::vector<std::size_t> chosen;
    for (const std::size_t i : candidates) {
      if (rows_[i].ended + 1 == block) chosen.push_back(i);
    }
    return make(chosen, block, true);
  }

 private:
  /// Before the first look nobody knows what a row still takes; pairs are joined by block; and where there is enough for all
  /// rows, to choose would only tear apart in time what is compared. Blocks then stay whole.
  bool cheapest_first(double left_hours) const {
    const Experiment& experiment = study_.experiment;
    if (!experiment.repeat_rule || experiment.report.paired || most_hours() <= left_hours) return false;
    return std::all_of(going_.begin(), going_.end(), [&](std::size_t i) { return rows_[i].look > 0 || is_led_by_others(i); });
  }

  /// What all rows take if none is decided before the last look.
  double most_hours() const {
    double hours = 0;
    for (const std::size_t i : going_) hours += hours_of(i, false) * std::max(0, rows_[i].last_look - rows_[i].ended);
    return hours;
  }

  /// A baseline that goes on only because of rows that are compared with it.
  bool is_led_by_others(std::size_t i) const {
    return rows_[i].decided &&
           std::any_of(rows_.begin(), rows_.end(), [&](const LookProgress& row) { return row.baseline == i; });
  }

  /// What it takes to decide a row, in hours; endless where its spread says that it will not be.
  double hours_to_decide(std::size_t i) const {
    const LookProgress& row = rows_[i];
    if (!row.forecast || *row.forecast > study_.experiment.repeats) return HUGE_VAL;
    return hours_of(i, false) * std::max(1, *row.forecast - row.ended);
  }

  /// The rows that are cheapest to finish, as many as can be finished with what is left, one at least.
  std::vector<std::size_t> affordable(double left_hours) const {
    if (!cheapest_first(left_hours)) return going_;
    std::vector<std::size_t> rows = going_;
    std::erase_if(rows, [&](std::size_t i) { return is_led_by_others(i); });
    if (rows.empty()) return going_;
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::size_t a, std::size_t b) { return hours_to_decide(a) < hours_to_decide(b); });
    std::set<std::size_t> baselines;
    double sum = 0;
    std::size_t count = 0;
    for (const std::size_t i : rows) {
      sum += hours_to_decide(i);
      const std::optional<std::size_t>& base = rows_[i].baseline;
      if (base && baselines.insert(*base).second)
        sum += hours_of(*base, false) * std::max(0, rows_[i].forecast.value_or(0) - rows_[*base].ended);
      if (count > 0 && sum > left_hours) break;
      ++count;
    }
    rows.resize(count);
    return rows;
  }

  double hours_of(std::size_t i, bool needed) const {
    if (rows_[i].run_hours || !needed) return rows_[i].run_hours.value_or(0);
    throw UnavailableError(
        fmt::format("{}: error: what a run of `{}` costs is not known: none has ended, and it has no time limit\n  = set "
                    "`resources: {{time: ...}}`: within a budget no block is begun that may exceed it",
                    study_.experiment.place_of_key("budget"), study_.plan.describe_point(study_.plan.configurations[i])));
  }

  Round make(std::vector<std::size_t> chosen, int repeats, bool costs) const {
    for (std::size_t k = chosen.size(); k-- > 0;) {
      if (const std::optional<std::size_t>& base = rows_[chosen[k]].baseline) chosen.push_back(*base);
    }
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    Round round;
    round.plan = keep_configurations(study_.plan, chosen);
    round.plan.repeats = repeats;
    for (const std::size_t i : chosen) {
      const int runs = std::max(0, repeats - rows_[i].ended) + (rows_[i].ended == 0 ? study_.plan.warmups : 0);
      if (runs == 0) continue;
      round.expected_hours += runs * hours_of(i, costs);
      round.by_limits = round.by_limits || rows_[i].by_limits;
    }
    return round;
  }

  const Study& study_;
  const std::vector<LookProgress>& rows_;
  std::vector<std::size_t> going_;
};

std::string percent_text(double share) { return fmt::format("{:.3g} %", 100 * share); }

/// Hours that rows which are not decided still take, as far as their spread tells.
struct Rest {
  double hours = 0;
  bool is_whole = true;  // known for each of them
};
Rest rest_of(const RoundsView& view, int warmups) {
  Rest rest;
  for (const LookProgress& row : view.rows) {
    if (row.next <= row.ended) continue;
    const int last = row.forecast ? std::min(std::max(*row.forecast, row.next), row.last_look) : row.next;
    rest.hours += row.run_hours.value_or(0) * (last - row.ended + (row.ended == 0 ? warmups : 0));
    rest.is_whole = rest.is_whole && row.run_hours;
  }
  return rest;
}

}  // namespace

bool runs_in_rounds(const Study& study, const RunOptions& options) {
  return study.experiment.repeat_rule || study.experiment.budget || options.at_most_hours;
}

double attempt_hours(const AttemptRecord& attempt, CostUnit unit) {
  if (!is_outcome(attempt.state) || attempt.key.run.is_imported() || attempt.is_void) return 0;
  const auto wall_s = attempt.metrics.find("wall_s");
  double seconds = 0;
  if (wall_s != attempt.metrics.end() && std::isfinite(wall_s->second) && !is_continued(attempt)) {
    seconds = wall_s->second;
  } else if (attempt.started_unix_s && attempt.finished_unix_s) {
    seconds = std::max(0.0, *attempt.finished_unix_s - *attempt.started_unix_s);
  } else if (attempt.started_unix_s) {
    seconds = attempt.time_limit_s.value_or(0);
  }
  const int units = unit == CostUnit::gpu_hours ? attempt.gpus : size_on_record(attempt, ScaleBy::nodes);
  return units * seconds / kHour;
}

RoundsView look_at_rounds(const Study& study, const Store& store) {
  const std::string& name = study.experiment.name;
  RoundsView view;
  for (const AttemptRecord& attempt : store.attempts(name)) view.spent_hours += attempt_hours(attempt, study.plan.cost_unit);
  const std::vector<AttemptState> states = store.states(name);
  // What gets another attempt of its own accord has not ended.
  std::set<std::pair<std::string, RunName>> again;
  for (const AttemptKey& key : attempts_to_follow(study.experiment, study.plan, study.results, states))
    again.emplace(key.config_id, key.run);
  std::vector<AttemptRecord> records = store.counting_attempts(name, study.experiment.report.inner.has_value());
  std::erase_if(records, [&](const AttemptRecord& each) { return again.contains({each.key.config_id, each.key.run}); });
  // A run that is left out has ended, without a value: blocks go on after it.
  std::set<std::string> excluded;
  for (const AttemptState& run : counting_states(states)) {
    if (run.standing == Standing::set_aside) excluded.insert(to_string(run.key));
  }
  if (!excluded.empty()) {
    for (AttemptRecord& each : store.set_aside_attempts(name, false)) {
      if (!excluded.contains(to_string(each.key))) continue;
      each.state = State::cancelled;
      each.metrics = {};
      records.push_back(std::move(each));
    }
  }
  view.rows = look_progress(study.experiment, study.plan, std::move(records));
  return view;
}

NextRound next_round(const Study& study, const RoundsView& view, std::optional<double> left_hours) {
  NextRound next;
  const RoundChoice choice(study, view);
  if (choice.none()) return next;
  Round round = left_hours ? choice.one_block(*left_hours) : choice.up_to_look();
  const bool is_too_dear = left_hours && round.expected_hours > *left_hours;
  (is_too_dear ? next.too_dear : next.round) = std::move(round);
  return next;
}

std::string too_dear_text(const Study& study, const Round& block, double left_hours) {
  const auto& continuation = study.experiment.continuation;
  return fmt::format("the next one takes about {} {}, and {} are left{}", plain_number(block.expected_hours),
                     to_string(study.plan.cost_unit), plain_number(left_hours),
                     continuation && block.by_limits
                         ? fmt::format("; where no run of a row has succeeded, each counts {} time limits: as many segments as "
                                       "`continue.max` allows",
                                       continuation->max)
                         : "");
}

std::optional<double> hours_left(const Study& study, const RoundsView& view, std::optional<double> of_call) {
  const std::optional<Cost>& budget = study.experiment.budget;
  if (!budget && !of_call) return std::nullopt;
  const double of_file = budget ? budget->hours - view.spent_hours : HUGE_VAL;
  return std::max(0.0, std::min(of_file, of_call.value_or(HUGE_VAL)));
}

bool may_begin_block(const Study& study, const RoundsView& view) {
  try {
    return !next_round(study, view, hours_left(study, view, std::nullopt)).too_dear;
  } catch (const UnavailableError&) {  // nobody knows what a run takes
    return true;
  }
}

void check_next_round(const Study& study, const Store& store, const RunOptions& options, PlanDiff& diff) {
  const RoundsView view = look_at_rounds(study, store);
  count_next_round(study, view, diff);
  if (options.retry.empty()) next_round(study, view, hours_left(study, view, options.at_most_hours));
}

int last_repeat(const LookProgress& row) { return std::max(row.next, row.ended); }

std::vector<std::string> rounds_lines(const Study& study, const RoundsView& view) {
  const Experiment& experiment = study.experiment;
  std::vector<std::string> lines;
  if (experiment.repeat_rule) {
    const auto decided = std::count_if(view.rows.begin(), view.rows.end(), [](const LookProgress& row) { return row.decided; });
    lines.push_back(
        fmt::format("{} of {} rows are decided (half width of the {} at most {}); looks at {} runs, {:g} % over {} looks",
                    decided, view.rows.size(), experiment.repeat_rule->of == RepeatRule::Of::speedup ? "speedup" : "median",
                    percent_text(experiment.repeat_rule->until), fmt::join(experiment.report.looks, ", "),
                    100 * experiment.report.confidence, experiment.report.looks.size()));
    for (std::size_t i = 0; i < view.rows.size(); ++i) {
      const LookProgress& row = view.rows[i];
      if (row.decided) continue;
      lines.push_back(
          fmt::format("  {}: {}{}", study.plan.describe_point(study.plan.configurations[i]), row.why,
                      row.next > row.ended ? fmt::format("; next look at {} runs{}", row.next, describe_rest(row)) : ""));
    }
  }
  if (experiment.budget) {
    const Rest rest = rest_of(view, study.plan.warmups);
    lines.push_back(fmt::format("budget: {} of {} {} are spent{}", plain_number(view.spent_hours),
                                plain_number(experiment.budget->hours), to_string(experiment.budget->unit),
                                rest.hours > 0 ? fmt::format("; what is left undone takes about {}{}", plain_number(rest.hours),
                                                             rest.is_whole ? "" : " or more")
                                               : ""));
  }
  return lines;
}

std::string rounds_json(const Study& study, const RoundsView& view) {
  if (!study.experiment.repeat_rule && !study.experiment.budget) return "";
  const std::string unit = key_of(study.plan.cost_unit);
  JsonWriter json;
  json.begin_object().member("spent_" + unit, view.spent_hours);
  if (study.experiment.budget) json.member("budget_" + unit, study.experiment.budget->hours);
  if (study.experiment.repeat_rule) json.member("until", study.experiment.repeat_rule->until);
  json.member("looks", study.experiment.report.looks).key("rows").begin_array();
  for (std::size_t i = 0; i < view.rows.size(); ++i) {
    const LookProgress& row = view.rows[i];
    json.begin_object().member("config_id", study.plan.configurations[i].id).member("ended", row.ended);
    json.member("look", row.look).member("half_width", row.half_width).member("decided", row.decided);
    json.member("next", row.next > row.ended ? std::optional(row.next) : std::nullopt);
    json.member("forecast", row.forecast).member("why", row.why).end();
  }
  return json.end().end().take();
}

void count_next_round(const Study& study, const RoundsView& view, PlanDiff& diff) {
  if (!study.experiment.repeat_rule) return;
  diff.total.fresh = 0;
  const std::vector<Configuration>& shown = study.selected().configurations;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::optional<std::size_t> at = study.plan.find(shown[i].id);
    const int last = at ? view.rows[*at].next : 0;
    diff.rows[i].fresh = std::max(0LL, last - diff.rows[i].kept);
    diff.total.fresh += diff.rows[i].fresh;
  }
}

}  // namespace hpcbench

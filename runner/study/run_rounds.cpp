#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "plan/select.hpp"
#include "study/call.hpp"
#include "study/follow.hpp"
#include "study/index.hpp"
#include "study/preparing.hpp"
#include "study/rounds.hpp"

namespace hpcbench {

namespace {

Study narrowed_to(const Study& study, Plan plan) {
  Study part = study;
  plan.notes.clear();  // said once
  part.narrowed = std::move(plan);
  return part;
}

/// `retry` asks for runs that have ended, also of rows that no round has any more: one part for each number of them.
std::vector<Study> parts_to_retry(const Study& study, const RoundsView& view) {
  std::map<int, std::vector<std::size_t>> by_ended;
  for (std::size_t i = 0; i < view.rows.size(); ++i) {
    const bool asked = study.selected().find(study.plan.configurations[i].id).has_value();
    if (asked && view.rows[i].ended > 0) by_ended[view.rows[i].ended].push_back(i);
  }
  std::vector<Study> parts;
  for (const auto& [ended, rows] : by_ended) {
    Plan plan = keep_configurations(study.plan, rows);
    plan.repeats = ended;
    parts.push_back(narrowed_to(study, std::move(plan)));
  }
  return parts;
}

/// Of the runs that are asked for, up to where the study has come: those that have an outcome.
RunTotals count_ends(const Study& study, const Store& store) {
  RunTotals totals;
  for (const AttemptState& run : counting_states(store.states(study.experiment.name))) {
    if (!is_asked(study, run.key) || run.standing == Standing::set_aside) continue;
    totals.ended += is_outcome(run.state) ? 1 : 0;
    totals.succeeded += run.state == State::succeeded ? 1 : 0;
  }
  totals.asked = totals.ended;
  return totals;
}

/// What is left of the file's budget and of this call's.
class Purse {
 public:
  Purse(const Study& study, const RunOptions& options, const RoundsView& view, CallBudget& budget)
      : study_(study), at_most_(options.at_most_hours), spent_before_(view.spent_hours), budget_(budget) {}
  /// Also where an error ends the study: no other one waits for it then.
  ~Purse() { budget_.leave(study_.experiment.name); }
  Purse(const Purse&) = delete;
  Purse& operator=(const Purse&) = delete;

  std::optional<double> left(const RoundsView& view) const {
    std::optional<double> of_call;
    if (at_most_) of_call = *at_most_ - (view.spent_hours - spent_before_) - budget_.of_others(study_.experiment.name);
    return hours_left(study_, view, of_call);
  }
  /// A block begins that may take so much; none: it has ended.
  void commit(const RoundsView& view, std::optional<double> block_hours = std::nullopt) {
    budget_.commit(study_.experiment.name, view.spent_hours - spent_before_, block_hours);
  }
  /// Why nothing more begins once the study has spent so much.
  std::string why_held(double spent) {
    budget_.note_spent(study_.experiment.name, spent - spent_before_);
    const std::optional<Cost>& of_file = study_.experiment.budget;
    if (of_file && spent >= of_file->hours)
      return fmt::format("the budget is spent; with a larger one `{}` goes on", study_.command("run"));
    if (at_most_ && budget_.spent_hours() >= *at_most_) {
      return fmt::format("the {} of this call are spent; `{} --at-most ...` goes on", to_string(study_.plan.cost_unit),
                         study_.command("run"));
    }
    return "";
  }
  bool others_busy() const { return at_most_ && budget_.others_busy(study_.experiment.name); }

 private:
  const Study& study_;
  std::optional<double> at_most_;
  double spent_before_;
  CallBudget& budget_;
};

std::string round_name(const Round& round, bool is_block) {
  return fmt::format("{} {}{}", is_block ? "block" : "look at", round.plan.repeats, is_block ? "" : " runs");
}

std::string round_text(const Study& study, const Round& round, const RoundsView& view, std::optional<double> left) {
  long long runs = 0, warmups = 0;
  for (const Configuration& configuration : round.plan.configurations) {
    const std::optional<std::size_t> at = study.plan.find(configuration.id);
    if (!at) continue;
    runs += std::max(0, round.plan.repeats - view.rows[*at].ended);
    warmups += view.rows[*at].ended == 0 ? study.plan.warmups : 0;
  }
  const auto rows = static_cast<long long>(round.plan.configurations.size());
  const std::string text =
      fmt::format("{}: {}, {}{}", round_name(round, left.has_value()), counted(rows, "row", "rows"),
                  counted(runs, "run", "runs"), warmups == 0 ? "" : " and " + counted(warmups, "warm-up", "warm-ups"));
  return left ? fmt::format("{}, about {:.3g} of {:.3g} {} that are left", text, round.expected_hours, *left,
                            to_string(study.plan.cost_unit))
              : text;
}

/// `stopped`: what to do has been said.
int summarise_rounds(const Study& study, const RoundsView& view, const Store& store, bool anything, bool stopped) {
  write_index_file(counting_states(store.states(study.experiment.name)), study);
  for (const std::string& line : not_begun_lines(study, counting_states(store.states(study.experiment.name)))) say(line);
  for (const std::string& line : rounds_lines(study, view)) say(line);
  if (!anything) say("nothing was run again");
  const int code = say_totals(study, count_ends(study, store), stopped);
  return stopped ? 1 : code;
}

long long sum_of_ended(const RoundsView& view) {
  return std::accumulate(view.rows.begin(), view.rows.end(), 0LL,
                         [](long long sum, const LookProgress& row) { return sum + row.ended; });
}

/// Whether the runs of the parts so far say that going on would only fail again.
bool stops_between(const Study& study, const StudyWatch& watch) {
  const std::optional<std::string> why = watch.reason_to_stop();
  if (why) say(stopped_text(study, *why, "No more begin"));
  return why.has_value();
}

}  // namespace

void CallBudget::commit(const std::string& study, double spent_hours, std::optional<double> block_hours) {
  parts_[study] = {spent_hours, spent_hours + block_hours.value_or(0), block_hours.has_value()};
}

double CallBudget::of_others(const std::string& study) const {
  double hours = 0;
  for (const auto& [name, part] : parts_) hours += name == study ? 0 : std::max(part.spent_hours, part.committed_hours);
  return hours;
}

double CallBudget::spent_hours() const {
  double hours = 0;
  for (const auto& [name, part] : parts_) hours += part.spent_hours;
  return hours;
}

bool CallBudget::others_busy(const std::string& study) const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const auto& part) { return part.first != study && part.second.busy; });
}

Steps<int> run_rounds(const Study& study, const RunOptions& options, Store& store, CallBudget& budget, const StudyWatch& watch,
                      const CarryOut& carry_out_part) {
  refresh_index(store, study);
  RoundsView view = look_at_rounds(study, store);
  Purse purse(study, options, view, budget);
  bool anything = false;
  bool stopped = false;
  const auto carry_out = [&](const Study& part, RunOptions of_part) -> Steps<PartEnd> {
    if (anything) of_part.prepare_again.clear();
    const double before = view.spent_hours;
    const WhyHeld why_held = [&](double part_hours) { return purse.why_held(before + part_hours); };
    const PartEnd end = co_await carry_out_part(part, of_part, why_held);
    anything = true;
    stopped = end.stopped;
    if (end.code) co_return end;
    refresh_index(store, study);
    view = look_at_rounds(study, store);
    purse.commit(view);
    co_return end;
  };
  for (const Study& part : options.retry.empty() ? std::vector<Study>{} : parts_to_retry(study, view)) {
    stopped = stopped || stops_between(study, watch);
    if (stopped) break;
    const PartEnd end = co_await carry_out(part, options);
    if (end.code) co_return *end.code;
  }
  RunOptions further = options;
  further.retry.clear();
  while (!stopped) {
    const std::optional<double> left = purse.left(view);
    NextRound next = next_round(study, view, left);
    if (next.too_dear && purse.others_busy() && interrupted() == 0) {  // they may leave enough
      co_await Pause::look;
      continue;
    }
    if (next.too_dear) say("no block is begun: " + too_dear_text(study, *next.too_dear, *left));
    if (!next.round) break;
    stopped = stops_between(study, watch);
    if (stopped) break;
    say(round_text(study, *next.round, view, left));
    const long long before = sum_of_ended(view);
    purse.commit(view, next.round->expected_hours);
    const std::string name = round_name(*next.round, left.has_value());
    Study part = narrowed_to(study, std::move(next.round->plan));
    part.round = name;
    const PartEnd end = co_await carry_out(part, further);
    if (end.code) co_return *end.code;
    if (sum_of_ended(view) == before) break;  // what is missing cannot begin: that was said
  }
  for (const std::string& line : watch.failures.repeated()) say(line);
  co_return summarise_rounds(study, view, store, anything, stopped);
}

}  // namespace hpcbench

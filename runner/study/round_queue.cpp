#include "study/round_queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "plan/select.hpp"

namespace hpcbench {

namespace {

/// `retry` asks for runs that have ended, also of rows that no later round has: one round for each number of them.
std::deque<Round> rounds_to_retry(const Study& study, const RunOptions& options, const RoundsView& view) {
  std::deque<Round> rounds;
  if (options.retry.empty()) return rounds;
  std::map<int, std::vector<std::size_t>> by_ended;
  for (std::size_t i = 0; i < view.rows.size(); ++i) {
    const bool asked = study.selected().find(study.plan.configurations[i].id).has_value();
    if (asked && view.rows[i].ended > 0) by_ended[view.rows[i].ended].push_back(i);
  }
  for (const auto& [ended, rows] : by_ended) {
    Round round{.plan = keep_configurations(study.plan, rows), .retry = options.retry};
    round.plan.repeats = ended;
    rounds.push_back(std::move(round));
  }
  return rounds;
}

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
  const std::string text = fmt::format("{}: {}, {}{}", round.name, counted(rows, "row", "rows"), counted(runs, "run", "runs"),
                                       warmups == 0 ? "" : " and " + counted(warmups, "warm-up", "warm-ups"));
  return left ? fmt::format("{}, about {} of {} {} that are left", text, plain_number(round.expected_hours),
                            plain_number(*left), to_string(study.plan.cost_unit))
              : text;
}

long long sum_of_ended(const RoundsView& view) {
  return std::accumulate(view.rows.begin(), view.rows.end(), 0LL,
                         [](long long sum, const LookProgress& row) { return sum + row.ended; });
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

RoundQueue::RoundQueue(const Study& study, const RunOptions& options, const Store& store, CallBudget& budget)
    : study_(study),
      options_(options),
      budget_(budget),
      is_adaptive_(runs_in_rounds(study, options)),
      prepare_again_(options.prepare_again) {
  if (!is_adaptive_) {
    fixed_.push_back({.plan = study.selected(), .retry = options.retry});
    return;
  }
  view_ = look_at_rounds(study, store);
  spent_before_ = view_.spent_hours;
  fixed_ = rounds_to_retry(study, options, view_);
}

RoundQueue::~RoundQueue() { budget_.leave(study_.experiment.name); }

std::optional<double> RoundQueue::hours_left_now() const {
  std::optional<double> of_call;
  if (options_.at_most_hours) {
    of_call = *options_.at_most_hours - (view_.spent_hours - spent_before_) - budget_.of_others(study_.experiment.name);
  }
  return hours_left(study_, view_, of_call);
}

std::optional<Round> RoundQueue::next() {
  waits_ = false;
  if (!fixed_.empty()) {
    Round round = std::move(fixed_.front());
    fixed_.pop_front();
    round.prepare_again = std::exchange(prepare_again_, {});
    return round;
  }
  // If the last round ended no run, the missing ones cannot begin: that was said.
  if (!is_adaptive_ || ended_ == sum_of_ended(view_)) return std::nullopt;
  const std::optional<double> left = hours_left_now();
  NextRound next = next_round(study_, view_, left);
  waits_ = next.too_dear && options_.at_most_hours && budget_.others_busy(study_.experiment.name) && interrupted() == 0;
  if (next.too_dear && !waits_) say("no block is begun: " + too_dear_text(study_, *next.too_dear, *left));
  if (!next.round) return std::nullopt;
  next.round->name = round_name(*next.round, left.has_value());
  next.round->prepare_again = std::exchange(prepare_again_, {});
  return std::move(next.round);
}

void RoundQueue::begin(const Round& round) {
  if (round.name.empty()) return;  // its runs are said already
  say(round_text(study_, round, view_, hours_left_now()));
  ended_ = sum_of_ended(view_);
  budget_.commit(study_.experiment.name, view_.spent_hours - spent_before_, round.expected_hours);
}

void RoundQueue::note_end(const Store& store) {
  if (!is_adaptive_) return;
  view_ = look_at_rounds(study_, store);
  budget_.commit(study_.experiment.name, view_.spent_hours - spent_before_, std::nullopt);
}

std::string RoundQueue::why_held(double round_hours) {
  if (!is_adaptive_) return "";
  const double spent = view_.spent_hours + round_hours;
  budget_.note_spent(study_.experiment.name, spent - spent_before_);
  const std::optional<Cost>& of_file = study_.experiment.budget;
  if (of_file && spent >= of_file->hours)
    return fmt::format("the budget is spent; with a larger one `{}` continues", study_.command("run"));
  if (options_.at_most_hours && budget_.spent_hours() >= *options_.at_most_hours) {
    return fmt::format("the {} of this call are spent; `{} --at-most ...` continues", to_string(study_.plan.cost_unit),
                       study_.command("run"));
  }
  return "";
}

}  // namespace hpcbench

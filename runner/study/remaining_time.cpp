#include "study/remaining_time.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr double kTolerance = 0.05;   // an estimate that rises by less than this part of it, and
constexpr double kToleranceS = 1;     // a second, keeps counting down as before
constexpr double kClearlyMore = 1.2;  // times what was expected: the reason for a later end

}  // namespace

RemainingTime::RemainingTime(Clock& clock, std::optional<int> slots)
    : clock_(clock), slots_(slots), start_s_(clock.monotonic_s()) {}

void RemainingTime::know(const std::string& config_id, double wall_s) {
  for (Runs* const runs : {&configurations_[config_id], &all_}) {
    ++runs->measured;
    runs->wall_s += wall_s;
  }
  due_ = true;
}

void RemainingTime::expect(const std::string& config_id, long long runs) {
  configurations_[config_id].left += runs;
  all_.left += runs;
  due_ = true;
}

void RemainingTime::begin() {
  start_s_ = clock_.monotonic_s();
  first_s_.reset();
  work_since_start_s_ = work_since_first_s_ = 0;
  end_s_.reset();
  why_.clear();
  due_ = true;
}

void RemainingTime::note_end(const std::string& config_id, std::optional<double> wall_s) {
  Runs& runs = configurations_[config_id];
  last_expected_s_ = mean_of(runs);
  last_wall_s_ = wall_s;
  last_s_ = clock_.monotonic_s();
  const double work_s = wall_s.value_or(last_expected_s_.value_or(0));
  work_since_start_s_ += work_s;
  if (first_s_) work_since_first_s_ += work_s;
  if (!first_s_) first_s_ = last_s_;
  if (runs.left > 0) {
    --runs.left;
    --all_.left;
  }
  if (wall_s) know(config_id, *wall_s);
  due_ = true;
}

std::optional<double> RemainingTime::mean_of(const Runs& runs) const {
  const Runs& known = runs.measured > 0 ? runs : all_;
  if (known.measured == 0) return std::nullopt;
  return known.wall_s / static_cast<double>(known.measured);
}

/// Absent where nothing is known. Retries and warm-ups are in `left` alone: they take as long as the others on average.
std::optional<double> RemainingTime::work_left(long long left) const {
  if (all_.measured == 0) return std::nullopt;
  double work_s = 0;
  for (const auto& [id, runs] : configurations_) work_s += static_cast<double>(runs.left) * mean_of(runs).value_or(0);
  if (all_.left == 0) return static_cast<double>(left) * mean_of(all_).value_or(0);
  return work_s * static_cast<double>(left) / static_cast<double>(all_.left);
}

/// Seconds that a second of work takes. Local jobs begin at once, so that what they cost beside their work shows between their
/// ends; where a scheduler decides, waiting for it is part of the pace.
std::optional<double> RemainingTime::pace() const {
  if (!slots_) {
    if (work_since_start_s_ <= 0) return std::nullopt;
    return (last_s_ - start_s_) / work_since_start_s_;
  }
  const double best = 1.0 / *slots_;
  if (work_since_first_s_ <= 0 || work_since_first_s_ < work_since_start_s_ / 2) return best;
  return std::max(best, (last_s_ - *first_s_) / work_since_first_s_);
}

std::string RemainingTime::reason() const {
  const bool slow = last_wall_s_ && last_expected_s_ && *last_wall_s_ > kClearlyMore * *last_expected_s_;
  const std::string took = slow ? human_duration(*last_wall_s_) : "";
  const std::string expected = slow ? human_duration(*last_expected_s_) : "";
  if (took != expected) return fmt::format("the last run took {}, not {}", took, expected);
  return "later than said before: runs end more slowly than they did";
}

void RemainingTime::estimate(long long left) {
  due_ = false;
  const std::optional<double> work_s = work_left(left);
  const std::optional<double> seconds_a_second = pace();
  if (!work_s || !seconds_a_second) return;
  const double now_s = clock_.monotonic_s();
  const double left_s = *work_s * *seconds_a_second;
  const double end_s = now_s + left_s;
  const bool rises = end_s_ && end_s > std::max(*end_s_, now_s);
  if (rises && end_s - *end_s_ <= kToleranceS + kTolerance * left_s) return;
  why_ = rises ? reason() : "";
  end_s_ = end_s;
}

std::string RemainingTime::text(long long left) {
  if (left <= 0) return {};
  if (due_) estimate(left);
  if (!end_s_) {
    const std::optional<double> work_s = work_left(left);
    return work_s ? fmt::format("runs of {} in all left", human_duration(*work_s)) : "";
  }
  const double left_s = *end_s_ - clock_.monotonic_s();
  if (left_s >= 0) return fmt::format("about {} left{}", human_duration(left_s), why_.empty() ? "" : " (" + why_ + ")");
  const std::optional<double> mean_s = mean_of(all_);
  return fmt::format("{} over the estimate (runs took {} so far)", human_duration(-left_s), human_duration(mean_s.value_or(0)));
}

}  // namespace hpcbench

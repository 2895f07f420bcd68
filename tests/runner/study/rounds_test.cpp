// What a study in rounds begins next: up to the next look, or one block within what is left.
#include "study/rounds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "stats/stats.hpp"

using namespace hpcbench;

namespace {

/// A baseline and three rows on one gpu each.
Study study_of_rounds(const std::vector<int>& looks) {
  Study study;
  study.experiment.name = "s";
  study.experiment.path = "s.yaml";
  study.experiment.report.looks = looks;
  study.experiment.repeats = looks.empty() ? 6 : looks.back();
  if (!looks.empty()) study.experiment.repeat_rule = RepeatRule{0.03, RepeatRule::Of::metric, "s.yaml:4:10"};
  study.plan.axes = {"k"};
  study.plan.repeats = study.experiment.repeats;
  for (const char* id : {"a", "b", "c", "d"}) {
    Configuration configuration;
    configuration.id = id;
    configuration.values = {Value::from_plain(id)};
    configuration.work = std::make_shared<Work>();
    study.plan.configurations.push_back(std::move(configuration));
  }
  return study;
}

/// A row at its last look that goes on to `next`, of which a run costs an hour.
LookProgress row_of_rounds(int ended, int next, int forecast) {
  LookProgress row;
  row.ended = row.look = ended;
  row.next = next;
  row.decided = next == 0;
  row.run_hours = 1;
  row.baseline = 0;
  row.last_look = 15;
  if (forecast > 0) row.forecast = forecast;
  return row;
}

std::string ids_of(const NextRound& next) {
  std::string ids;
  if (!next.round) return "none";
  for (const Configuration& configuration : next.round->plan.configurations) ids += configuration.id;
  return ids + std::to_string(next.round->plan.repeats);
}

RoundsView view_of_rounds(std::vector<LookProgress> rows) {
  rows[0].baseline.reset();
  return {std::move(rows), 0};
}

}  // namespace

TEST_CASE("rounds: without a budget all undecided rows go to the nearest look, with their baseline") {
  const Study study = study_of_rounds({8, 11, 15});
  const auto go = [&](std::vector<LookProgress> rows) {
    return ids_of(next_round(study, view_of_rounds(std::move(rows)), {}));
  };
  CHECK(go({row_of_rounds(0, 8, 0), row_of_rounds(0, 8, 0), row_of_rounds(0, 8, 0), row_of_rounds(0, 8, 0)}) == "abcd8");
  CHECK(go({row_of_rounds(8, 11, 0), row_of_rounds(8, 0, 0), row_of_rounds(8, 11, 14), row_of_rounds(8, 0, 0)}) == "ac11");
  CHECK(go({row_of_rounds(11, 15, 0), row_of_rounds(8, 11, 14), row_of_rounds(11, 15, 14), row_of_rounds(8, 0, 0)}) == "ab11");
  CHECK(go({row_of_rounds(15, 0, 0), row_of_rounds(15, 0, 0), row_of_rounds(8, 0, 0), row_of_rounds(8, 0, 0)}) == "none");
}

TEST_CASE("rounds: --only leaves out rows, never their baseline") {
  Study study = study_of_rounds({8, 11, 15});
  Plan narrowed = study.plan;
  narrowed.configurations = {study.plan.configurations[2]};
  study.narrowed = narrowed;
  const RoundsView view =
      view_of_rounds({row_of_rounds(0, 8, 0), row_of_rounds(0, 8, 0), row_of_rounds(0, 8, 0), row_of_rounds(0, 8, 0)});
  CHECK(ids_of(next_round(study, view, {})) == "ac8");
}

TEST_CASE("rounds: within a budget one block, of the rows that are cheapest to finish") {
  Study study = study_of_rounds({8, 11, 15});
  LookProgress led = row_of_rounds(8, 11, 0);
  led.decided = true;
  // To finish: b 3 runs, c 7, d never (40 of 15); the baseline goes as far as they do.
  const RoundsView view = view_of_rounds({led, row_of_rounds(8, 11, 11), row_of_rounds(8, 11, 15), row_of_rounds(8, 11, 40)});
  CHECK(ids_of(next_round(study, view, 27)) == "abc9");
  CHECK(ids_of(next_round(study, view, 7)) == "ab9");
  CHECK(next_round(study, view, 7).round->expected_hours == 2);
  CHECK(ids_of(next_round(study, view, 2)) == "ab9");
  CHECK(ids_of(next_round(study, view, 1.9)) == "none");
  CHECK(next_round(study, view, 1.9).too_dear->expected_hours == 2);
  study.experiment.report.paired = true;  // pairs are joined by block: whole ones
  CHECK(ids_of(next_round(study, view, 7)) == "abcd9");
}

TEST_CASE("rounds: where there is enough for all rows to the last look, blocks are whole") {
  const Study study = study_of_rounds({8, 11, 15});
  // What the spread says will never be decided (40 runs of 15) went row by row, the baseline's runs long before the others'.
  const LookProgress wide = row_of_rounds(8, 11, 40);
  const RoundsView view = view_of_rounds({wide, wide, wide, wide});
  CHECK(ids_of(next_round(study, view, 28)) == "abcd9");
  CHECK(ids_of(next_round(study, view, 27)) == "a9");
}

TEST_CASE("rounds: before the first look, and of fixed repeats, blocks are whole") {
  LookProgress young = row_of_rounds(3, 8, 0);
  young.look = 0;
  LookProgress behind = young;
  behind.ended = 2;
  const RoundsView view = view_of_rounds({young, young, behind, behind});
  CHECK(ids_of(next_round(study_of_rounds({8, 11, 15}), view, 100)) == "acd3");
  const RoundsView fixed =
      view_of_rounds({row_of_rounds(2, 6, 0), row_of_rounds(2, 6, 0), row_of_rounds(2, 6, 0), row_of_rounds(2, 6, 0)});
  CHECK(ids_of(next_round(study_of_rounds({}), fixed, 4)) == "abcd3");
  CHECK(ids_of(next_round(study_of_rounds({}), fixed, 3.9)) == "none");
}

TEST_CASE("rounds: what is too dear says of limits only where its own rows count them") {
  Study study = study_of_rounds({8, 11, 15});
  study.experiment.continuation = Continuation{{State::timeout}, 20, {}};
  LookProgress fresh = row_of_rounds(0, 8, 0);
  fresh.by_limits = true;
  Plan asked = study.plan;
  asked.configurations = {study.plan.configurations[0], study.plan.configurations[1]};
  study.narrowed = asked;  // the others, of which nothing has ended, are not in the block
  const LookProgress measured = row_of_rounds(8, 11, 0);
  const auto text = [&](const RoundsView& view) { return too_dear_text(study, *next_round(study, view, 0.5).too_dear, 0.5); };
  CHECK(text(view_of_rounds({measured, measured, fresh, fresh})) == "the next one takes about 1 GPU-hours, and 0.5 are left");
  CHECK(text(view_of_rounds({fresh, fresh, fresh, fresh})).find("; where no run of a row has succeeded, each counts 20") !=
        std::string::npos);
}

TEST_CASE("rounds: what the studies of a call have spent, and may spend") {
  CallBudget budget;
  budget.commit("a", 1, 4);
  CHECK(budget.spent_hours() == 1);
  CHECK(budget.of_others("b") == 5);
  CHECK(budget.others_busy("b"));
  budget.note_spent("a", 3);
  budget.note_spent("b", 2);
  CHECK(budget.spent_hours() == 5);
  CHECK(budget.of_others("b") == 5);
  budget.note_spent("a", 6);  // its block takes more than it should
  CHECK(budget.of_others("b") == 6);
  budget.commit("a", 6.5, {});
  CHECK(budget.of_others("b") == 6.5);
  CHECK(!budget.others_busy("b"));
}

TEST_CASE("rounds: a block whose cost nobody knows is not begun") {
  LookProgress unknown = row_of_rounds(0, 8, 0);
  unknown.run_hours.reset();
  const RoundsView view = view_of_rounds({unknown, unknown, unknown, unknown});
  const Study study = study_of_rounds({8, 11, 15});
  CHECK_THROWS_AS(next_round(study, view, 100), UnavailableError);
  CHECK(ids_of(next_round(study, view, {})) == "abcd8");
}

TEST_CASE("rounds: new runs are those of the next look") {
  const Study study = study_of_rounds({8, 11, 15});
  PlanDiff diff;
  diff.rows.resize(4);
  for (RunCounts& row : diff.rows) row.kept = 8;
  const RoundsView view =
      view_of_rounds({row_of_rounds(8, 11, 0), row_of_rounds(8, 0, 0), row_of_rounds(8, 11, 14), row_of_rounds(8, 0, 0)});
  count_next_round(study, view, diff);
  CHECK(diff.total.fresh == 6);
  CHECK(diff.rows[1].fresh == 0);
  CHECK(rounds_lines(study, view).front().find("2 of 4 rows are decided") == 0);
}

namespace {

/// A study of ten rows whose spreads go from one to five, and whose runs cost an hour: its values as a seed gives them.
class SimulatedRounds {
 public:
  SimulatedRounds(unsigned seed, bool whole_blocks) : study_(study_of_rounds(kLadder)) {
    study_.experiment.report.paired = whole_blocks;
    study_.plan.configurations.resize(1);
    const Configuration any = study_.plan.configurations.front();
    study_.plan.configurations.clear();
    std::mt19937_64 generator(seed);
    const auto uniform = [&] { return (static_cast<double>(generator() >> 11) + 0.5) * 0x1p-53; };
    for (int i = 0; i < kRows; ++i) {
      study_.plan.configurations.push_back(any);
      study_.plan.configurations.back().id = std::string(1, static_cast<char>('a' + i));
      std::vector<double>& times = times_.emplace_back();
      for (int run = 0; run < kLadder.back(); ++run) {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        times.push_back(std::exp(0.01 * std::pow(5, i / (kRows - 1.0)) * radius * std::cos(2 * M_PI * uniform())));
      }
    }
    ended_.assign(kRows, 0);
  }

  /// How many rows are decided when no further block can be paid for.
  int decided_within(double hours) {
    while (true) {
      const RoundsView view = look();
      const NextRound next = next_round(study_, view, hours);
      if (!next.round) {
        CHECK(hours >= 0);
        return static_cast<int>(std::count_if(view.rows.begin(), view.rows.end(), [](const auto& row) { return row.decided; }));
      }
      for (const Configuration& configuration : next.round->plan.configurations) {
        int& ended = ended_[static_cast<std::size_t>(configuration.id[0] - 'a')];
        hours -= std::max(0, next.round->plan.repeats - ended);
        ended = std::max(ended, next.round->plan.repeats);
      }
    }
  }

 private:
  static constexpr int kRows = 10;
  inline static const std::vector<int> kLadder = {8, 11, 15, 20, 27, 36, 40};
  static constexpr double kWidth = 0.01;

  RoundsView look() const {
    RoundsView view;
    const Confidence confidence(0.95, kLadder);
    for (std::size_t i = 0; i < times_.size(); ++i) {
      LookProgress row;
      row.ended = ended_[i];
      row.run_hours = 1;
      row.last_look = kLadder.back();
      for (const int look : kLadder) row.look = look <= row.ended ? look : row.look;
      const auto next = std::upper_bound(kLadder.begin(), kLadder.end(), row.look);
      if (row.look > 0) {
        const std::vector<double> times(times_[i].begin(), times_[i].begin() + row.look);
        const auto ratio = paired_speedup(std::vector<double>(times.size(), 1), times, confidence);
        row.half_width = (ratio->interval->high - ratio->interval->low) / 2 / ratio->value;
        row.decided = *row.half_width <= kWidth;
        row.forecast = static_cast<int>(std::ceil(row.look * std::pow(*row.half_width / kWidth, 2)));
      }
      row.next = row.decided || next == kLadder.end() ? 0 : *next;
      view.rows.push_back(std::move(row));
    }
    return view;
  }

  Study study_;
  std::vector<std::vector<double>> times_;
  std::vector<int> ended_;
};

}  // namespace

TEST_CASE("rounds: the cheapest rows first decide more of them than equal shares, and no budget is exceeded") {
  int cheapest = 0;
  int equal = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    cheapest += SimulatedRounds(seed, false).decided_within(150);
    equal += SimulatedRounds(seed, true).decided_within(150);
  }
  CAPTURE(cheapest);
  CAPTURE(equal);
  CHECK(cheapest * 100 > 115 * equal);
}

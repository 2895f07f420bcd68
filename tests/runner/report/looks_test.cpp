// Rows whose number of repeats is found as it goes: what counts of them, when they are decided, and what is said of the rest.
#include "report/looks.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "fakes/checks.hpp"
#include "runner/report/study.hpp"

using namespace hpcbench;

namespace {

/// Baseline and ddp, with looks at 8, 11 and 15 runs.
MadeStudy study_with_looks(double until, RepeatRule::Of of = RepeatRule::Of::metric) {
  MadeStudy study = empty_study();
  study.experiment.report.looks = {8, 11, 15};
  study.experiment.repeats = study.plan.repeats = 15;
  study.experiment.repeat_rule = RepeatRule{until, of, "digits.yaml:4:10"};
  for (Configuration& configuration : study.plan.configurations) configuration.work = std::make_shared<Work>();
  return study;
}

/// Values around `middle` that differ by `step` from one to the next, in an order that is no trend.
std::vector<double> spread_values(int n, double middle, double step) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(middle + step * ((i % 2 == 0 ? 1 : -1) * (i / 2 + 1)));
  return values;
}

void add_spread(MadeStudy& study, std::size_t configuration, int n, double middle, double step) {
  study.add_runs(configuration, spread_values(n, middle, step), static_cast<int>(configuration), 2);
}

std::vector<LookProgress> progress_of(const MadeStudy& study) {
  return look_progress(study.experiment, study.plan, study.records);
}

AttemptRecord& record_of(MadeStudy& study, std::size_t configuration, int number) {
  for (AttemptRecord& record : study.records) {
    if (record.key.config_id == study.plan.configurations[configuration].id && record.key.run.number == number) return record;
  }
  FAIL("no such run");
  return study.records.front();
}

}  // namespace

TEST_CASE("looks of a report: runs count at the look, not between looks") {
  MadeStudy study = study_with_looks(0.03);
  add_spread(study, 0, 8, 100, 0.1);
  add_spread(study, 1, 8, 50, 0.1);
  const Table at_look = study.table();
  study.add_run(1, 9, 80, 40);  // far off
  study.add_run(1, 10, 81, 41);
  const Table between = study.table();
  REQUIRE(between.rows[1].summary->interval);
  CHECK(between.rows[1].counts.n == 8);
  CHECK(between.rows[1].summary->interval->low == at_look.rows[1].summary->interval->low);
  CHECK(between.rows[1].summary->interval->high == at_look.rows[1].summary->interval->high);
  CHECK(between.rows[1].summary->interval->looks == 3);
  CHECK(between.rows[1].summary->interval->coverage == 0.95);
  CHECK(between.rows[1].runs.size() == 10);  // they are listed all the same
  CHECK(between.rows[1].counts.outcomes.at(State::succeeded) == 10);
  CHECK(print_as(between, "text").find("95 % over 3 looks") != std::string::npos);
  study.add_run(1, 11, 82, 42);
  CHECK(study.table().rows[1].counts.n == 11);
}

TEST_CASE("looks of a report: before the first one there is no interval") {
  MadeStudy study = study_with_looks(0.03);
  study.experiment.report.looks = {12, 15};
  add_spread(study, 0, 11, 100, 0.1);
  add_spread(study, 1, 11, 50, 0.1);
  const Table table = study.table();
  CHECK(table.rows[1].counts.n == 11);
  CHECK_FALSE(table.rows[1].summary->interval);
  CHECK_FALSE(table.rows[1].speedup->interval);
  CHECK(progress_of(study)[1].next == 12);
}

TEST_CASE("looks of a report: a speedup is of equal blocks, however far its baseline went") {
  MadeStudy study = study_with_looks(0.03);
  add_spread(study, 0, 8, 100, 0.5);
  add_spread(study, 1, 8, 50, 0.5);
  const Table before = study.table();
  for (int number = 9; number <= 11; ++number) study.add_run(0, number, 300, 40 + number);
  const Table after = study.table();
  CHECK(after.rows[0].counts.n == 11);
  CHECK(after.rows[1].speedup->interval->low == before.rows[1].speedup->interval->low);
  CHECK(after.rows[1].speedup->value == before.rows[1].speedup->value);
}

TEST_CASE("looks: narrow rows are decided, wide ones go on with their baseline") {
  MadeStudy study = study_with_looks(0.03);
  add_spread(study, 0, 8, 100, 0.1);  // [99.6, 100.4]
  add_spread(study, 1, 8, 50, 1);     // [46, 54]: 8 %
  const std::vector<LookProgress> rows = progress_of(study);
  CHECK(rows[0].decided);
  CHECK(rows[0].next == 11);  // for the row that is compared with it
  CHECK_FALSE(rows[1].decided);
  CHECK(rows[1].half_width.value() == doctest::Approx(0.08));
  CHECK(rows[1].next == 11);
  CHECK(rows[1].forecast == 57);  // 8 (8 / 3)^2: more than the last look
  CHECK(rows[1].why == "half width 8 %, more than 3 %, at the look of 8 runs");
  CHECK(rows[1].run_hours.value() == doctest::Approx(2 * 52.0 / 3600).epsilon(0.02));
  const Table table = study.table();
  const TableWarning& warning = warning_of(table, "undecided");
  CHECK(warning.rows == std::vector<std::string>{kDdpId});
  CHECK(warning.seen.find("takes about 57 runs, more than the 15 of the last look") != std::string::npos);
  study.experiment.repeat_rule->until = 0.09;
  CHECK(progress_of(study)[1].decided);
  CHECK(progress_of(study)[0].next == 0);
  CHECK_FALSE(warns(study.table(), "undecided"));
}

TEST_CASE("looks: what a run costs is not what runs took that failed at once") {
  MadeStudy study = study_with_looks(0.03);
  add_spread(study, 1, 3, 50, 1);
  const auto work = std::make_shared<Work>();
  study.plan.configurations[1].work = work;
  for (const int number : {1, 2}) {
    AttemptRecord& failed = record_of(study, 1, number);
    failed.state = State::failed;
    failed.metrics["wall_s"] = 0.1;
  }
  record_of(study, 1, 3).metrics["wall_s"] = 36;
  CHECK(progress_of(study)[1].run_hours.value() == doctest::Approx(2 * 36.0 / 3600));
  record_of(study, 1, 3).state = State::failed;
  record_of(study, 1, 3).metrics["wall_s"] = 0.1;
  CHECK(progress_of(study)[1].run_hours.value() == doctest::Approx(2 * 0.1 / 3600));  // nothing else is known
  work->resources.time_s = 1800;
  CHECK(progress_of(study)[1].run_hours.value() == doctest::Approx(2 * 0.5));
  CHECK(progress_of(study)[1].by_limits);
}

TEST_CASE("looks: a rule under which no row could ever be decided is refused") {
  MadeStudy study = study_with_looks(0.03);
  const auto refusal = [&](const std::vector<int>& looks, RepeatRule::Of of) {
    study.experiment.report.looks = looks;
    study.experiment.repeat_rule->of = of;
    return error_of<InputError>([&] { check_report(study.experiment, study.plan); });
  };
  CHECK(
      refusal({2, 4}, RepeatRule::Of::metric) ==
      "digits.yaml:4:10: error: no row could ever be decided: with at most 4 runs no interval of a median reaches 95 % over 2 "
      "looks\n  = more runs, or fewer looks: `repeats: {from: 8, to: 40, until: 3 %}`");
  CHECK(refusal({6}, RepeatRule::Of::metric).empty());
  CHECK(refusal({2, 8}, RepeatRule::Of::metric).empty());
  CHECK_FALSE(refusal({2, 3}, RepeatRule::Of::speedup).empty());
  CHECK(refusal({4, 6}, RepeatRule::Of::speedup).empty());
}

TEST_CASE("looks: by speedups a baseline is decided by the rows compared with it") {
  MadeStudy study = study_with_looks(0.03, RepeatRule::Of::speedup);
  add_spread(study, 0, 8, 100, 2);
  add_spread(study, 1, 8, 50, 0.05);
  std::vector<LookProgress> rows = progress_of(study);
  CHECK(rows[0].decided);
  CHECK_FALSE(rows[1].decided);
  CHECK(rows[0].next == 11);
  study.add_run(1, 9, 50, 50);
  study.add_run(1, 10, 50, 51);
  study.add_run(1, 11, 50, 52);
  rows = progress_of(study);
  CHECK(rows[1].look == 8);  // that of its baseline, which lacks its runs
  CHECK(rows[1].next == 11);
}

TEST_CASE("looks: at the last one a row ends undecided") {
  MadeStudy study = study_with_looks(0.03);
  add_spread(study, 0, 15, 100, 0.1);
  add_spread(study, 1, 15, 50, 1);
  const std::vector<LookProgress> rows = progress_of(study);
  CHECK(rows[1].next == 0);
  CHECK(rows[0].next == 0);
  CHECK(rows[1].why.find("it ended undecided at 15 runs") != std::string::npos);
  const Table table = study.table();
  CHECK(warning_of(table, "undecided").advice.find("another study") != std::string::npos);
}

TEST_CASE("looks: failed runs lower n, and a row of failures is not waited for") {
  MadeStudy study = study_with_looks(0.03);
  add_spread(study, 0, 8, 100, 0.1);
  add_spread(study, 1, 8, 50, 0.1);
  record_of(study, 1, 3).state = State::failed;
  std::vector<LookProgress> rows = progress_of(study);
  CHECK_FALSE(rows[1].decided);  // seven values carry no interval at this level
  CHECK(rows[1].without_value == 1);
  CHECK(rows[1].why == "no interval at the look of 8 runs, 1 of which has no value");
  CHECK(rows[1].next == 11);
  for (int number = 1; number <= 8; ++number) record_of(study, 1, number).state = State::failed;
  rows = progress_of(study);
  CHECK(rows[1].next == 0);
  CHECK(rows[0].next == 0);
  CHECK(rows[1].why.find("no run of it has a value, and no more are made") != std::string::npos);
  record_of(study, 1, 1).state = State::succeeded;  // 1 + 7 could just reach it
  CHECK(progress_of(study)[1].next == 11);
  study.experiment.report.looks = {8, 11, 14};
  study.experiment.repeats = study.plan.repeats = 14;
  CHECK(progress_of(study)[1].next == 0);
  CHECK(progress_of(study)[1].why.find("no look can have an interval") != std::string::npos);
}

TEST_CASE("looks: a run that goes on keeps a row from its look") {
  MadeStudy study = study_with_looks(0.03);
  add_spread(study, 0, 8, 100, 0.1);
  add_spread(study, 1, 8, 50, 0.1);
  record_of(study, 1, 4).state = State::running;
  const LookProgress row = progress_of(study)[1];
  CHECK(row.ended == 3);
  CHECK(row.look == 0);
  CHECK(row.next == 8);
  CHECK(row.why == "3 of 8 runs of the first look have ended");
}

TEST_CASE("looks: a study of fixed repeats has one look and no width") {
  MadeStudy study = clean_study();
  study.experiment.repeats = 6;
  CHECK(progress_of(study)[1].decided);
  study.records.pop_back();
  CHECK(progress_of(study)[1].next == 6);
  CHECK(study.table().rows[1].summary->interval->looks == 1);
}

TEST_CASE("looks: runs that are like those before them are no series of independent runs") {
  MadeStudy study = study_with_looks(0.5);
  const std::vector<double> waves = {1, 2, 3, 4, 5, 6, 7, 8, 7.5, 6.5, 5.5, 4.5, 3.5, 2.5, 1.5};
  std::vector<double> times;
  for (const double wave : waves) times.push_back(50 + wave / 10);
  study.add_runs(1, times, 1, 2);
  add_spread(study, 0, 15, 100, 0.1);
  const Table table = study.table();
  CHECK(warning_of(table, "correlated").rows == std::vector<std::string>{kDdpId});
  study.experiment.report.looks.clear();
  study.experiment.repeat_rule.reset();
  CHECK_FALSE(warns(study.table(), "correlated"));
}

TEST_CASE("looks: imported runs do not count at a look") {
  MadeStudy study = study_with_looks(0.03);
  add_spread(study, 0, 8, 100, 0.1);
  add_spread(study, 1, 8, 50, 0.1);
  AttemptRecord other = study.records.back();
  other.key.run = {RunKind::imported, 1};
  study.records.push_back(other);
  CHECK(study.table().rows[1].counts.n == 8);
}

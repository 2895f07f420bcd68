#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "runner/report/study.hpp"

using namespace hpcbench;

namespace {

AttemptRecord& make_timeout(AttemptRecord& record, double limit_s) {
  record.state = State::timeout;
  record.time_limit_s = limit_s;
  record.metrics = {{"wall_s", limit_s}};
  return record;
}

}  // namespace

TEST_CASE("timeouts are censored: half or more of them leave a bound") {
  MadeStudy study = clean_study();
  for (std::size_t i = 6; i < 9; ++i) make_timeout(study.records[i], 100);  // three of six
  const Row row = study.table().rows[1];
  CHECK(row.counts.n == 6);
  CHECK(row.counts.censored == 3);
  CHECK_FALSE(row.summary);
  CHECK(row.censored_at_s == 100.0);
  CHECK_FALSE(row.speedup);
  CHECK(row.speedup_below.value() == 0.125);  // 12.5 s / 100 s
}

TEST_CASE("timeouts are censored: fewer of them keep the median and the bounds that hold") {
  MadeStudy study = clean_study();
  make_timeout(study.records[6], 100);  // was 6.2: now 5.0 5.5 6.6 7.1 7.3 >100
  const Row row = study.table().rows[1];
  CHECK(row.counts.n == 6);
  CHECK(row.summary->median == doctest::Approx((6.6 + 7.1) / 2));
  CHECK(row.summary->interval->low == 5.0);
  CHECK(row.summary->interval->high == 100);
  CHECK(row.summary->max == 100);
  CHECK(row.censored_at_s == 100.0);
  REQUIRE(row.speedup);
  CHECK(row.speedup->interval->low == 0);  // the six ratios to the endless run are the six smallest
  CHECK(row.ratio_of_medians.value() == doctest::Approx(12.5 / 6.85));
  CHECK_FALSE(row.speedup_below);
}

TEST_CASE("timeouts are censored: a quartile between a run and the limit is not known") {
  MadeStudy study = clean_study();
  for (std::size_t i = 6; i < 8; ++i) make_timeout(study.records[i], 100);  // now 5.0 5.5 6.6 7.1 >100 >100
  const Row row = study.table().rows[1];
  CHECK(row.summary->median == doctest::Approx((6.6 + 7.1) / 2).epsilon(0.1));
  CHECK_FALSE(std::isfinite(row.summary->q3));  // 7.1 + 0.75 x (? - 7.1)
  CHECK(std::isfinite(row.summary->q1));
  Table table = study.table();
  table.shown_columns = {"q1", "q3", "max"};
  CHECK(print_as(table, "csv").find("q1,q3") == std::string::npos);
  CHECK(print_as(table, "json").find("\"q3\":null") != std::string::npos);
  CHECK(print_as(table, "text").find("  -  >100\n") != std::string::npos);
}

TEST_CASE("a time limit says nothing of a time that is the lesser part of its runs") {
  MadeStudy study = clean_study();
  set_metric(study, 0, "step_s", {0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2});
  for (std::size_t i = 6; i < 8; ++i) make_timeout(study.records[i], 100);
  study.experiment.report.metric = "step_s";
  const Row row = study.table().rows[1];
  CHECK(row.counts.n == 4);
  CHECK(row.counts.censored == 0);
  CHECK(row.summary->max == 0.2);
  CHECK(row.speedup->interval->low == doctest::Approx(1.5));
  study.experiment.report.metric = "train_s";
  CHECK(study.table().rows[1].counts.censored == 2);
}

TEST_CASE("a time limit that other runs of the row passed does not censor") {
  MadeStudy study = clean_study();
  make_timeout(study.records[6], 6);
  const Row row = study.table().rows[1];
  CHECK(row.counts.censored == 0);
  CHECK(row.counts.n == 5);
}

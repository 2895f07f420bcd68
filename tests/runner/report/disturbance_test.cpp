// What going on beside others does to a configuration: packed runs against the same alone.

#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "runner/report/study.hpp"

namespace hpcbench {

namespace {

// As in docs/statistics.md: packed / alone 1.9859 with [1.9355, 2.0548].
const std::vector<double> kPackedRuns = {10, 11, 12, 13, 14, 15};
const std::vector<double> kAloneRuns = {5.0, 5.5, 6.2, 6.6, 7.1, 7.3};

/// k = 1 and 2 packed and alone. Repeat r is a job of 1,000 s: 1 and 2 packed at once, alone one after the other, alone first
/// in even repeats.
MadeStudy calibrated_study() {
  MadeStudy study;
  study.experiment.name = "packing";
  study.experiment.path = "packing.yaml";
  study.experiment.work.command = {"true"};
  study.experiment.report.metric = "train_s";
  study.experiment.allocation = Allocation::block;
  study.experiment.side_by_side = 2;
  study.experiment.calibrate = true;
  study.experiment.report.in_blocks = study.experiment.report.paired = true;
  study.experiment.baseline = {{"k", {Value::from_plain("1")}}};
  study.plan.axes = {"nodes", "gpus_per_node", "k", kPlacementAxis};
  study.plan.varied = {"k", kPlacementAxis};
  study.plan.repeats = 6;
  for (const char* const k : {"1", "2"}) {
    for (const char* const placement : {kPacked, kAlone}) {
      const std::size_t added = study.add_configuration({"1", "1", k, placement});
      study.plan.configurations[added].alone = placement == std::string(kAlone);
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    for (int repeat = 1; repeat <= 6; ++repeat) {
      const auto at = static_cast<std::size_t>(repeat - 1);
      const bool alone = i % 2 == 1;
      const double seconds = i == 0 ? 1.5 * kAloneRuns[at] : i == 2 ? kPackedRuns[at] : kAloneRuns[at];
      AttemptRecord& record = study.add_run(i, repeat, seconds, 0);
      record.executor = "slurm";
      record.batch = "b1";
      record.job = "7_" + std::to_string(at);
      const bool first = alone == (repeat % 2 == 0);
      record.started_unix_s = 1000.0 * repeat + (first ? 0 : 500) + (alone && i == 3 ? 100 : 0);
      record.finished_unix_s = *record.started_unix_s + 90;
      if (!alone) record.facts["side_by_side"] = "2";
    }
  }
  return study;
}

AttemptRecord& attempt_of(MadeStudy& study, std::size_t configuration, int repeat) {
  return study.records[6 * configuration + static_cast<std::size_t>(repeat) - 1];
}

TEST_CASE("disturbance: packed / alone by blocks, with the estimator and interval of speedups") {
  MadeStudy study = calibrated_study();
  const Table table = study.table();
  REQUIRE(table.disturbances.size() == 2);
  CHECK(table.disturbances[0].ratio->value == doctest::Approx(1.5));
  const Disturbance& second = table.disturbances[1];
  CHECK(second.label == "k=2");
  CHECK(second.ratio->value == doctest::Approx(1.9858655472692468));
  CHECK(second.ratio->interval->low == doctest::Approx(1.9354838709677418));
  CHECK(second.ratio->interval->high == doctest::Approx(2.054794520547945));
  CHECK(second.ratio->interval->coverage == 0.96875);
  CHECK(second.ratio->resolved == true);
  CHECK(second.pairs == 6);
  CHECK(second.alone_first == 3);
  CHECK(*second.neighbours == doctest::Approx(1));
  const std::string text = print_as(table, "text");
  CHECK(text.find("Disturbance by runs side by side\n  train_s of packed runs / of the same alone, by blocks") !=
        std::string::npos);
  CHECK(text.find("  k=2: 1.99 [1.94, 2.05] 96.9 %; 6 pairs, alone first in 3; 1.00 neighbours on average\n") !=
        std::string::npos);
  for (const char* const format : {"markdown", "html", "latex"})
    CHECK(print_as(table, format).find("96.9") != std::string::npos);
  CHECK(print_as(table, "json").find(R"("pairs":6,"needed":6,"alone_first":3,"without_neighbours":0)") != std::string::npos);
  CHECK_FALSE(warns(table, "overlap"));
}

TEST_CASE("disturbance: packed rows keep the packed baseline, rows alone the one alone") {
  const Table table = calibrated_study().table();
  REQUIRE(table.rows.size() == 4);
  CHECK(table.rows[0].is_baseline);
  CHECK(table.rows[1].is_baseline);
  CHECK(table.rows[3].speedup->value == doctest::Approx(1));  // equal times of both, alone
  CHECK(table.rows[2].speedup->value == doctest::Approx(1.5 / 1.9858655472692468));
  CHECK(table.rows[0].side_by_side == 2);
  CHECK(table.rows[1].side_by_side == 1);
}

TEST_CASE("confounded: the number of runs side by side, but by `placement`") {
  MadeStudy study = calibrated_study();
  CHECK_FALSE(warns(study.table(), "confounded"));
  attempt_of(study, 2, 6).facts["side_by_side"] = "4";
  const Table table = study.table();
  CHECK(warning_of(table, "confounded").seen == "number of runs side by side: 2 and 4 among the runs of k=2, placement=packed");
  CHECK(warning_of(table, "confounded").advice.starts_with("measure all rows with one number of runs side by side into"));
  attempt_of(study, 2, 6).facts.erase("side_by_side");
  CHECK(warning_of(study.table(), "confounded").seen ==
        "number of runs side by side: 2 and 1 among the runs of k=2, placement=packed");
  attempt_of(study, 2, 6).executor = "import";
  study.experiment.baseline.push_back({kPlacementAxis, {Value::from_plain(kAlone)}});
  CHECK_FALSE(warns(study.table(), "confounded"));
}

TEST_CASE("disturbance: fewer than six pairs have a ratio, no interval, and say what is missing") {
  MadeStudy study = calibrated_study();
  attempt_of(study, 3, 6).job = "9_0";  // alone in another allocation
  const Table table = study.table();
  const Disturbance& second = table.disturbances[1];
  CHECK(second.pairs == 5);
  CHECK(second.ratio);
  CHECK_FALSE(second.ratio->interval);
  CHECK(print_as(table, "text").find(" 5 pairs (an interval at 95 % needs 6; more `repeats` add pairs), alone first in 2;") !=
        std::string::npos);
  CHECK(print_as(table, "json").find(R"("ratio":{"value":1.)") != std::string::npos);
  study.experiment.report.confidence = 0.99;
  CHECK(study.table().disturbances[0].needed == 8);
}

TEST_CASE("disturbance: a packed run that nothing went on beside is in no pair") {
  MadeStudy study = calibrated_study();
  for (const std::size_t packed : {0U, 2U}) {
    attempt_of(study, packed, 2).started_unix_s = 2500 + 100.0 * static_cast<double>(packed);
    attempt_of(study, packed, 2).finished_unix_s = *attempt_of(study, packed, 2).started_unix_s + 90;
  }
  const Table table = study.table();
  CHECK(table.disturbances[1].pairs == 5);
  CHECK(table.disturbances[1].without_neighbours == 1);
  CHECK(print_as(table, "text").find("; 1 packed run had nothing beside it and does not count\n") != std::string::npos);
}

TEST_CASE("disturbance: nothing without `calibrate`, no ratio without pairs") {
  MadeStudy study = calibrated_study();
  study.experiment.calibrate = false;
  CHECK(print_as(study.table(), "text").find("Disturbance") == std::string::npos);
  CHECK(print_as(study.table(), "json").find("disturbances") == std::string::npos);
  study = calibrated_study();
  for (int repeat = 1; repeat <= 6; ++repeat) attempt_of(study, 1, repeat).batch = "b2";
  const Table table = study.table();
  CHECK_FALSE(table.disturbances[0].ratio);
  CHECK(print_as(table, "text").find("k=1: no ratio; 0 pairs (an interval") != std::string::npos);
}

}  // namespace

}  // namespace hpcbench

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "fakes/checks.hpp"
#include "plan/plan.hpp"
#include "runner/report/study.hpp"

using namespace hpcbench;

namespace {

std::string refusal_of(const MadeStudy& study, const ReportOptions& options = {}) {
  return error_of<InputError>([&] { study.table(options); });
}

}  // namespace

TEST_CASE("a clean study: every number of the table, worked out by hand") {
  const Table table = clean_study().table();
  CHECK(table.metric == "train_s");
  CHECK(table.unit == "s");
  CHECK(table.columns == std::vector<std::string>{"strategy", "gpus_per_node"});  // strategy first
  CHECK(table.warnings.empty());
  CHECK(table.notes.empty());
  REQUIRE(table.rows.size() == 2);

  const Row& base = table.rows[0];
  CHECK(base.is_baseline);
  CHECK(base.counts.n == 6);
  CHECK(base.summary->median == 12.5);
  CHECK(base.summary->interval->low == 10);
  CHECK(base.summary->interval->high == 15);
  CHECK(base.summary->interval->coverage == 0.96875);
  CHECK(base.speedup->value == 1);
  CHECK_FALSE(base.speedup->interval);
  CHECK(base.efficiency == 1.0);
  CHECK_FALSE(base.karp_flatt);

  const Row& ddp = table.rows[1];
  CHECK(ddp.gpus == 2);
  CHECK(ddp.summary->median == doctest::Approx(6.4));
  CHECK(ddp.speedup->value == doctest::Approx(1.9858655472692468));
  CHECK(ddp.speedup->interval->low == doctest::Approx(10 / 6.2));
  CHECK(ddp.speedup->interval->high == doctest::Approx(15 / 6.2));
  CHECK(ddp.speedup->resolved == true);
  CHECK(ddp.ratio_of_medians.value() == doctest::Approx(12.5 / 6.4));
  CHECK(ddp.efficiency.value() == doctest::Approx(1.9858655472692468 / 2));
  CHECK(ddp.karp_flatt.value() == doctest::Approx((1 / 1.9858655472692468 - 0.5) / 0.5));
  CHECK(ddp.losses.train_loss == 0.25);
  CHECK(ddp.losses.validation_loss == 0.5);
  CHECK(ddp.counts.outcomes == StateCounts{{State::succeeded, 6}});
  REQUIRE(ddp.runs.size() == 6);
  CHECK(ddp.runs[2].run == RunName{RunKind::repeat, 3});
  CHECK(ddp.runs[2].value == 5.0);
}

TEST_CASE("rows without any record are there, and nothing is made up for them") {
  MadeStudy study = empty_study();
  study.add_runs(0, kBaselineRuns, 0, 2);
  const Table table = study.table();
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[1].counts.n == 0);
  CHECK_FALSE(table.rows[1].summary);
  CHECK_FALSE(table.rows[1].speedup);
  CHECK(table.rows[1].counts.outcomes.empty());
  CHECK(empty_study().table().rows.size() == 2);  // nothing at all: still a table, and no error about the metric
}

TEST_CASE("a baseline that was not measured leaves medians, and a note") {
  MadeStudy study = empty_study();
  study.add_runs(1, kDdpRuns, 1, 2);
  const Table table = study.table();
  CHECK(table.rows[1].summary->median == doctest::Approx(6.4));
  CHECK_FALSE(table.rows[1].speedup);
  REQUIRE(table.notes.size() == 1);
  CHECK(contains(table.notes[0], "no median yet"));
}

TEST_CASE("failures are rows without a time, and runs that failed have no value") {
  MadeStudy study = empty_study();
  study.add_runs(0, kBaselineRuns, 0, 2);
  for (int k = 1; k <= 6; ++k) {
    AttemptRecord& record = study.add_run(1, k, 1, 2 * k - 1);
    record.state = State::out_of_memory;
    record.metrics = {{"wall_s", 1}};
  }
  const Table table = study.table();
  const Row& row = table.rows[1];
  CHECK(row.counts.n == 0);
  CHECK_FALSE(row.summary);
  CHECK_FALSE(row.censored_at_s);
  CHECK(row.counts.outcomes == StateCounts{{State::out_of_memory, 6}});
  CHECK_FALSE(row.runs[0].value);
  CHECK(row.warnings == std::vector<std::string>{"failures"});
}

TEST_CASE("warm-ups never count") {
  MadeStudy study = clean_study();
  AttemptRecord warmup = study.records[0];
  warmup.key.run = {RunKind::warmup, 1};
  warmup.metrics["train_s"] = 1000;
  study.records.insert(study.records.begin(), warmup);
  const Row row = study.table().rows[0];
  CHECK(row.counts.n == 6);
  CHECK(row.summary->max == 15);
}

TEST_CASE("the metric: option, file, kind of work; and what there is, if nothing has it") {
  MadeStudy study = clean_study();
  ReportOptions options;
  options.metric = "wall_s";
  CHECK(study.table(options).rows[0].summary->median == 14.5);
  options.metric = "accuracy";
  const Table accuracy = study.table(options);
  CHECK(accuracy.unit.empty());
  CHECK_FALSE(accuracy.has_speedup);
  CHECK_FALSE(accuracy.rows[1].speedup);
  options.metric = "trian_s";
  CHECK(refusal_of(study, options) ==
        "error: no run has the metric `trian_s` (did you mean `train_s`?); there are: accuracy, train_loss, train_s, val_loss, "
        "wall_s");
  study.experiment.report.metric = "val_loss";
  CHECK(study.table().metric == "val_loss");
  study.experiment.report.metric.reset();
  study.experiment.work.trainer.reset();
  CHECK(study.table().metric == "wall_s");
}

TEST_CASE("units: of the record, of the file, of the name") {
  MadeStudy study = clean_study();
  for (AttemptRecord& record : study.records) {
    record.metrics["rate_per_s"] = 5;
    record.metrics["tokens"] = 5;
    record.metrics["elapsed"] = 5;
    record.units["elapsed"] = "s";
  }
  study.experiment.work.metrics.push_back({"tokens", "*.log", "x", "tokens", std::nullopt});
  const auto unit = [&](const std::string& name) { return study.table({name, {}, false}).unit; };
  CHECK(unit("elapsed") == "s");
  CHECK(study.table({"elapsed", {}, false}).has_speedup);
  CHECK(unit("tokens") == "tokens");
  CHECK(unit("rate_per_s").empty());
  CHECK(unit("train_s") == "s");
}

TEST_CASE("the baseline of a point equals it on every axis but strategy, nodes and gpus") {
  MadeStudy study = empty_study();
  study.plan.axes = {"epochs", "nodes", "gpus_per_node", "strategy"};
  study.plan.varied = {"epochs", "gpus_per_node", "strategy"};
  study.plan.configurations.clear();
  const auto base1 = study.add_configuration({"1", "1", "1", "baseline"});
  const auto base2 = study.add_configuration({"2", "1", "1", "baseline"});
  const auto ddp1 = study.add_configuration({"1", "2", "2", "ddp"});
  const auto ddp2 = study.add_configuration({"2", "2", "2", "ddp"});
  const auto ddp3 = study.add_configuration({"3", "2", "2", "ddp"});
  const std::vector<double> seconds = {8, 20, 4, 5, 7};
  for (const std::size_t i : {base1, base2, ddp1, ddp2, ddp3}) study.add_run(i, 1, seconds[i], static_cast<double>(i));
  const Table table = study.table();
  CHECK(table.rows[ddp1].speedup->value == doctest::Approx(2));
  CHECK(table.rows[ddp2].speedup->value == doctest::Approx(4));
  CHECK(table.rows[ddp2].efficiency.value() == doctest::Approx(1));
  CHECK_FALSE(table.rows[ddp3].speedup);
  REQUIRE(table.notes.size() == 1);
  CHECK(contains(table.notes[0], "epochs=3, nodes=2, gpus_per_node=2, strategy=ddp"));

  SUBCASE("of several the one of equal nodes and gpus counts") {
    const std::size_t base2x2 = study.add_configuration({"1", "2", "2", "baseline"});
    study.add_run(base2x2, 1, 15, 15);
    const Table sized = study.table();
    CHECK(sized.rows[ddp1].speedup->value == doctest::Approx(15.0 / 4));
    CHECK(sized.rows[ddp2].speedup->value == doctest::Approx(4));
    CHECK(sized.rows[base2x2].is_baseline);
    CHECK(contains(sized.notes.back(), "the one of equal nodes, gpus and ranks"));
    SUBCASE("and none where no size is equal") {
      const std::size_t ddp4 = study.add_configuration({"1", "4", "2", "ddp"});
      study.add_run(ddp4, 1, 2, 16);
      CHECK_FALSE(study.table().rows[ddp4].speedup);
    }
    SUBCASE("as far as `baseline` does not name it") {
      study.experiment.baseline.emplace_back("nodes", std::vector{Value::from_plain("1")});
      CHECK(study.table().rows[ddp1].speedup->value == doctest::Approx(2));
    }
  }
  SUBCASE("two for one point are an error") {
    study.experiment.baseline = {{"epochs", {Value::from_plain("1")}}};
    study.add_configuration({"1", "1", "1", "ddp"});
    const std::string error = refusal_of(study);
    CHECK(contains(error, "error: digits.yaml: two configurations are a baseline for the same points"));
    CHECK(contains(error, "`epochs=1, nodes=1, gpus_per_node=1, strategy=baseline`"));
  }
  SUBCASE("none at all is an error") {
    study.experiment.baseline = {{"strategy", {Value::from_plain("serial")}}};
    CHECK(contains(refusal_of(study), "no configuration matches `baseline`"));
  }
  SUBCASE("what is not shown still serves as a baseline") {
    const Table only =
        study.table({std::nullopt, {Selection{{{"strategy", {Value::from_plain("ddp")}}}, std::nullopt}}, false});
    REQUIRE(only.rows.size() == 3);
    CHECK(only.rows[1].speedup->value == doctest::Approx(4));
  }
  SUBCASE("sorted and filtered by the file") {
    study.experiment.report.sort = {"strategy", "epochs"};
    study.experiment.report.where = {{"epochs", {Value::from_plain("1"), Value::from_plain("2.0")}}};
    std::vector<std::string> ids;
    for (const Row& row : study.table().rows) ids.push_back(row.config_id.substr(15));
    CHECK(join(ids, "") == "abcd");
    study.experiment.report.sort = {"epochs"};
    ids.clear();
    for (const Row& row : study.table().rows) ids.push_back(row.config_id.substr(15));
    CHECK(join(ids, "") == "acbd");
  }
}

TEST_CASE("paired: complete blocks only") {
  MadeStudy study = clean_study();
  study.experiment.report.paired = true;
  study.records.erase(study.records.begin() + 6);  // ddp has no r01: five blocks are left
  const Row row = study.table().rows[1];
  // Ratios of blocks 2 to 6: 10/7.3, 15/5, 11/7.1, 14/5.5, 13/6.6.
  CHECK(row.speedup->interval->low == doctest::Approx(10 / 7.3));
  CHECK(row.speedup->interval->high == doctest::Approx(3));
  CHECK(row.speedup->interval->coverage == 0.9375);
}

TEST_CASE("weak scaling: efficiency is the ratio of the times") {
  MadeStudy study = clean_study();
  study.experiment.report.scaling = Scaling::weak;
  for (std::size_t i = 6; i < 12; ++i)
    study.records[i].facts = {{"precision", "fp32"}, {"global_batch", "128"}, {"samples", "96000"}};
  const Table table = study.table();
  CHECK(table.rows[1].efficiency == table.rows[1].speedup->value);
  CHECK_FALSE(table.rows[1].karp_flatt);
  CHECK_FALSE(warns(table, "confounded"));  // the same work per gpu
}

TEST_CASE("configurations that the file no longer asks for come on request, last") {
  MadeStudy study = clean_study();
  AttemptRecord orphan = study.records[6];
  orphan.key.config_id = "ffffffffffffffff";
  orphan.axes.emplace_back("lr", Value::from_plain("0.1"));
  orphan.gpus = 4;
  study.records.push_back(orphan);
  CHECK(study.table().rows.size() == 2);
  const Table table = study.table({std::nullopt, {}, true});
  REQUIRE(table.rows.size() == 3);
  CHECK(table.rows[2].gpus == 4);
  CHECK(table.rows[2].counts.n == 1);
  CHECK(table.columns == std::vector<std::string>{"strategy", "gpus_per_node", "lr"});
  CHECK_FALSE(table.rows[2].speedup);  // no baseline with that lr
}

TEST_CASE("names that are no axis and no column are errors with advice") {
  MadeStudy study = clean_study();
  study.experiment.report.columns = {"strategy", "medain"};
  CHECK(contains(refusal_of(study), "(did you mean `median`?)"));
  study.experiment.report.columns.clear();
  study.experiment.report.group_by = {"strategi"};
  CHECK(contains(refusal_of(study), "error: report.group_by names `strategi`, which is no axis (did you mean `strategy`?)"));
  study.experiment.report.group_by.clear();
  study.experiment.report.sort = {"-gpsu"};
  CHECK(contains(refusal_of(study),
                 "error: rows cannot be sorted by `gpsu`, which is no axis, no column and no metric of these runs (did you "
                 "mean `gpus`?)"));
  study.experiment.report.sort.clear();
  ReportOptions nowhere;
  nowhere.only = {parse_selection("strategy=fsdp", "--only")};
  CHECK_FALSE(refusal_of(study, nowhere).empty());
}

TEST_CASE("values that are no times, or no numbers, give no speedup and no nonsense") {
  MadeStudy study = clean_study();
  study.records[6].metrics["train_s"] = 0;
  CHECK_FALSE(study.table().rows[1].speedup);
  const std::vector<std::string> notes = study.table().notes;
  CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return contains(note, "strategy=ddp` have values of 0 or less: no speedup");
  }));
  study.records[6].metrics["train_s"] = std::nan("");
  CHECK(study.table().rows[1].counts.n == 5);
}

TEST_CASE("properties of tables") {
  const MadeStudy study = clean_study();
  const std::string expected = print_as(study.table(), "json");
  CHECK(rc::check("the order of the records does not matter", [&] {
    MadeStudy shuffled = study;
    for (std::size_t i = shuffled.records.size(); i > 1; --i) {
      std::swap(shuffled.records[i - 1], shuffled.records[*rc::gen::inRange<std::size_t>(0, i)]);
    }
    RC_ASSERT(print_as(shuffled.table(), "json") == expected);
  }));
  CHECK(rc::check("a slower clock leaves the speedups", [&] {
    const double factor = *rc::gen::inRange(1, 1000000) / 1000.0;
    MadeStudy scaled = study;
    for (AttemptRecord& record : scaled.records) record.metrics["train_s"] *= factor;
    const Row before = study.table().rows[1];
    const Row after = scaled.table().rows[1];
    RC_ASSERT(std::abs(after.speedup->value / before.speedup->value - 1) < 1e-12);
    RC_ASSERT(std::abs(after.speedup->interval->low / before.speedup->interval->low - 1) < 1e-12);
    RC_ASSERT(std::abs(after.summary->median / (factor * before.summary->median) - 1) < 1e-12);
  }));
}

TEST_CASE("a plan is refused for the same reasons, and in the same words, without its rows") {
  MadeStudy study = empty_study();
  const auto both = [&] {
    const std::string checked = error_of<InputError>([&] { check_report(study.experiment, study.plan); });
    CHECK(checked == refusal_of(study));
    return checked;
  };
  CHECK(both().empty());
  SUBCASE("baseline") {
    study.experiment.baseline = {{"strategy", {Value::from_plain("serial")}}};
    CHECK(contains(both(), "no configuration matches `baseline`"));
    study.experiment.baseline = {{"nodes", {Value::from_plain("1")}}};
    study.add_configuration({"1", "1", "ddp"});
    CHECK(contains(both(), "two configurations are a baseline for the same points"));
    study.experiment.report.metric = "accuracy";  // no time: no speedups
    CHECK(both().empty());
  }
  SUBCASE("names") {
    study.experiment.report.where = {{"nods", {Value::from_plain("1")}}};
    CHECK(contains(both(), "report.where names `nods`"));
    study.experiment.report.where = {{"nodes", {Value::from_plain("7")}}};
    CHECK(contains(both(), "no configuration is left to report"));
    study.experiment.report.where.clear();
    study.experiment.report.group_by = {"x"};
    CHECK(contains(both(), "report.group_by names `x`"));
    study.experiment.report.group_by.clear();
    study.experiment.report.sort = {"x"};
    CHECK(contains(both(), "rows cannot be sorted by `x`"));
  }
}

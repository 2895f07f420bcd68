// Metrics of which larger values are better: they get everything that times get, and nothing is inverted without a word.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "report/columns.hpp"
#include "report/comparison/comparison.hpp"
#include "report/looks.hpp"
#include "report/plots/plot.hpp"
#include "report/plots/plot_parts.hpp"
#include "runner/report/study.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

/// One axis of gpus, a run of each with one value.
MadeStudy sized_study(const std::string& metric, const std::vector<std::pair<int, double>>& values,
                      const std::string& more = "") {
  std::vector<std::string> sizes;
  for (const auto& [gpus, value] : values) sizes.push_back(std::to_string(gpus));
  std::string list;
  for (const std::string& size : sizes) list += (list.empty() ? "" : ", ") + size;
  MadeStudy study;
  study.experiment =
      parse_experiment("experiment: e\ncommand: [p, \"{{gpus_per_node}}\"]\nmatrix: {gpus_per_node: [" + list +
                           "]}\nbaseline: {gpus_per_node: " + sizes.front() + "}\nreport: {metric: " + metric + "}\n" + more,
                       "e.yaml", {});
  study.plan = make_plan(study.experiment);
  for (std::size_t i = 0; i < values.size(); ++i) {
    AttemptRecord& record = study.add_run(i, 1, 1, static_cast<double>(i));
    record.metrics = {{metric, values[i].second}};
  }
  return study;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(a); }

bool same_ratio(const std::optional<Ratio>& a, const std::optional<Ratio>& b) {
  if (!a || !b) return !a && !b;
  if (!near(a->value, b->value) || a->resolved != b->resolved || a->interval.has_value() != b->interval.has_value())
    return false;
  return !a->interval || (near(a->interval->low, b->interval->low) && near(a->interval->high, b->interval->high) &&
                          a->interval->coverage == b->interval->coverage);
}

/// The same runs with `rate` = work / train_s as the metric.
MadeStudy as_rates(MadeStudy study, const std::string& unit, double work) {
  study.experiment.report.metric = "rate";
  for (AttemptRecord& record : study.records) {
    record.metrics["rate"] = work / record.metrics["train_s"];
    record.units["rate"] = unit;
  }
  return study;
}

}  // namespace

TEST_CASE("a published table of total rates: speedup and efficiency grow with the rate") {
  const Table table = sized_study("tokens_per_s", {{1, 11840}, {2, 23210}, {4, 45420}, {8, 87980}}).table();
  const std::vector<double> speedups = {1, 1.9603, 3.8361, 7.4307};
  const std::vector<double> efficiencies = {1, 0.98015, 0.95904, 0.92884};
  for (std::size_t i = 0; i < speedups.size(); ++i) {
    CHECK(table.rows[i].speedup->value == doctest::Approx(speedups[i]).epsilon(2e-5));
    CHECK(*table.rows[i].ratio_of_medians == doctest::Approx(speedups[i]).epsilon(2e-5));
    CHECK(*table.rows[i].efficiency == doctest::Approx(efficiencies[i]).epsilon(1e-5));
  }
  CHECK(*table.rows[3].karp_flatt == doctest::Approx((1 / 7.430743 - 1.0 / 8) / (1 - 1.0 / 8)).epsilon(1e-5));
  REQUIRE(table.fits.size() == 1);
  CHECK(table.fits[0].law == "amdahl");
  CHECK(text_of(caption(table)).find("(row / baseline): Hodges-Lehmann") != std::string::npos);
  CHECK(print_as(table, "json").find(R"("better": "higher")") != std::string::npos);
  CHECK(print_as(table, "html").find("has the largest speedup over the baseline, 7.43") != std::string::npos);
  CHECK(draw_speedup(table)->script.find("x/1 title 'ideal'") != std::string::npos);
  CHECK(draw_efficiency(table).has_value());
}

TEST_CASE("a published table of rates per GPU, over 8 GPUs") {
  const std::vector<std::pair<int, double>> values = {{8, 3120.5}, {16, 3061.8}, {32, 2944.0}, {64, 2790.3}};
  const Table table = sized_study("tokens_per_s_per_gpu", values).table();
  const std::vector<double> speedups = {1, 1.9624, 3.7738, 7.1535};
  const std::vector<double> efficiencies = {1, 0.98119, 0.94344, 0.89418};
  for (std::size_t i = 0; i < speedups.size(); ++i) {
    CHECK(table.rows[i].speedup->value == doctest::Approx(speedups[i]).epsilon(1e-5));
    CHECK(*table.rows[i].efficiency == doctest::Approx(efficiencies[i]).epsilon(1e-5));
  }
  CHECK(text_of(caption(table)).find("speedup compares values x gpus") != std::string::npos);
  // As published statistics they have no intervals, and the same ratios.
  MadeStudy published = sized_study("tokens_per_s_per_gpu", values);
  for (AttemptRecord& record : published.records) record.facts["statistic"] = "median";
  CHECK(published.table().rows[3].speedup->value == doctest::Approx(7.1535).epsilon(1e-5));
}

TEST_CASE("rates of the same runs have the speedups of their times") {
  CHECK(rc::check("unpaired, paired, at looks, with steps under weak scaling", [] {
    const auto times = [] {
      return *rc::gen::container<std::vector<double>>(
          8, rc::gen::map(rc::gen::inRange(1, 100000), [](int n) { return n / 1000.0; }));
    };
    MadeStudy study = empty_study();
    study.add_runs(0, times(), 0, 2);
    study.add_runs(1, times(), 1, 2);
    study.experiment.report.paired = *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) study.experiment.report.looks = {6, 8};
    const bool weak = *rc::gen::arbitrary<bool>();
    study.experiment.report.scaling = weak ? Scaling::weak : Scaling::fixed_work;
    const double work = *rc::gen::inRange(1, 1000);
    const Row of_time = study.table().rows[1];
    const Row of_rate = as_rates(study, weak ? "it/s" : "tokens/s", work).table().rows[1];
    RC_ASSERT(of_time.speedup.has_value());
    RC_ASSERT(same_ratio(of_time.speedup, of_rate.speedup));
    RC_ASSERT(near(*of_time.efficiency, *of_rate.efficiency));
    RC_ASSERT(of_time.karp_flatt.has_value() == of_rate.karp_flatt.has_value());
  }));
}

TEST_CASE("weak scaling: total rates are scaled speedups, steps are not") {
  const std::string weak = "report: {metric: rate, scaling: weak}\n";
  MadeStudy study = sized_study("rate", {{1, 100}, {2, 190}, {4, 360}, {8, 680}});
  study.experiment.report.scaling = Scaling::weak;
  const auto with_unit = [&](const std::string& unit, double power) {
    MadeStudy other = study;
    for (AttemptRecord& record : other.records) {
      record.units["rate"] = unit;
      record.metrics["rate"] /= std::pow(record.gpus, power);
    }
    return other.table();
  };
  const Table total = with_unit("tokens/s", 0);
  CHECK(total.rows[3].speedup->value == doctest::Approx(6.8));
  CHECK(*total.rows[3].efficiency == doctest::Approx(0.85));
  CHECK_FALSE(total.rows[3].karp_flatt);
  REQUIRE(total.fits.size() == 1);
  CHECK(total.fits[0].law == "gustafson");
  CHECK(total.fits[0].points.back().speedup == doctest::Approx(6.8));
  CHECK(draw_speedup(total)->script.find("x/1 title 'ideal'") != std::string::npos);
  const Table steps = with_unit("it/s", 1);  // each iteration has the work of all gpus
  CHECK(steps.rows[3].speedup->value == doctest::Approx(0.85));
  CHECK(*steps.rows[3].efficiency == doctest::Approx(0.85));
  REQUIRE(steps.fits.size() == 1);
  CHECK(steps.fits[0].serial_fraction == doctest::Approx(total.fits[0].serial_fraction));
  CHECK(draw_speedup(steps)->script.find("\n  1 title 'ideal'") != std::string::npos);
  const Table each = with_unit("tokens/s/GPU", 1);
  CHECK(each.rows[3].speedup->value == doctest::Approx(6.8));
  CHECK(*each.rows[3].efficiency == doctest::Approx(0.85));
}

TEST_CASE("superlinear: a rate above its size warns, one below it does not") {
  CHECK(warns(sized_study("tokens_per_s", {{1, 100}, {2, 210}}).table(), "superlinear"));
  CHECK_FALSE(warns(sized_study("tokens_per_s", {{1, 100}, {2, 190}}).table(), "superlinear"));
}

TEST_CASE("a metric without a direction has no speedup, and the note says what to write") {
  const std::vector<std::pair<int, double>> values = {{1, 0.7}, {2, 0.84}};
  const Table silent = sized_study("score", values).table();
  CHECK_FALSE(silent.has_speedup);
  CHECK(text_of(silent.notes).find("{name: score, better: higher}") != std::string::npos);
  CHECK(print_as(silent, "html").find("neither its unit nor `better` tells which values are better") != std::string::npos);
  const Table higher = sized_study("score", values, "metrics: [{name: score, better: higher}]\n").table();
  CHECK(higher.rows[1].speedup->value == doctest::Approx(1.2));
  CHECK(*higher.rows[1].efficiency == doctest::Approx(0.6));
  const Table lower = sized_study("score", values, "metrics: [{name: score, better: lower}]\n").table();
  CHECK(lower.rows[1].speedup->value == doctest::Approx(1 / 1.2));
  CHECK_FALSE(lower.rows[1].efficiency);  // no time: nothing says that it halves on two gpus
  CHECK(lower.fits.empty());
  const Table share = sized_study("score", values, "metrics: [{name: score, unit: '%', better: higher}]\n").table();
  CHECK(share.rows[1].speedup->value == doctest::Approx(1.2));
  CHECK_FALSE(share.rows[1].efficiency);
}

TEST_CASE("until of speedup: rates are decided where their times are") {
  MadeStudy study = empty_study();
  study.experiment.report.looks = {8, 11, 15};
  study.experiment.repeats = study.plan.repeats = 15;
  study.experiment.repeat_rule = RepeatRule{0.03, RepeatRule::Of::speedup, "digits.yaml:4:10"};
  for (Configuration& configuration : study.plan.configurations) configuration.work = std::make_shared<Work>();
  study.add_runs(0, {100.1, 99.9, 100.2, 99.8, 100.3, 99.7, 100.4, 99.6}, 0, 2);
  study.add_runs(1, {50.1, 49.9, 50.2, 49.8, 50.3, 49.7, 50.4, 49.6}, 1, 2);
  const MadeStudy rates = as_rates(study, "tokens/s", 1000);
  const auto of_times = look_progress(study.experiment, study.plan, study.records);
  const auto of_rates = look_progress(rates.experiment, rates.plan, rates.records);
  CHECK(of_rates[1].decided);
  REQUIRE(of_rates[1].half_width);
  CHECK(*of_rates[1].half_width == doctest::Approx(*of_times[1].half_width));
}

TEST_CASE("compare: sides that call opposite values better are refused") {
  const std::vector<std::pair<int, double>> values = {{1, 0.7}, {2, 0.84}};
  const Table higher = sized_study("score", values, "metrics: [{name: score, better: higher}]\n").table();
  const Table lower = sized_study("score", values, "metrics: [{name: score, better: lower}]\n").table();
  CHECK_THROWS_WITH_AS(compare_tables(higher, lower, {}),
                       "error: of `score`, larger values are better on one side and smaller ones on the other: write the same "
                       "`better` in both files",
                       InputError);
  CHECK_NOTHROW(compare_tables(higher, higher, {}));
}

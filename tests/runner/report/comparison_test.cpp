#include "report/comparison/comparison.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "runner/report/study.hpp"

using namespace hpcbench;

namespace {

Table scaled_table(const std::vector<double>& factors) {
  MadeStudy study = clean_study();
  for (std::size_t i = 0; i < study.records.size(); ++i) study.records[i].metrics["train_s"] *= factors[i / 6];
  return study.table();
}

Table table_of(const std::vector<double>& baseline_runs, const std::vector<double>& ddp_runs) {
  MadeStudy study = empty_study();
  study.add_runs(0, baseline_runs, 0, 2);
  study.add_runs(1, ddp_runs, 1, 2);
  return study.table();
}

const std::vector<double> kSteady = {100, 101, 99, 102, 98.5, 100.5};
const std::vector<double> kSteadyToo = {101, 100.2, 99.4, 102.3, 98.7, 100.9};
const std::vector<double> kTenPercentMore = {111, 109, 112, 110.5, 108, 113};

Comparison compare_with_rule(const Table& a, const Table& b, const std::string& rule) {
  ComparisonOptions options;
  options.fail_if = parse_fail_rule(rule);
  return compare_tables(a, b, options);
}

std::string error_of_rule(const std::string& text) {
  try {
    parse_fail_rule(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("compare: a study with itself is never faster or slower, and its ratio is 1") {
  const Table table = clean_study().table();
  const Comparison comparison = compare_tables(table, table, {});
  REQUIRE(comparison.rows.size() == 2);
  for (const ComparedRow& row : comparison.rows) {
    CHECK(row.ratio->value == 1);
    CHECK(row.ratio->interval->low < 1);
    CHECK(row.verdict == ComparisonVerdict::not_resolved);  // a spread of 10 % does not show 5 %
    CHECK(row.p_value == 1);
  }
  CHECK(comparison.differences.empty());
  CHECK_FALSE(comparison.fails);
}

TEST_CASE("compare: slower, faster and equivalent, each at its own precision") {
  const Table a = table_of(kSteady, kSteady);
  const Comparison slower = compare_tables(a, table_of(kTenPercentMore, kSteadyToo), {});
  CHECK(slower.rows[0].verdict == ComparisonVerdict::slower);
  CHECK(slower.rows[0].ratio->value > 1.08);
  CHECK(slower.rows[0].p_value.value() == doctest::Approx(2.0 / 924));
  CHECK(slower.rows[0].adjusted_p.value() == doctest::Approx(4.0 / 924));  // Holm over two rows
  CHECK(slower.rows[1].verdict == ComparisonVerdict::equivalent);
  const Comparison faster = compare_tables(table_of(kTenPercentMore, kSteady), a, {});
  CHECK(faster.rows[0].verdict == ComparisonVerdict::faster);
  CHECK(faster.rows[0].ratio->value < 0.93);
  ComparisonOptions wide;
  wide.margin = 0.2;
  CHECK(compare_tables(a, table_of(kTenPercentMore, kSteady), wide).rows[0].equivalent);  // and slower all the same
  CHECK(compare_tables(a, table_of(kTenPercentMore, kSteady), wide).rows[0].verdict == ComparisonVerdict::slower);
}

TEST_CASE("compare: of a rate, less is slower; of a loss nobody says which is better") {
  MadeStudy study = clean_study();
  MadeStudy other = clean_study();
  for (std::size_t i = 0; i < study.records.size(); ++i) {
    study.records[i].metrics["samples_per_s"] = kSteady[i % 6];
    other.records[i].metrics["samples_per_s"] = kTenPercentMore[i % 6];
  }
  ReportOptions options;
  options.metric = "samples_per_s";
  CHECK(compare_tables(study.table(options), other.table(options), {}).rows[0].verdict == ComparisonVerdict::faster);
  for (std::size_t i = 0; i < study.records.size(); ++i) {
    study.records[i].metrics["val_loss"] = kSteady[i % 6];
    other.records[i].metrics["val_loss"] = kTenPercentMore[i % 6];
  }
  options.metric = "val_loss";
  CHECK(compare_tables(study.table(options), other.table(options), {}).rows[0].verdict == ComparisonVerdict::higher);
  CHECK_THROWS_AS(compare_with_rule(study.table(options), other.table(options), "slower"), InputError);
  CHECK(compare_with_rule(study.table(options), other.table(options), "higher > 5%").fails);
}

TEST_CASE("compare --fail-if: by more than the threshold, and surely so") {
  const Table a = table_of(kSteady, kSteady);
  const Table b = table_of(kTenPercentMore, kSteadyToo);
  CHECK(compare_with_rule(a, b, "slower > 5%").fails);
  CHECK(compare_with_rule(a, b, "slower > 5%").rows[0].fails);
  CHECK_FALSE(compare_with_rule(a, b, "slower > 5%").rows[1].fails);
  CHECK_FALSE(compare_with_rule(a, b, "slower > 9%").fails);  // its lower bound is below
  CHECK_FALSE(compare_with_rule(b, a, "slower > 5%").fails);
  CHECK(compare_with_rule(b, a, "faster > 5 %").fails);
  CHECK(compare_with_rule(a, b, "not equivalent").fails);
  CHECK_FALSE(compare_with_rule(a, b, "not resolved").fails);
  CHECK_FALSE(compare_with_rule(a, b, "missing").fails);
}

TEST_CASE("compare --fail-if: what it does not know") {
  CHECK(error_of_rule("slowr > 5%").find("did you mean `slower`?") != std::string::npos);
  CHECK(error_of_rule("slower > much").find("not a share") != std::string::npos);
  CHECK(error_of_rule("slower > 0%").find("not a share") != std::string::npos);
  CHECK(error_of_rule("missing > 5%").find("no threshold") != std::string::npos);
  CHECK(error_of_rule("").find("no such rule") != std::string::npos);
  CHECK(parse_share("5%", "--margin") == doctest::Approx(0.05));
  CHECK(parse_share(" 0.05 ", "--margin") == 0.05);
  CHECK(parse_share("100 %", "--margin") == 1);
  CHECK_THROWS_AS(parse_share("-5%", "--margin"), InputError);
  CHECK_THROWS_AS(parse_share("150%", "--margin"), InputError);
}

TEST_CASE("compare: too few runs resolve nothing, and it says so") {
  const Comparison comparison = compare_with_rule(table_of({10, 11, 12}, {5}), table_of({20, 21, 22}, {9}), "slower");
  CHECK(comparison.rows[0].verdict == ComparisonVerdict::not_resolved);
  CHECK(comparison.rows[1].remark == "1 against 1 runs are too few for an interval");
  CHECK_FALSE(comparison.fails);
  CHECK(comparison.notes.size() == 1);
}

TEST_CASE("compare: configurations of one side only, and facts that differ") {
  MadeStudy study = clean_study();
  study.add_configuration({"1", "4", "fsdp"});
  for (AttemptRecord& record : study.records) record.facts["torch"] = "2.9.0";
  const Comparison comparison = compare_tables(study.table(), clean_study().table(), {});
  CHECK(comparison.rows.size() == 2);
  CHECK(comparison.only_a == std::vector<std::string>{"nodes=1, gpus_per_node=4, strategy=fsdp"});
  REQUIRE(comparison.differences.size() == 1);
  CHECK(comparison.differences[0].name == "torch");
  CHECK(comparison.differences[0].a == "2.9.0");
  CHECK(comparison.differences[0].b == "-");
}

TEST_CASE("compare: nothing in common is an error") {
  MadeStudy study = empty_study();
  study.plan.configurations.clear();
  study.add_configuration({"1", "8", "baseline"});
  CHECK_THROWS_AS(compare_tables(study.table(), clean_study().table(), {}), InputError);
}

TEST_CASE("compare: two metrics are no comparison, whatever their unit") {
  MadeStudy other = clean_study();
  other.experiment.report.metric = "wall_s";
  CHECK_THROWS_WITH_AS(compare_tables(clean_study().table(), other.table(), {"old.yaml", "new.yaml", 0.05, {}}),
                       "error: old.yaml reports `train_s`, new.yaml reports `wall_s`: name one of them with --metric",
                       InputError);
}

TEST_CASE("compare: medians have the digits that their intervals allow") {
  const auto near = [](double time) {
    return table_of({time, time + 0.1, time + 0.2, time + 0.3, time + 0.4, time + 0.5}, kSteady);
  };
  const std::string text = comparison_text(compare_tables(near(1000), near(1003), {}));
  CHECK(text.find("  1000.2  1003.2  1.00") != std::string::npos);
}

TEST_CASE("compare: formats") {
  const Comparison comparison = compare_with_rule(table_of(kSteady, kSteady), scaled_table({20, 40}), "slower > 5%");
  const std::string text = comparison_text(comparison);
  CHECK(text.find("strategy") != std::string::npos);
  CHECK(text.find("--fail-if `slower > 5%`: true") != std::string::npos);
  CHECK(comparison_markdown(comparison).find("| strategy |") != std::string::npos);
  const std::string json = comparison_json(comparison);
  CHECK(json.find("\"schema\":1") != std::string::npos);
  CHECK(json.find("\"verdict\":\"slower\"") != std::string::npos);
  CHECK(json.find("\"fails\":true}\n") != std::string::npos);
}

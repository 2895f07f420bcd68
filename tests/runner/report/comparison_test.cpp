#include "report/comparison/comparison.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "fakes/checks.hpp"
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
  options.fail_if = {parse_fail_rule(rule)};
  return compare_tables(a, b, options);
}

std::string formatted(const std::string& name, const Comparison& comparison) {
  for (const ComparisonFormat& format : comparison_formats()) {
    if (format.name == name) return format.print(comparison);
  }
  return "";
}

bool fails(const Comparison& comparison) { return gate_state(comparison) == GateState::fails; }

std::string error_of_rule(const std::string& text) {
  return error_of<InputError>([&] { parse_fail_rule(text); });
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
  CHECK_FALSE(fails(comparison));
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
  CHECK(fails(compare_with_rule(study.table(options), other.table(options), "higher > 5%")));
}

TEST_CASE("compare --fail-if: by more than the threshold, and surely so") {
  const Table a = table_of(kSteady, kSteady);
  const Table b = table_of(kTenPercentMore, kSteadyToo);
  CHECK(fails(compare_with_rule(a, b, "slower > 5%")));
  CHECK(compare_with_rule(a, b, "slower > 5%").rows[0].fails);
  CHECK_FALSE(compare_with_rule(a, b, "slower > 5%").rows[1].fails);
  CHECK_FALSE(fails(compare_with_rule(a, b, "slower > 9%")));  // its lower bound is below
  CHECK_FALSE(fails(compare_with_rule(b, a, "slower > 5%")));
  CHECK(fails(compare_with_rule(b, a, "faster > 5 %")));
  CHECK(fails(compare_with_rule(a, b, "not equivalent")));
  CHECK_FALSE(fails(compare_with_rule(a, b, "not resolved")));
  CHECK_FALSE(fails(compare_with_rule(a, b, "missing")));
}

TEST_CASE("compare --fail-if: what it does not know") {
  CHECK(error_of_rule("slowr").find("did you mean `slower`?") != std::string::npos);
  CHECK(error_of_rule("not slower > 5%").find("unknown rule") != std::string::npos);
  CHECK(error_of_rule("failed > 5%").find("counts runs") != std::string::npos);
  CHECK(error_of_rule("slower < 5%").find("write `>`") != std::string::npos);
  CHECK(error_of_rule("mem_gb < 5%").find("write `mem_gb < -5%`") != std::string::npos);
  CHECK(error_of_rule("slower > much").find("not a share") != std::string::npos);
  CHECK(error_of_rule("slower > 0%").find("not a share") != std::string::npos);
  CHECK(error_of_rule("slower > 5") == "error: --fail-if `slower > 5`: `5` is not a share above 0 and up to 100 %; write `5%`");
  CHECK(error_of_rule("mem_gb < -7").find("`mem_gb < -7`: `7` is not a share above 0 and up to 100 %; write `7%`") !=
        std::string::npos);
  CHECK(error_of_rule("missing > 5%").find("has no threshold") != std::string::npos);
  CHECK(error_of_rule("").find("unknown rule") != std::string::npos);
  CHECK(parse_share("5%", "--margin") == doctest::Approx(0.05));
  CHECK(parse_share(" 0.05 ", "--margin") == 0.05);
  CHECK(parse_share("100 %", "--margin") == 1);
  CHECK_THROWS_AS(parse_share("-5%", "--margin"), InputError);
  CHECK_THROWS_AS(parse_share("150%", "--margin"), InputError);
}

TEST_CASE("compare --fail-if: metrics and counts as rules") {
  CHECK(parse_fail_rule("mem_gb > 5 %").metric == "mem_gb");
  CHECK(parse_fail_rule("mem_gb > 5 %").kind == FailRule::Kind::higher);
  CHECK(parse_fail_rule("mem_gb<-0.1").kind == FailRule::Kind::lower);
  CHECK(parse_fail_rule("mem_gb<-0.1").threshold == doctest::Approx(0.1));
  CHECK(parse_fail_rule("failed > 2").threshold == 2);
  CHECK(parse_fail_rule("failed").threshold == 0);
  for (const char* word : {"slower", "faster", "higher", "lower", "missing", "failed"}) {
    CHECK(parse_fail_rule(word).metric.empty());
    CHECK(is_gate_word(word));  // of which `check` warns as names of metrics
  }
  CHECK_FALSE(is_gate_word("mem_gb"));
}

TEST_CASE("compare --fail-if: a row that lost its value fails any rule") {
  const Table a = table_of(kSteady, kSteady);
  MadeStudy study = empty_study();
  study.add_runs(0, kSteady, 0, 2);
  study.add_runs(1, kSteady, 1, 2);
  for (std::size_t i = 6; i < 12; ++i) study.records[i].state = i < 8 ? State::timeout : State::failed;
  for (std::size_t i = 6; i < 8; ++i) study.records[i].time_limit_s = 60;
  const Table b = study.table();
  const Comparison comparison = compare_with_rule(a, b, "slower > 5%");
  CHECK(fails(comparison));
  CHECK(comparison.rows[1].fails);
  REQUIRE(comparison.rules.size() == 2);
  CHECK(comparison.rules[0].rows[1].reason == "no value in B: 4 runs failed, 2 runs reached the time limit");
  CHECK(comparison.rules[1].rows[1].state == GateState::not_compared);
  ComparisonOptions options;
  options.fail_if = {parse_fail_rule("slower > 5%")};
  options.allow_missing = true;
  CHECK(gate_state(compare_tables(a, b, options)) == GateState::passes);  // by the other row
  options.fail_if = {parse_fail_rule("not equivalent")};
  CHECK(gate_state(compare_tables(a, a, options)) == GateState::passes);
  CHECK(fails(compare_with_rule(a, b, "missing")));
  CHECK(fails(compare_with_rule(a, b, "failed > 5")));
  CHECK(compare_with_rule(a, b, "failed > 5").rules[1].rows[1].reason ==
        "6 of 6 runs of B did not succeed: 4 failed, 2 timeout");
  CHECK(compare_with_rule(a, b, "failed > 6").rules[1].state == GateState::passes);
  // New in B: nothing to compare with, and nothing lost.
  CHECK(gate_state(compare_with_rule(b, a, "slower > 5%")) == GateState::passes);
}

TEST_CASE("compare --fail-if `failed`: runs that have not ended may still fail") {
  MadeStudy study = empty_study();
  study.add_runs(0, kSteady, 0, 2);
  study.add_runs(1, kSteady, 1, 2);
  study.records[6].state = State::intended;
  study.records[7].state = State::running;
  const Comparison comparison = compare_with_rule(table_of(kSteady, kSteady), study.table(), "failed > 0");
  CHECK(gate_state(comparison) == GateState::undecided);
  CHECK(comparison.rules[1].rows[1].reason == "2 runs of B have not ended: 1 waiting, 1 running, 4 succeeded");
  CHECK(comparison.rows[1].b_runs.unfinished == 2);
  REQUIRE(comparison.left_out.size() == 1);
  CHECK(comparison.left_out[0].find(" in B: 4 with a value, 1 waiting, 1 running") != std::string::npos);
  CHECK(gate_state(compare_with_rule(table_of(kSteady, kSteady), study.table(), "failed > 2")) == GateState::passes);
  for (std::size_t i = 6; i < 12; ++i) study.records[i].state = State::intended;
  CHECK(compare_with_rule(table_of(kSteady, kSteady), study.table(), "missing").rules[0].rows[1].reason ==
        "no value in B: 6 runs waiting");
}

TEST_CASE("compare --fail-if: a gate that compares nothing is undecided") {
  MadeStudy study = empty_study();
  study.add_runs(0, kSteady, 0, 2);
  study.add_runs(1, kSteady, 1, 2);
  for (AttemptRecord& record : study.records) record.state = State::failed;
  const Comparison comparison = compare_with_rule(study.table(), table_of(kSteady, kSteady), "slower > 5%");
  CHECK(gate_state(comparison) == GateState::undecided);
  const std::string junit = formatted("junit", comparison);
  CHECK(junit.find("errors=\"2\"") != std::string::npos);
  CHECK(formatted("github", comparison).find("::error title=") != std::string::npos);
}

TEST_CASE("compare --fail-if: a configuration that B lacks fails, one that A lacks does not") {
  MadeStudy study = clean_study();
  study.add_configuration({"1", "4", "fsdp"});
  study.add_runs(2, kSteady, 2, 2);
  const Comparison lost = compare_with_rule(study.table(), clean_study().table(), "failed > 0");
  CHECK(fails(lost));
  REQUIRE(lost.rules[0].rows.size() == 3);
  CHECK(lost.rules[0].rows[2].reason == "B has no such configuration");
  CHECK(gate_state(compare_with_rule(clean_study().table(), study.table(), "failed > 0")) == GateState::passes);
}

TEST_CASE("compare --fail-if: runs of B's plan that have not begun may still fail, unless missing ones are accepted") {
  MadeStudy study = empty_study();
  study.add_runs(0, kSteady, 0, 2);
  study.add_runs(1, {100, 101, 99, 102}, 1, 2);
  const Table b = study.table();
  const Comparison comparison = compare_with_rule(clean_study().table(), b, "failed > 0");
  CHECK(gate_state(comparison) == GateState::undecided);
  CHECK(comparison.rules[1].rows[1].reason == "2 runs of B have not begun: run them, or give --allow-missing");
  CHECK(gate_state(compare_with_rule(clean_study().table(), b, "failed > 2")) == GateState::passes);
  CHECK(gate_state(compare_with_rule(b, clean_study().table(), "failed > 0")) == GateState::passes);  // of B only
  ComparisonOptions options;
  options.fail_if = {parse_fail_rule("failed > 0")};
  options.allow_missing = true;
  CHECK(gate_state(compare_tables(clean_study().table(), b, options)) == GateState::passes);
  study.records.back().state = State::running;
  CHECK(gate_state(compare_tables(clean_study().table(), study.table(), options)) == GateState::undecided);
}

TEST_CASE("compare --fail-if: a configuration that only B has fails if its runs give no value") {
  MadeStudy study = clean_study();
  study.add_configuration({"1", "4", "fsdp"});
  study.add_runs(2, kSteady, 2, 2);
  for (std::size_t i = 12; i < 18; ++i) study.records[i].state = State::failed;
  const Comparison comparison = compare_with_rule(clean_study().table(), study.table(), "slower > 5%");
  CHECK(fails(comparison));
  REQUIRE(comparison.rules[0].rows.size() == 3);
  CHECK(comparison.rules[0].rows[2].reason == "no value in B: 6 runs failed (A has no such configuration)");
  study.records.resize(12);  // it never ran on either side
  CHECK(gate_state(compare_with_rule(clean_study().table(), study.table(), "slower > 5%")) == GateState::passes);
}

TEST_CASE("compare --fail-if: passing needs enough runs of each side") {
  const auto runs = [](int n) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back(100 + 0.1 * i);
    return values;
  };
  const auto one_row = [](const std::vector<double>& values) {
    MadeStudy study = empty_study();
    study.plan.configurations.pop_back();
    study.experiment.baseline.clear();
    study.plan.repeats = 10;
    study.add_runs(0, values, 0, 2);
    return study.table();
  };
  const auto gate = [&](int a, int b) { return compare_with_rule(one_row(runs(a)), one_row(runs(b)), "slower > 5%"); };
  CHECK(gate(3, 3).rules[1].rows[0].reason == "not proven (3 + 3 runs; at least 4 + 4 are needed)");
  CHECK(gate_state(gate(3, 3)) == GateState::undecided);
  CHECK(gate_state(gate(8, 2)) == GateState::undecided);
  CHECK(gate_state(gate(4, 4)) == GateState::passes);
  // Two rows share the level: five runs.
  const Comparison two = compare_with_rule(table_of(runs(4), runs(4)), table_of(runs(4), runs(5)), "slower > 5%");
  CHECK(two.rules[1].rows[0].reason == "not proven (4 + 4 runs; at least 5 + 5 are needed)");
  // Shown is shown, however few runs there are.
  CHECK(fails(compare_with_rule(one_row(runs(10)), one_row({200, 201}), "slower > 5%")));
  CHECK(compare_with_rule(one_row(runs(2)), one_row(runs(2)), "not equivalent").rules[1].rows[0].reason ==
        "not proven equivalent within 5 % (2 + 2 runs; at least 3 + 3 are needed)");
}

TEST_CASE("compare: every format holds hostile names as text") {
  MadeStudy study = empty_study();
  study.add_runs(0, kSteady, 0, 2);
  study.add_runs(1, kSteady, 1, 2);
  ComparisonOptions options;
  options.a = "a]]>&<b>\x01";
  options.b = "100%\n::error::x";
  options.fail_if = {parse_fail_rule("slower > 5%"), parse_fail_rule("failed > 0")};
  const Comparison comparison = compare_tables(study.table(), study.table(), options);
  const std::string github = formatted("github", comparison);
  CHECK(github.find("::notice title=hpcbench%3A slower > 5%25::passes") != std::string::npos);
  CHECK(github.find("B: 100%25%0A::error::x, A:") != std::string::npos);
  CHECK(formatted("html", comparison).find("a]]&gt;&amp;&lt;b&gt;\\x01") != std::string::npos);
  CHECK(formatted("latex", comparison).find("100\\%") != std::string::npos);
  const std::string junit = formatted("junit", comparison);
  CHECK(junit.find("<testsuite name=\"slower &gt; 5%\" tests=\"2\" failures=\"0\"") != std::string::npos);
  const std::string csv = formatted("csv", comparison);
  CHECK(csv.find("n_a,n_b,a,b,ratio,low,high") != std::string::npos);
  CHECK(csv.find("\nbaseline,1,1,6,6,100.25,100.25,") != std::string::npos);
}

TEST_CASE("compare: too few runs resolve nothing, and it says so") {
  const Comparison comparison = compare_with_rule(table_of({10, 11, 12}, {5}), table_of({20, 21, 22}, {9}), "slower");
  CHECK(comparison.rows[0].verdict == ComparisonVerdict::not_resolved);
  CHECK(comparison.rows[1].remark == "1 + 1 runs are too few for an interval");
  CHECK(gate_state(comparison) == GateState::undecided);
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
  CHECK_THROWS_WITH_AS(compare_tables(clean_study().table(), other.table(), {"old.yaml", "new.yaml", 0.05, {}, false}),
                       "error: old.yaml reports `train_s`, new.yaml reports `wall_s`: name one of them with --metric",
                       InputError);
}

TEST_CASE("compare: medians have the digits that their intervals allow") {
  const auto near = [](double time) {
    return table_of({time, time + 0.1, time + 0.2, time + 0.3, time + 0.4, time + 0.5}, kSteady);
  };
  const std::string text = formatted("text", compare_tables(near(1000), near(1003), {}));
  CHECK(text.find("  1000.2  1003.2  1.00") != std::string::npos);
}

TEST_CASE("compare: formats") {
  const Comparison comparison = compare_with_rule(table_of(kSteady, kSteady), scaled_table({20, 40}), "slower > 5%");
  const std::string text = formatted("text", comparison);
  CHECK(text.find("strategy") != std::string::npos);
  CHECK(text.find("--fail-if `slower > 5%`: fails") != std::string::npos);
  CHECK(formatted("markdown", comparison).find("| strategy |") != std::string::npos);
  const std::string json = formatted("json", comparison);
  CHECK(json.find("\"schema\":1") != std::string::npos);
  CHECK(json.find("\"verdict\":\"slower\"") != std::string::npos);
  CHECK(json.find("\"gate\":\"fails\",\"fails\":true}\n") != std::string::npos);
}

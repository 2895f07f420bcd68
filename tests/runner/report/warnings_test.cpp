#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runner/report/study.hpp"

using namespace hpcbench;

namespace {

void set_fact(MadeStudy& study, std::size_t first, std::size_t last, const std::string& name, const std::string& value) {
  for (std::size_t i = first; i < last; ++i) study.records[i].facts[name] = value;
}

}  // namespace

TEST_CASE("lists are whole for programs, and end in a number for people") {
  MadeStudy study = empty_study();
  study.plan.configurations.clear();
  study.plan.varied = {"gpus_per_node"};
  for (const std::string gpus : {"1", "2", "4", "8", "16"}) study.add_configuration({"1", gpus, "ddp"});
  study.experiment.baseline.clear();
  for (std::size_t i = 0; i < 5; ++i) study.add_run(i, 1, 10, static_cast<double>(i));
  const std::string some = warning_of(study.table(), "few-repeats").seen;
  CHECK(some.ends_with("; and 2 more"));
  ReportOptions options;
  options.whole_lists = true;
  const std::string all = warning_of(study.table(options), "few-repeats").seen;
  CHECK(all.find("more") == std::string::npos);
  for (const char* const gpus : {"=1:", "=2:", "=4:", "=8:", "=16:"}) CHECK(all.find(gpus) != std::string::npos);
}

TEST_CASE("superlinear: only where the whole interval is above the gpus") {
  MadeStudy study = clean_study();
  CHECK_FALSE(warns(study.table(), "superlinear"));  // 1.99 [1.61, 2.42] of 2
  set_metric(study, 6, "train_s", {3.2, 3.1, 3.0, 3.3, 3.1, 3.2});
  const Table table = study.table();
  const TableWarning& warning = warning_of(table, "superlinear");
  CHECK(warning.rows == std::vector<std::string>{kDdpId});
  CHECK(table.rows[1].warnings == std::vector<std::string>{"superlinear"});
  CHECK(table.rows[1].karp_flatt.value() < 0);
}

TEST_CASE("superlinear: not by the last digit of a logarithm") {
  MadeStudy study = clean_study();
  set_metric(study, 0, "train_s", {10, 10, 10, 10, 10, 10});  // exp(log(10) - log(5)) is 2.0000000000000004
  set_metric(study, 6, "train_s", {5, 5, 5, 5, 5, 5});
  const Table table = study.table();
  CHECK(table.rows[1].speedup->value != 2);
  CHECK_FALSE(warns(table, "superlinear"));
  CHECK(table.rows[1].karp_flatt == 0.0);
}

TEST_CASE("reference-missed: not on the bound, however it is rounded") {
  MadeStudy study = clean_study();
  MetricReference reference;
  reference.value = 100;
  reference.high = 0.15;  // 114.99999999999999
  study.experiment.report.references = {reference};
  set_metric(study, 0, "train_s", {115, 115, 115, 115, 115, 115});
  CHECK_FALSE(warns(study.table(), "reference-missed"));
  set_metric(study, 0, "train_s", {115.001, 115.001, 115.001, 115.001, 115.001, 115.001});
  CHECK(warns(study.table(), "reference-missed"));
}

TEST_CASE("confounded: one warning for each kind of difference") {
  MadeStudy study = clean_study();
  set_fact(study, 0, 12, "torch", "2.13.0");
  CHECK(codes_of(study.table()).empty());
  set_fact(study, 6, 12, "precision", "bf16");
  set_fact(study, 6, 12, "global_batch", "128");
  const Table table = study.table();
  CHECK(codes_of(table) == std::vector<std::string>{"confounded", "confounded"});
  CHECK(table.warnings[0].seen == "precision: bf16 in strategy=ddp, gpus_per_node=2, fp32 in its baseline");
  CHECK(table.warnings[1].seen == "global batch: 128 in strategy=ddp, gpus_per_node=2, 64 in its baseline");
  CHECK(table.rows[1].warnings == std::vector<std::string>{"confounded"});  // a code once
}

TEST_CASE("confounded: each fact counts, a missing one does not") {
  for (const std::string name : {"optimizer_steps", "samples", "device", "torch", "code", "commit", "driver",
                                 "gpu_power_limit_w", "nccl_local_transport", "nccl_network_transport"}) {
    CAPTURE(name);
    MadeStudy study = clean_study();
    set_fact(study, 0, 6, name, "1");
    if (name != "samples") CHECK_FALSE(warns(study.table(), "confounded"));
    set_fact(study, 6, 12, name, "2");
    CHECK(warns(study.table(), "confounded"));
  }
}

TEST_CASE("confounded: of code, the hash of the files goes before the commit") {
  MadeStudy study = clean_study();
  set_fact(study, 0, 12, "code", "abc");
  set_fact(study, 0, 6, "commit", "1");
  set_fact(study, 6, 12, "commit", "2");
  CHECK_FALSE(warns(study.table(), "confounded"));
}

TEST_CASE("confounded: runs of one row that differ among themselves") {
  MadeStudy study = clean_study();
  set_fact(study, 0, 6, "torch", "abc");
  set_fact(study, 0, 1, "torch", "def");
  CHECK(warning_of(study.table(), "confounded").seen ==
        "library: def and abc among the runs of strategy=baseline, gpus_per_node=1");
}

TEST_CASE("mixed-program: runs of one row executed several versions of a file") {
  MadeStudy study = clean_study();
  set_fact(study, 0, 6, "code", "abc");
  set_fact(study, 0, 6, "code:train.py", "abc");
  CHECK_FALSE(warns(study.table(), "mixed-program"));
  set_fact(study, 0, 2, "code", "def");
  CHECK(warning_of(study.table(), "mixed-program").seen ==
        "strategy=baseline, gpus_per_node=1: 2 versions of the files in `command` (2 and 4 runs)");
  set_fact(study, 0, 2, "code:train.py", "def");
  Table table = study.table();
  CHECK(warning_of(table, "mixed-program").seen == "strategy=baseline, gpus_per_node=1: 2 versions of train.py (2 and 4 runs)");
  CHECK_FALSE(warns(table, "confounded"));
  CHECK(table.rows[0].warnings == std::vector<std::string>{"mixed-program"});
}

TEST_CASE("mixed-program: a program on PATH, input decks and inputs of preparations, too") {
  MadeStudy study = clean_study();
  set_fact(study, 0, 6, "program:app", "abc /a/app");
  set_fact(study, 0, 2, "program:app", "abc /b/app");
  CHECK_FALSE(warns(study.table(), "mixed-program"));  // the same content
  set_fact(study, 0, 2, "program:app", "def /a/app");
  CHECK(warning_of(study.table(), "mixed-program").seen.ends_with("2 versions of app (2 and 4 runs)"));
  for (const std::string kind : {"deck", "inputs"}) {
    study = clean_study();
    set_fact(study, 0, 6, kind, "abc");
    set_fact(study, 0, 2, kind, "def");
    CHECK(warns(study.table(), "mixed-program"));
  }
}

TEST_CASE("set-aside: more than one run in ten of a row, unless all were measured again") {
  MadeStudy study = clean_study();
  ReportOptions options;
  AttemptRecord aside = study.records[6];
  aside.key.run.number = 7;
  aside.aside = SetAside{"a backup ran", false, "", std::nullopt};
  options.set_aside = {aside};
  study.plan.repeats = 7;
  Table table = study.table(options);
  CHECK(warning_of(table, "set-aside").seen == "strategy=ddp, gpus_per_node=2: 1 of 7 runs");
  CHECK(table.rows[1].counts.n == 6);
  CHECK(table.rows[1].runs_left_out() == 1);
  CHECK(print_as(table, "text").find("6 succeeded, 1 set aside") != std::string::npos);
  for (int run = 7; run <= 12; ++run) study.add_run(1, run, 6, 20 + run);
  study.plan.repeats = 12;
  options.set_aside.front().key.run.number = 13;
  study.plan.repeats = 13;
  CHECK_FALSE(warns(study.table(options), "set-aside"));  // 1 of 13
  study = clean_study();
  options.set_aside.clear();
  for (std::size_t i = 6; i < 12; ++i) {
    options.set_aside.push_back(study.records[i]);
    options.set_aside.back().aside = SetAside{"measured again", true, "", std::nullopt};
    study.records[i].key.attempt = 2;
  }
  table = study.table(options);
  CHECK_FALSE(warns(table, "set-aside"));
  CHECK(table.rows[1].runs_set_aside() == 6);
  CHECK(table.rows[1].runs_left_out() == 0);
  // A run that was tried twice before is no choice; one that was set aside by a person since then is.
  options.set_aside.push_back(options.set_aside.front());
  options.set_aside.back().key.attempt = 2;
  CHECK_FALSE(warns(study.table(options), "set-aside"));
  options.set_aside.back().aside->again = false;
  CHECK(warning_of(study.table(options), "set-aside").seen == "strategy=ddp, gpus_per_node=2: 1 of 6 runs");
}

TEST_CASE("changed-program: shown rows with runs of files that changed since") {
  MadeStudy study = clean_study();
  ReportOptions options;
  options.changed_files = {{"train.py changed since 6 of 12 runs", {kDdpId}}};
  const Table table = study.table(options);
  CHECK(warning_of(table, "changed-program").seen == "train.py changed since 6 of 12 runs");
  CHECK(warning_of(table, "changed-program").rows == std::vector<std::string>{kDdpId});
  options.changed_files = {{"train.py changed since 1 of 12 runs", {"of another row"}}};
  CHECK_FALSE(warns(study.table(options), "changed-program"));
}

TEST_CASE("confounded: weak scaling wants the same work per gpu") {
  MadeStudy study = clean_study();
  study.experiment.report.scaling = Scaling::weak;
  CHECK(warns(study.table(), "confounded"));  // 48,000 samples on two gpus are half as many each
  set_fact(study, 6, 12, "samples", "96000");
  set_fact(study, 6, 12, "global_batch", "128");
  CHECK_FALSE(warns(study.table(), "confounded"));
}

TEST_CASE("loss-mismatch: by more than five percent and beyond both ranges") {
  MadeStudy study = clean_study();
  set_metric(study, 0, "train_loss", {0.24, 0.25, 0.26, 0.25, 0.24, 0.26});
  set_metric(study, 6, "train_loss", {0.26, 0.28, 0.29, 0.28, 0.29, 0.30});
  CHECK_FALSE(warns(study.table(), "loss-mismatch"));  // the ranges touch
  set_metric(study, 6, "train_loss", {0.27});
  CHECK(warning_of(study.table(), "loss-mismatch").rows == std::vector<std::string>{kDdpId});
  set_metric(study, 0, "train_loss", {0.25, 0.25, 0.25, 0.25, 0.25, 0.25});
  set_metric(study, 6, "train_loss", {0.26, 0.26, 0.26, 0.26, 0.26, 0.26});
  CHECK_FALSE(warns(study.table(), "loss-mismatch"));  // 4 %
}

TEST_CASE("outlier: flagged, and kept") {
  MadeStudy study = empty_study();
  study.plan.repeats = 8;
  study.add_runs(0, {9, 8, 9, 10, 11, 10, 11, 17.5}, 0, 2);
  study.add_runs(1, {5, 6, 5, 7, 6, 7, 6, 5}, 1, 2);
  const Table table = study.table();
  CHECK(warning_of(table, "outlier").seen == "strategy=baseline, gpus_per_node=1: r08 = 17.5, median 10");
  CHECK(table.rows[0].counts.n == 8);
  CHECK(table.rows[0].summary->max == 17.5);
}

TEST_CASE("few-repeats and baseline-few") {
  MadeStudy study = clean_study();
  study.records.erase(study.records.begin() + 5);  // r06 of the baseline
  const Table table = study.table();
  CHECK(codes_of(table) == std::vector<std::string>{"few-repeats", "baseline-few", "adaptive"});
  CHECK(table.warnings[0].seen == "strategy=baseline, gpus_per_node=1: n = 5, covers 93.75 %");
  CHECK(table.warnings[1].seen == "strategy=baseline, gpus_per_node=1: n = 5, but 6 in strategy=ddp, gpus_per_node=2");
  CHECK(table.rows[0].warnings == std::vector<std::string>{"few-repeats", "baseline-few", "adaptive"});
  study.experiment.report.confidence = 0.9;
  CHECK(codes_of(study.table()) == std::vector<std::string>{"baseline-few", "adaptive"});
}

TEST_CASE("adaptive: fewer runs than planned have ended, or the number planned was changed") {
  MadeStudy study = clean_study();
  study.records.back().state = State::running;
  CHECK(warning_of(study.table(), "adaptive").seen == "strategy=ddp, gpus_per_node=2: 5 of 6 planned runs have ended");
  study.records.back().state = State::failed;  // it ended
  CHECK_FALSE(warns(study.table(), "adaptive"));
  study = clean_study();
  set_fact(study, 0, 12, "planned_repeats", "6");
  CHECK_FALSE(warns(study.table(), "adaptive"));
  set_fact(study, 3, 6, "planned_repeats", "10");
  const Table table = study.table();
  CHECK(warning_of(table, "adaptive").rows == std::vector<std::string>{"000000000000000a"});
  CHECK(warning_of(table, "adaptive").seen ==
        "strategy=baseline, gpus_per_node=1: runs of studies of 6 repeats and of 10: changed after the first results");
}

TEST_CASE("superlinear without an interval: by the estimate, and it says so") {
  MadeStudy study = empty_study();
  study.add_run(0, 1, 10, 0);
  study.add_run(1, 1, 4, 1);
  CHECK(warning_of(study.table(), "superlinear").seen ==
        "strategy=ddp, gpus_per_node=2: speedup (without an interval) 2.5 where 2 is ideal");
}

TEST_CASE("overfitting: the validation loss rises while the train loss falls") {
  MadeStudy study = clean_study();
  const std::vector<double> train = {1.60, 0.85, 0.62, 0.45, 0.33};
  const std::vector<double> validation = {1.11, 1.01, 1.20, 1.27, 1.43};
  for (std::size_t run = 6; run < 12; ++run) {
    for (long long epoch = 1; epoch <= 5; ++epoch) {
      const auto i = static_cast<std::size_t>(epoch - 1);
      study.records[run].series.push_back({"train_loss", epoch, train[i]});
      study.records[run].series.push_back({"val_loss", epoch, validation[i]});
    }
  }
  const Table table = study.table();
  CHECK(warning_of(table, "overfitting").seen ==
        "strategy=ddp, gpus_per_node=2: overfits from epoch 3: from epoch 1 to 5 the train loss goes from 1.60 to 0.33, the "
        "validation loss from 1.11 to 1.43 (lowest: 1.01 in epoch 2)");
  CHECK(table.rows[1].losses.best_epoch == 2);
  CHECK(table.rows[1].losses.overfits_from == 3);
  CHECK(table.rows[1].losses.generalisation_gap.value() == doctest::Approx(1.10));
}

TEST_CASE("failures: outcomes other than succeeded, not runs that still go on") {
  MadeStudy study = clean_study();
  study.records[6].state = State::running;
  CHECK_FALSE(warns(study.table(), "failures"));
  study.records[7].state = State::lost;
  study.records[8].state = State::failed;
  CHECK(warning_of(study.table(), "failures").seen == "strategy=ddp, gpus_per_node=2: 1 failed, 1 lost");
}

TEST_CASE("reference-missed: the whole interval must lie outside") {
  MadeStudy study = clean_study();
  MetricReference reference;
  reference.when = {{"strategy", {Value::from_plain("ddp")}}};
  reference.value = 6.4;
  reference.place = {"digits.yaml", 9, 5};
  reference.high = 0.05;
  const auto missed_of = [&](double value) {
    reference.value = value;
    study.experiment.report.references = {reference};
    return warns(study.table(), "reference-missed");
  };
  // ddp has 6.4 [5.0, 7.3]
  CHECK_FALSE(missed_of(6.4));
  CHECK_FALSE(missed_of(5.0 / 1.05 + 1e-9));
  CHECK(missed_of(5.0 / 1.05 - 1e-3));
  CHECK_FALSE(missed_of(1000));  // without `low` no value is too low
  CHECK(missed_of(4));
  const Table table = study.table();
  const TableWarning& warning = warning_of(table, "reference-missed");
  CHECK(warning.rows == std::vector<std::string>{kDdpId});
  CHECK(warning.seen ==
        "strategy=ddp, gpus_per_node=2: train_s is 6.4 [5, 7.3] 96.9 %, and the reference in line 9 of digits.yaml allows at "
        "most 4.2");
  reference.high.reset();
  reference.low = -0.05;
  CHECK_FALSE(missed_of(7.3 / 0.95 - 1e-9));
  CHECK(missed_of(7.3 / 0.95 + 1e-3));
  study.experiment.report.references[0].when.clear();
  CHECK(warning_of(study.table(), "reference-missed").rows == std::vector<std::string>{kDdpId});
  for (const char* format : {"text", "markdown", "html", "latex", "json", "csv"}) {
    CAPTURE(format);
    CHECK(print_as(study.table(), format).find("reference-missed") != std::string::npos);
  }
}

TEST_CASE("reference-missed: without an interval the range of the runs judges, and one run by itself") {
  MadeStudy study = empty_study();
  study.add_runs(0, {12}, 0, 1);
  study.add_runs(1, {6, 5, 7}, 0, 1);
  MetricReference reference;
  reference.value = 100;
  reference.low = -0.1;
  reference.place = {"digits.yaml", 9, 5};
  study.experiment.report.references = {reference};
  CHECK(
      warning_of(study.table(), "reference-missed").seen ==
      "strategy=baseline, gpus_per_node=1: train_s is 12 in its only run, and the reference in line 9 of digits.yaml allows at "
      "least 90; strategy=ddp, gpus_per_node=2: train_s is in [5, 7] in 3 runs, too few for an interval, and the reference "
      "in line 9 of digits.yaml allows at least 90");
  study.experiment.report.references[0].value = 7.7;  // from 6.93
  CHECK_FALSE(warns(study.table(), "reference-missed"));
}

TEST_CASE("reference: of the file's metric whatever is shown, and a metric that no run has is told") {
  MadeStudy study = clean_study();
  MetricReference reference;
  reference.value = 1;
  reference.high = 0.0;
  study.experiment.report.references = {reference};
  ReportOptions options;
  options.metric = "accuracy";  // 0.9, which is allowed
  CHECK(warning_of(study.table(options), "reference-missed").rows.size() == 2);
  study.experiment.report.references[0].metric = "acuracy";
  const Table table = study.table();
  CHECK_FALSE(warns(table, "reference-missed"));
  CHECK(warning_of(table, "reference-no-value").seen ==
        "strategy=baseline, gpus_per_node=1: no acuracy; strategy=ddp, gpus_per_node=2: no acuracy");
}

TEST_CASE("reference-unmatched: one of the file under a profile that has none of its points") {
  MadeStudy study = clean_study();
  MetricReference reference;
  reference.when = {{"strategy", {Value::from_plain("fsdp")}}};
  reference.value = 1;
  reference.low = -0.5;
  reference.place = {"digits.yaml", 9, 5};
  study.experiment.report.references = {reference};
  CHECK(warning_of(study.table(), "reference-unmatched").seen ==
        "the reference in line 9 of digits.yaml matches no configuration");
}

TEST_CASE("diverged: runs that succeeded with a loss of NaN, apart from other metrics") {
  MadeStudy study = clean_study();
  CHECK_FALSE(warns(study.table(), "diverged"));
  for (const int i : {0, 3}) {
    study.records[i].facts[kNanFact] = "val_loss, rate";
    study.records[i].metrics.erase("val_loss");
    study.records[i].warnings = {"metric val_loss: 3 of 4 values are not finite"};
  }
  study.records[3].state = State::failed;  // counts as that
  const Table table = study.table();
  CHECK(table.rows[0].counts.nan + table.rows[1].counts.nan == 1);
  const TableWarning& warning = warning_of(table, "diverged");
  CHECK(warning.rows.size() == 1);
  CHECK(warning.seen.find("val_loss is nan in 1 of") != std::string::npos);
  CHECK(warning.seen.find("(3 of 4 values are not finite)") != std::string::npos);
  CHECK(warning.advice.find("success: {require: [val_loss < 1e300]}") != std::string::npos);
  CHECK(warning_of(table, "no-value").seen.find("rate is nan in 1 of") != std::string::npos);
}

TEST_CASE("runs that were tried again are counted in a note and in json") {
  MadeStudy study = clean_study();
  ReportOptions options;
  CHECK(study.table(options).notes.empty());
  options.tried_again = {
      {kDdpId, {RunKind::repeat, 2}, 1}, {kDdpId, {RunKind::repeat, 2}, 2}, {"other", {RunKind::repeat, 1}, 1}};
  const Table table = study.table(options);
  CHECK(table.rows[0].counts.tried_again == 0);
  CHECK(table.rows[1].counts.tried_again == 1);
  REQUIRE(table.notes.size() == 1);
  CHECK(table.notes[0].starts_with("1 run in 1 of 2 rows needed more than one attempt. Only the last attempt of a run counts"));
  CHECK(print_as(table, "json").find("\"tried_again\":1") != std::string::npos);
}

TEST_CASE("unresolved: the interval of the speedup holds 1") {
  MadeStudy study = clean_study();
  set_metric(study, 6, "train_s", {12.1, 10.1, 15.1, 11.1, 14.1, 13.1});
  const Table table = study.table();
  CHECK(codes_of(table) == std::vector<std::string>{"unresolved"});
  CHECK(table.rows[1].speedup->resolved == false);
}

TEST_CASE("confounded: what an axis of software changes is the factor") {
  MadeStudy study = clean_study();
  for (AttemptRecord& record : study.records) {
    record.facts["torch"] = record.key.config_id == study.plan.configurations[0].id ? "2.6" : "2.9";
  }
  CHECK(warns(study.table(), "confounded"));
  SUBCASE("a container's") {
    study.experiment.work.container = Container{"torch-{{strategy}}.sif"};
    CHECK_FALSE(warns(study.table(), "confounded"));
    SUBCASE("not where the fact does not follow it") {
      study.records.back().facts["torch"] = "2.8";
      CHECK(warns(study.table(), "confounded"));
    }
    SUBCASE("not what runs do") {
      for (AttemptRecord& record : study.records) record.facts["samples"] = record.facts["torch"];
      CHECK(warns(study.table(), "confounded"));
    }
  }
  SUBCASE("an override's") {
    Override given;
    given.when = {{"strategy", {Value::from_plain("ddp")}}};
    given.modules = {"torch/2.9"};
    study.experiment.overrides.push_back(given);
    CHECK_FALSE(warns(study.table(), "confounded"));
  }
  SUBCASE("not one that the command alone is given") {
    study.experiment.work.command = {"prog", "{{strategy}}"};
    CHECK(warns(study.table(), "confounded"));
  }
}

TEST_CASE("confounded: input decks that no axis chooses") {
  MadeStudy study = clean_study();
  for (AttemptRecord& record : study.records) {
    record.facts["deck"] = record.key.config_id == study.plan.configurations[0].id ? "aaaa" : "bbbb";
  }
  study.experiment.work.files = {{"a.in", "a", {}}};
  CHECK(warning_of(study.table(), "confounded").seen.find("input deck") != std::string::npos);
  study.experiment.work.files = {{"{{strategy}}.in", "a", {}}};
  CHECK_FALSE(warns(study.table(), "confounded"));
}

// What warnings advise: true and harmless for imported runs, for runs that still go on, and for those that failed.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runner/report/study.hpp"

using namespace hpcbench;

namespace {

/// What every warning is about, in one study: a baseline and a row that differ in all ways, published badly, and failures.
MadeStudy wholly_troubled_study() {
  MadeStudy study = empty_study();
  study.plan.repeats = 8;
  study.add_runs(0, {10, 11, 12, 13, 14, 15, 16, 40}, 0, 1);
  study.add_runs(1, {2, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8}, 0, 1);
  for (AttemptRecord& record : study.records) {
    const bool of_baseline = record.gpus == 1;
    record.metrics["train_loss"] = of_baseline ? 0.1 : 0.9;
    record.facts["precision"] = of_baseline ? "fp32" : "bf16";
    record.facts["batches_per_rank"] = "10";
    record.facts["process_group"] = "none";
    record.facts["world_size"] = of_baseline ? "1" : "4";
    record.facts["published_train_s"] = "99";
    record.facts["simulated_nodes"] = "2";
    record.facts["cores_shared"] = "4 ranks on 2 cores";
    record.facts["side_by_side_shared"] = "runs side by side shared core 0 on n0";
    record.facts["suspended"] = "12.0 s";
    record.facts["planned_repeats"] = record.key.run.number > 3 ? "8" : "3";
    record.warnings = {"metric f1: no match in stdout.log"};
    record.series = {{"rank_real_s", 0, 100}, {"train_loss", 1, 0.9}, {"train_loss", 2, 0.5}, {"train_loss", 3, 0.1},
                     {"val_loss", 1, 0.9},    {"val_loss", 2, 1.5},   {"val_loss", 3, 1.9}};
  }
  for (const State state : {State::failed, State::timeout, State::running}) {
    study.add_run(0, 9 + static_cast<int>(state), 1, 20).state = state;
  }
  return study;
}

void make_imported(MadeStudy& study) {
  for (AttemptRecord& record : study.records) {
    record.key.run.kind = RunKind::imported;
    record.facts["source"] = "imported";
  }
}

/// The studies that make up all warnings, each in its own way.
std::vector<MadeStudy> all_troubles() {
  std::vector<MadeStudy> studies(5, wholly_troubled_study());
  for (AttemptRecord& record : studies[1].records) {
    record.facts.erase("planned_repeats");
    record.facts.erase("world_size");
    record.started_unix_s = *record.started_unix_s + (record.gpus == 1 ? 0 : 1e6);
  }
  set_metric(studies[2], 8, "train_s", {11, 12, 13, 14, 15, 16, 17, 18, 19});  // unresolved
  studies[3].records.erase(studies[3].records.begin() + 2, studies[3].records.begin() + 8);
  studies[3].records.erase(studies[3].records.begin() + 5, studies[3].records.begin() + 11);
  for (AttemptRecord& record : studies[4].records) record.state = State::failed;
  return studies;
}

}  // namespace

TEST_CASE("warnings of imported runs: nothing that would make runs anew, in no warning") {
  std::set<std::string> seen;
  for (MadeStudy& study : all_troubles()) {
    for (const std::string& code : codes_of(study.table())) seen.insert(code);
    make_imported(study);
    for (const TableWarning& warning : study.table().warnings) {
      seen.insert(warning.code);
      CAPTURE(warning.code);
      for (const char* word : {"repeat", "retry", "again", "run them", "runs them", "measure all", "measure both",
                               "measure into", "wait", "--slots", "--site", "hpcbench run", "hpcbench status"}) {
        CAPTURE(word);
        CHECK(warning.advice.find(word) == std::string::npos);
        CHECK(warning.why.find(word) == std::string::npos);
      }
    }
  }
  for (const std::string code : {"simulated-nodes", "cores-shared",       "side-by-side-shared",
                                 "suspended",       "published-mismatch", "gpus-mismatch",
                                 "same-work",       "ranks-disagree",     "superlinear",
                                 "confounded",      "loss-mismatch",      "overfitting",
                                 "overlap",         "not-interleaved",    "drift",
                                 "outlier",         "few-repeats",        "baseline-few",
                                 "adaptive",        "failures",           "unresolved",
                                 "no-value",        "no-success"}) {
    CAPTURE(code);
    CHECK(seen.contains(code));  // a warning that no study here makes would go unread
  }
}

TEST_CASE("warnings of our rows and of imported rows: one each, with the advice that fits") {
  MadeStudy study = empty_study();
  study.plan.repeats = 2;
  study.add_runs(0, {12, 10}, 0, 2);
  study.add_runs(1, {6.2, 7.3}, 1, 2);
  for (std::size_t i = 2; i < 4; ++i) study.records[i].key.run.kind = RunKind::imported;
  const Table table = study.table();
  std::map<std::string, std::string> advice;  // by row
  for (const TableWarning& warning : table.warnings) {
    if (warning.code != "few-repeats") continue;
    REQUIRE(warning.rows.size() == 1);
    advice[warning.rows.front()] = warning.advice;
  }
  CHECK(advice["000000000000000a"] == "set `repeats` to 6 or more, once, and let all of them end: what is there is kept");
  CHECK(advice[kDdpId] == "give their values and their number, and claim nothing that needs an interval");
}

TEST_CASE("failures: imported ones are not to be run again, beside our own") {
  MadeStudy study = clean_study();
  study.records[7].state = State::failed;
  AttemptRecord import = study.records[8];
  import.key.run = {RunKind::imported, 1};
  import.state = State::timeout;
  study.records.push_back(import);
  std::vector<TableWarning> failures;
  for (const TableWarning& warning : study.table().warnings) {
    if (warning.code == "failures") failures.push_back(warning);
  }
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].seen == "strategy=ddp, gpus_per_node=2: 1 failed");
  CHECK(failures[0].advice.find("hpcbench retry") != std::string::npos);
  CHECK(failures[1].seen == "strategy=ddp, gpus_per_node=2: 1 timeout");
  CHECK(failures[1].advice.find("retry") == std::string::npos);
}

TEST_CASE("few-repeats and adaptive do not contradict each other") {
  MadeStudy study = clean_study();
  study.records.resize(9);  // six of the baseline, three of ddp; six are planned
  Table table = study.table();
  CHECK(warning_of(table, "few-repeats").advice ==
        "wait until all 6 planned runs have ended: `hpcbench run digits` carries on with them");
  CHECK(warning_of(table, "adaptive").advice == "decide nothing by these numbers before all planned runs have ended");
  for (int number = 4; number <= 6; ++number) study.add_run(1, number, 1, 20 + number).state = State::failed;
  table = study.table();
  CHECK(warning_of(table, "few-repeats").advice ==
        "see why planned runs have no value (`hpcbench status digits`), and fix that");
  CHECK_FALSE(warns(table, "adaptive"));
  study.records.resize(9);
  ReportOptions options;
  for (int number = 4; number <= 6; ++number) {
    study.add_run(1, number, 1, 20 + number).aside = SetAside{"a backup ran", false, "", std::nullopt};
    options.set_aside.push_back(study.records.back());
    study.records.pop_back();
  }
  CHECK(warning_of(study.table(options), "few-repeats").advice ==
        "runs that are set aside are not run again: measure all runs of these rows again (`hpcbench run digits --again`), or "
        "raise `repeats` by the runs that are set aside");
  for (int number = 4; number <= 6; ++number) study.add_run(1, number, 1, 20 + number).state = State::failed;
  study.plan.repeats = 3;
  study.experiment.report.confidence = 0.99;  // 1 - 2^-7 is the first above it
  CHECK(warning_of(study.table(), "few-repeats").advice ==
        "set `repeats` to 8 or more, once, and let all of them end: what is there is kept");
}

TEST_CASE("no-success: the one message, with the reasons, and it stands alone") {
  MadeStudy study = clean_study();
  for (std::size_t i = 0; i < study.records.size(); ++i) {
    study.records[i].state = i == 0 ? State::timeout : i == 1 ? State::running : State::failed;
    if (i > 1) study.records[i].reason = "exit code 3";
    study.records[i].facts["planned_repeats"] = i < 4 ? "3" : "6";
  }
  const Table table = study.table();
  CHECK(codes_of(table) == std::vector<std::string>{"no-success"});
  CHECK(table.warnings[0].seen == "none of 11 runs that ended succeeded: 10 failed (exit code 3), 1 timeout");
  const std::string text = print_as(table, "text");
  CHECK(text.find("No run succeeded: there is no value of") < text.find("strategy"));
  CHECK(text.find("Hodges") == std::string::npos);  // nothing of how values that are not there were got
  study.records[2].state = State::succeeded;
  CHECK_FALSE(warns(study.table(), "no-success"));
  CHECK(warns(study.table(), "failures"));
  MadeStudy waiting = clean_study();
  for (AttemptRecord& record : waiting.records) record.state = State::running;
  CHECK(codes_of(waiting.table()).empty());  // nothing has ended: nothing to warn of
}

// Warnings about when and where the runs ran.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "runner/report/study.hpp"

using namespace hpcbench;

TEST_CASE("overlap: both of two runs on a shared host, also through a list of hosts") {
  MadeStudy study = clean_study();
  study.records[6].started_unix_s = *study.records[0].started_unix_s + 49;
  const Table table = study.table();
  CHECK(warning_of(table, "overlap").rows.size() == 2);
  CHECK(warning_of(table, "overlap").seen ==
        "strategy=baseline, gpus_per_node=1: 1 of 6 runs; strategy=ddp, gpus_per_node=2: 1 of 6 runs");
  study.records[6].node = "node2,node3";
  CHECK_FALSE(warns(study.table(), "overlap"));
  study.records[6].node = "node2,node1";
  CHECK(warns(study.table(), "overlap"));
  study.records[6].started_unix_s = *study.records[0].finished_unix_s;
  CHECK_FALSE(warns(study.table(), "overlap"));  // one after the other
}

TEST_CASE("shared-files: runs that went on at once, on any host, and read one file outside") {
  MadeStudy study = clean_study();
  study.records[6].started_unix_s = *study.records[0].started_unix_s + 49;
  study.records[6].node = "node2";
  CHECK_FALSE(warns(study.table(), "shared-files"));
  study.records[0].facts["outside"] = "/w/a.csv, /w/out.csv";
  study.records[6].facts["outside"] = "/w/out.csv";
  const Table table = study.table();
  CHECK(warning_of(table, "shared-files").rows.size() == 2);
  CHECK(
      warning_of(table, "shared-files")
          .seen.starts_with("strategy=baseline, gpus_per_node=1: 1 of 6 runs read a file that another run may have written; "));
  study.records[6].facts["outside"] = "/v/out.csv";
  CHECK_FALSE(warns(study.table(), "shared-files"));
  study.records[6].facts["outside"] = "/w/out.csv";
  study.records[6].started_unix_s = *study.records[0].finished_unix_s;
  CHECK_FALSE(warns(study.table(), "shared-files"));  // one after the other
}

TEST_CASE("other-nodes: a row that shares no node with its baseline, where Slurm gave the nodes") {
  MadeStudy study = clean_study();
  for (AttemptRecord& record : study.records) record.nodes = "n1,n2";
  for (std::size_t i = 6; i < 12; ++i) study.records[i].nodes = i == 6 ? "n3,n4" : "n3";
  Table table = study.table();
  const TableWarning warning = warning_of(table, "other-nodes");
  CHECK(warning.rows == std::vector<std::string>{kDdpId});
  CHECK(warning.seen == "strategy=ddp, gpus_per_node=2: n = 6 on 2 nodes (n3, n4), its baseline n = 6 on 2 nodes (n1, n2)");
  CHECK(table.rows[1].nodes == std::set<std::string>{"n3", "n4"});
  study.records[7].nodes = "n2";
  CHECK_FALSE(warns(study.table(), "other-nodes"));
  for (AttemptRecord& record : study.records) record.nodes.reset();
  for (std::size_t i = 6; i < 12; ++i) study.records[i].node = "host2";
  CHECK_FALSE(warns(study.table(), "other-nodes"));  // a container's host may have a new name each time
  CHECK(study.table().rows[1].nodes == std::set<std::string>{"host2"});
}

TEST_CASE("nodes seen: of the runs that have a value; a column where Slurm chose the nodes, in CSV and JSON always") {
  MadeStudy study = clean_study();
  const auto has = [&](const char* format, const std::string& text) {
    return print_as(study.table(), format).find(text) != std::string::npos;
  };
  CHECK_FALSE(has("markdown", "nodes seen"));
  CHECK(has("csv", ",nodes_seen,outcomes"));
  CHECK(has("json", R"("nodes_seen":1,"outcomes")"));
  for (std::size_t i = 0; i < 12; ++i) study.records[i].nodes = i % 2 == 0 ? "n1,n2" : "n2,n3";
  study.records[0].state = State::failed;
  study.records[0].nodes = "broken";
  CHECK(has("markdown", "nodes seen"));
  CHECK(has("json", R"("nodes_seen":3,"outcomes")"));
  CHECK_FALSE(has("json", R"("nodes_seen":4)"));
}

TEST_CASE("side by side: no overlap within a job, one with others on the host; a note and JSON say it") {
  MadeStudy study = clean_study();
  CHECK(print_as(study.table(), "json").find("side_by_side") == std::string::npos);
  study.records[6].started_unix_s = *study.records[0].started_unix_s + 49;
  for (const std::size_t i : {0U, 6U}) {
    study.records[i].job = "12_0";
    study.records[i].facts["side_by_side"] = "2";
  }
  Table table = study.table();
  CHECK_FALSE(warns(table, "overlap"));
  CHECK_FALSE(warns(table, "side-by-side-shared"));
  CHECK(print_as(table, "json").find(R"("side_by_side":2)") != std::string::npos);
  CHECK(std::any_of(table.notes.begin(), table.notes.end(), [](const std::string& note) {
    return note.starts_with("2 of 2 rows ran side by side, up to 2 runs of a block on one node at a time");
  }));
  study.records[6].facts["side_by_side_shared"] = "runs side by side shared core 0 on n0";
  CHECK(warning_of(study.table(), "side-by-side-shared").rows == std::vector<std::string>{kDdpId});
  study.records[6].job = "12_1";
  CHECK(warning_of(study.table(), "overlap").rows.size() == 2);
}

TEST_CASE("overlap: one long run over many, a failed one, a warm-up") {
  MadeStudy study = clean_study();
  study.records[0].finished_unix_s = 1e6;
  const Table table = study.table();
  CHECK(warning_of(table, "overlap").seen ==
        "strategy=baseline, gpus_per_node=1: 6 of 6 runs; strategy=ddp, gpus_per_node=2: 6 of 6 runs");
  study = clean_study();
  AttemptRecord warmup = study.records[0];
  warmup.key.run = {RunKind::warmup, 1};
  warmup.state = State::failed;
  study.records.push_back(warmup);
  CHECK(warning_of(study.table(), "overlap").rows.size() == 1);
}

TEST_CASE("not-interleaved: all runs of a row before or after those of its baseline") {
  MadeStudy study = empty_study();
  study.add_runs(0, kBaselineRuns, 0, 1);
  study.add_runs(1, kDdpRuns, 6, 1);
  CHECK(warning_of(study.table(), "not-interleaved").seen ==
        "strategy=ddp, gpus_per_node=2: all runs after those of its baseline");
  study.records[6].started_unix_s = 1001;  // r01 of ddp between r01 and r02 of the baseline
  CHECK_FALSE(warns(study.table(), "not-interleaved"));
}

TEST_CASE("not-interleaved without a baseline: no other row started in between") {
  MadeStudy study = clean_study();
  study.experiment.baseline.clear();
  CHECK_FALSE(warns(study.table(), "not-interleaved"));
  study = empty_study();
  study.experiment.baseline.clear();
  study.add_runs(0, kBaselineRuns, 0, 1);
  CHECK_FALSE(warns(study.table(), "not-interleaved"));  // nothing else was measured
  study.add_runs(1, kDdpRuns, 6, 1);
  CHECK(warning_of(study.table(), "not-interleaved").rows.size() == 2);
}

TEST_CASE("not-interleaved without a baseline: two runs of a row where blocks meet show nothing") {
  const auto rows_alone = [](std::vector<double> first, std::vector<double> second) {
    MadeStudy study = empty_study();
    study.experiment.baseline.clear();
    study.add_runs(0, first, 0, 1);
    study.add_runs(1, second, 6, 1);
    for (AttemptRecord& record : study.records) record.started_unix_s = record.metrics.at("train_s");
    const Table table = study.table();
    return warns(table, "not-interleaved") ? warning_of(table, "not-interleaved").rows.size() : 0;
  };
  CHECK(rows_alone({1, 4}, {2, 3}) == 0);     // a b, b a
  CHECK(rows_alone({1, 2}, {3, 4}) == 2);     // a a b b
  CHECK(rows_alone({1, 5}, {2, 3, 4}) == 1);  // b b b while nobody else ran
}

TEST_CASE("drift: six or more runs, each higher or each lower than the one before") {
  MadeStudy study = clean_study();
  set_metric(study, 6, "train_s", {5.0, 5.5, 6.2, 6.6, 7.1, 7.3});
  CHECK(warning_of(study.table(), "drift").rows == std::vector<std::string>{kDdpId});
  std::swap(study.records[6].started_unix_s, study.records[7].started_unix_s);
  CHECK_FALSE(warns(study.table(), "drift"));
  std::swap(study.records[6].started_unix_s, study.records[7].started_unix_s);
  study.records.pop_back();
  CHECK_FALSE(warns(study.table(), "drift"));  // five may do so by chance
}

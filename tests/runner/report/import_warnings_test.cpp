// Warnings of results that hpcbench did not start: what is published of a run against what its own files say.
#include <doctest/doctest.h>

#include "runner/report/study.hpp"

using namespace hpcbench;

namespace {

/// A baseline and a row on four gpus, one imported run each.
MadeStudy published_study(double baseline_s, double row_s) {
  MadeStudy study = empty_study();
  study.plan.configurations[1].values[1] = Value::from_plain("4");
  study.plan.configurations[1].gpus_per_node = 4;
  study.add_run(0, 1, baseline_s, 0);
  study.add_run(1, 1, row_s, 1);
  for (AttemptRecord& record : study.records) {
    record.key.run.kind = RunKind::imported;
    record.facts["source"] = "imported";
    record.started_unix_s = record.finished_unix_s = std::nullopt;
  }
  return study;
}

std::string seen_of(const Table& table, const std::string& code) {
  for (const TableWarning& warning : table.warnings) {
    if (warning.code == code) return warning.seen;
  }
  return "no warning " + code;
}

}  // namespace

TEST_CASE("published-mismatch: another number than that of its own log") {
  MadeStudy study = published_study(4108.8, 997.45);
  study.records[0].facts["published_train_s"] = "5108.80";
  study.records[1].facts["published_train_s"] = "997.4";  // cut, not rounded: near enough
  CHECK(seen_of(study.table(), "published-mismatch") ==
        "strategy=baseline, gpus_per_node=1: train_s published as 5108.80, but its own log has 4108.80");
  study.records[0].facts["published_train_s"] = "4109";
  CHECK_FALSE(warns(study.table(), "published-mismatch"));
  study.records[0].facts["published_train_s"] = "4109.1";
  CHECK(warns(study.table(), "published-mismatch"));
  study.records[0].facts["published_train_s"] = "about an hour";
  CHECK_FALSE(warns(study.table(), "published-mismatch"));
}

TEST_CASE("gpus-mismatch: claimed gpus and the ranks that ran") {
  MadeStudy study = published_study(4108.8, 997.45);
  study.records[1].facts["world_size"] = "4";
  CHECK_FALSE(warns(study.table(), "gpus-mismatch"));
  study.records[1].facts["claimed_gpus"] = "2";
  CHECK(seen_of(study.table(), "gpus-mismatch") == "strategy=ddp, gpus_per_node=4: 2 gpus claimed, 4 ranks ran");
  study.records[1].facts.erase("claimed_gpus");
  study.records[1].facts["world_size"] = "8";
  CHECK(warns(study.table(), "gpus-mismatch"));
}

TEST_CASE("gpus-mismatch: launch once on several nodes, unless the program shows that others worked") {
  MadeStudy study = published_study(4108.8, 997.45);
  study.records[1].facts["launched_once_on_nodes"] = "2";
  study.records[1].node = "n1";
  CHECK(warns(study.table(), "gpus-mismatch"));
  study.records[1].node = "n1,n2";
  CHECK_FALSE(warns(study.table(), "gpus-mismatch"));
  study.records[1].node = "n1";
  study.records[1].facts["world_size"] = "4";
  CHECK_FALSE(warns(study.table(), "gpus-mismatch"));
}

TEST_CASE("simulated nodes stand in the title and beside the row, shared cores beside the row") {
  MadeStudy study = published_study(4108.8, 997.45);
  CHECK_FALSE(study.table().simulated_nodes);
  CHECK_FALSE(warns(study.table(), "cores-shared"));
  study.records[1].facts["simulated_nodes"] = "2";
  study.records[1].facts["cores_shared"] = "8 cores asked for, 2 there";
  CHECK(study.table().simulated_nodes);
  CHECK(seen_of(study.table(), "simulated-nodes") == "strategy=ddp, gpus_per_node=4: 2 simulated nodes, one machine");
  CHECK(seen_of(study.table(), "cores-shared") == "strategy=ddp, gpus_per_node=4: 8 cores asked for, 2 there");
}

TEST_CASE("same-work: processes that share no group, or each with all batches") {
  MadeStudy study = published_study(4108.8, 5251.74);
  study.records[0].facts["batches_per_rank"] = "10853";
  study.records[1].facts["batches_per_rank"] = "2714";
  study.records[1].facts["processes"] = "4";
  CHECK_FALSE(warns(study.table(), "same-work"));
  study.records[1].facts["process_group"] = "none";
  CHECK(seen_of(study.table(), "same-work") ==
        "strategy=ddp, gpus_per_node=4: 4 processes without a process group, 2714 batches each (10856 together, 10853 in its "
        "baseline)");
  study.records[1].facts["batches_per_rank"] = "10853";
  study.records[1].facts["process_group"] = "gloo";
  CHECK(seen_of(study.table(), "same-work") ==
        "strategy=ddp, gpus_per_node=4: 4 processes, 10853 batches each (43412 together, 10853 in its baseline)");
}

TEST_CASE("ranks-disagree: a total that is not its slowest rank's time") {
  MadeStudy study = published_study(150.513, 67);
  const std::vector<double> ranks = {61.535, 61.528, 61.650, 61.645};
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    study.records[1].series.push_back({"rank_real_s", static_cast<long long>(rank), ranks[rank]});
  CHECK(seen_of(study.table(), "ranks-disagree") ==
        "strategy=ddp, gpus_per_node=4: 67 s in all, but its slowest rank took 61.65 s");
  study.records[1].metrics["train_s"] = 62;
  const Table table = study.table();
  CHECK_FALSE(warns(table, "ranks-disagree"));
  REQUIRE(table.rows[1].times.ranks.size() == 4);
  CHECK(table.rows[1].times.ranks[2].real_s == 61.650);
  CHECK(table.rows[1].times.imbalance.value() == doctest::Approx(61.650 * 4 / (61.535 + 61.528 + 61.650 + 61.645)));
}

TEST_CASE("a published median of five: n of its runs, a plain ratio, no interval, no warning of few repeats") {
  MadeStudy study = published_study(12.98 * 60, 4.77 * 60);
  CHECK(warns(study.table(), "few-repeats"));
  for (AttemptRecord& record : study.records) {
    record.facts["statistic"] = "median";
    record.facts["statistic_n"] = "5";
  }
  const Table table = study.table();
  CHECK_FALSE(warns(table, "few-repeats"));
  CHECK_FALSE(warns(table, "adaptive"));
  const Row& row = table.rows[1];
  CHECK(row.statistic == "median");
  CHECK(row.source == "imported");
  CHECK(row.counts.n == 5);
  CHECK_FALSE(row.summary->interval);
  CHECK(row.speedup->value == doctest::Approx(12.98 / 4.77));
  CHECK_FALSE(row.speedup->interval);
  CHECK(row.speedup->value == row.ratio_of_medians);
}

TEST_CASE("confounded: two training programs") {
  MadeStudy study = published_study(12.98, 4.77);
  study.records[0].facts["trainer"] = "Hugging Face Trainer";
  study.records[1].facts["trainer"] = "Lightning";
  CHECK(seen_of(study.table(), "confounded") ==
        "training program: Lightning in strategy=ddp, gpus_per_node=4, Hugging Face Trainer in its baseline");
}

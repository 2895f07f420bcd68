// What is on record and not asked for, and the note beside speedups.
#include <doctest/doctest.h>

#include "runner/report/study.hpp"

using namespace hpcbench;

TEST_CASE("repeats beyond those of the file are shown by --orphans only, and a note counts them") {
  MadeStudy study = clean_study();
  study.plan.repeats = 3;
  AttemptRecord other = study.records[0];
  other.key.config_id = "ffffffffffffffff";
  study.records.push_back(other);
  const Table table = study.table();
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0].counts.n == 3);
  CHECK(table.rows[1].counts.n == 3);
  REQUIRE(table.notes.size() == 1);
  CHECK(table.notes[0] ==
        "on record, but not in this table: 6 runs beyond `repeats: 3`, 1 configuration outside this file and profile; "
        "`--orphans` shows them");
  ReportOptions options;
  options.orphans = true;
  const Table all = study.table(options);
  REQUIRE(all.rows.size() == 3);
  CHECK(all.rows[0].counts.n == 6);
  CHECK(std::none_of(all.notes.begin(), all.notes.end(), [](const auto& note) { return note.starts_with("on record"); }));
  options.orphans = false;
  options.all_repeats = true;
  CHECK(study.table(options).rows[1].counts.n == 6);
}

TEST_CASE("imported runs are no repeats: none is beyond") {
  MadeStudy study = clean_study();
  study.plan.repeats = 3;
  for (AttemptRecord& record : study.records) record.key.run.kind = RunKind::imported;
  CHECK(study.table().rows[0].counts.n == 6);
}

TEST_CASE("the note beside a speedup that is not the ratio of the medians names the column of that ratio") {
  const std::string text = "It is not the ratio of the medians: that is the column `ratio_of_medians`.";
  // 12.5 / 6.4 is 1.95; the estimate is 1.99, which its interval prints as 2.0, and the ratio as 2.0, too.
  MadeStudy study = clean_study();
  CHECK(print_as(study.table(), "text").find(text) == std::string::npos);
  // One run each: the estimate is the ratio, be it 0.875, which may be printed as 0.87 or 0.88.
  MadeStudy single = empty_study();
  single.add_run(0, 1, 105, 0);
  single.add_run(1, 1, 120, 1);
  CHECK(print_as(single.table(), "text").find(text) == std::string::npos);
  // Baseline 10, 10.1, 10.2, 30, 30, 30: its median is 20.1, and the ratio of the medians 3.14; half of the pairs lie
  // below 2.04.
  for (std::size_t i = 0; i < 6; ++i) study.records[i].metrics["train_s"] = i < 3 ? 10 + 0.1 * static_cast<double>(i) : 30;
  const Table table = study.table();
  REQUIRE(table.rows[1].speedup);
  CHECK(table.rows[1].ratio_of_medians != table.rows[1].speedup->value);
  CHECK(print_as(table, "text").find(text) != std::string::npos);
}

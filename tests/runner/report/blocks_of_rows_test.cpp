// Speedups of runs that were allocated in blocks: pairs are of one allocation.

#include "base/text.hpp"
#include "runner/report/study.hpp"

namespace hpcbench {

namespace {

/// Repeat k of both configurations in element k - 1 of one array.
MadeStudy block_study() {
  MadeStudy study = clean_study();
  study.experiment.allocation = Allocation::block;
  study.experiment.report.in_blocks = study.experiment.report.paired = true;
  for (AttemptRecord& record : study.records) {
    record.executor = "slurm";
    record.batch = "b1";
    record.job = "7_" + std::to_string(record.key.run.number - 1);
  }
  return study;
}

std::string notes_of(const Table& table) { return join(table.notes, "; "); }

TEST_CASE("blocks: pairs are of one allocation") {
  MadeStudy study = block_study();
  MadeStudy by_repeat = block_study();
  by_repeat.experiment.report.in_blocks = false;
  CHECK(study.table().rows[1].speedup->value == by_repeat.table().rows[1].speedup->value);
  CHECK(study.table().rows[1].speedup->interval->coverage == by_repeat.table().rows[1].speedup->interval->coverage);
  // Repeat 1 of ddp was handed out again: its pair is gone. An id of another array is another job.
  study.records[6].job = "9_0";
  study.records[6].batch = "b2";
  const Table table = study.table();
  CHECK(table.rows[1].speedup->interval->low == doctest::Approx(10 / 7.3));
  CHECK(table.rows[1].speedup->interval->coverage == 0.9375);
  CHECK(notes_of(table).find("in the same allocation, and so in no pair: 1 run of 1 row;") != std::string::npos);
}

TEST_CASE("blocks: what never shared an allocation with its baseline is compared as independent runs") {
  MadeStudy study = block_study();
  for (std::size_t i = 6; i < 12; ++i) study.records[i].batch = "b2";
  MadeStudy apart = clean_study();
  CHECK(study.table().rows[1].speedup->value == apart.table().rows[1].speedup->value);
  CHECK(study.table().rows[1].speedup->interval->low == apart.table().rows[1].speedup->interval->low);
  CHECK(notes_of(study.table()).find("1 row shared no allocation with the baseline") != std::string::npos);
}

TEST_CASE("blocks: on this machine a block is a repeat") {
  MadeStudy study = block_study();
  for (AttemptRecord& record : study.records) {
    record.executor = "local";
    record.batch = std::to_string(&record - study.records.data());
  }
  CHECK(study.table().rows[1].speedup->interval->coverage == block_study().table().rows[1].speedup->interval->coverage);
  CHECK(notes_of(study.table()).find("shared no allocation") == std::string::npos);
}

TEST_CASE("blocks: the report says what they gained") {
  MadeStudy study = block_study();
  // A slow hour takes each block as a whole.
  for (AttemptRecord& record : study.records) {
    const double hour = 1 + 0.2 * record.key.run.number;
    const double noise = 1 + 0.01 * ((record.key.run.number * 7 + (record.gpus == 2 ? 3 : 0)) % 5);
    record.metrics["train_s"] = (record.gpus == 2 ? 5 : 10) * hour * noise;
  }
  const std::string notes = notes_of(study.table());
  CHECK(notes.find("speedups compare runs of the same block: the intervals of independent runs would be ") !=
        std::string::npos);
  study.experiment.report.paired = false;
  CHECK(notes_of(study.table()).find("same block") == std::string::npos);
}

}  // namespace

}  // namespace hpcbench

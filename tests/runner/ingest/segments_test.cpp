// What a continued run took: steps done twice, their time, and the time in the queue.
#include "ingest/segments.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "fakes/temporary_folder.hpp"
#include "ingest/attempt_record.hpp"

namespace hpcbench {

namespace {

/// Steps `first` to `last`, each of half a second.
SegmentSteps steps(long long first, long long last, int from = 0) {
  return {first, last, true, from, std::vector<double>(static_cast<std::size_t>(last - first + 1), 0.5)};
}

SegmentSteps none(int from) { return {0, 0, true, from, {}}; }

/// A run of two segments on Slurm, and what `read_attempt` makes of the second.
struct TwoSegments {
  TwoSegments() {
    for (const int attempt : {1, 2}) {
      std::filesystem::create_directories(folder(attempt));
      const std::string before = attempt == 1 ? "" : "1";
      put(attempt, "run.json",
          R"({"schema":1,"executor":"slurm","batch":"b)" + std::to_string(attempt) + R"(","intended_unix_s":)" +
              std::to_string(1000 * attempt) + R"(,"segment":{"number":)" + std::to_string(attempt) + R"(,"before":[)" +
              before + R"(],"from":)" + (attempt == 1 ? "0" : "1") + R"(,"warn_s":0}})");
      put(attempt, "started.json", R"({"schema":1,"started_unix_s":)" + std::to_string(1000 * attempt + 30 + attempt) + "}");
    }
  }
  std::string results() const { return root.path().string() + "/results/long"; }
  std::string folder(int attempt) const { return results() + "/0123456789abcdef/r01/a" + std::to_string(attempt); }
  void put(int attempt, const std::string& name, const std::string& text) {
    write_file(folder(attempt) + "/" + name, text, Durability::none);
  }
  std::optional<double> metric(const std::string& name) const {
    const AttemptRecord record = read_attempt(folder(2));
    const auto found = record.metrics.find(name);
    return found == record.metrics.end() ? std::nullopt : std::optional(found->second);
  }

  TemporaryFolder root;
};

}  // namespace

TEST_CASE("segments: steps done twice are counted, of each step its last time") {
  const StepsDone done = steps_over_segments({steps(1, 20), steps(17, 30, 1), steps(29, 40, 2)});
  CHECK(done.redone == 6);
  CHECK(done.kept_s == 20);
  CHECK(steps_over_segments({steps(1, 20), steps(21, 30, 1)}).redone == 0);
  CHECK(steps_over_segments({steps(1, 20), steps(1, 30)}).redone == 20);  // nothing was saved
  CHECK(steps_over_segments({steps(1, 20), steps(11, 15, 1), steps(11, 30, 1)}).redone == 15);
  CHECK(steps_over_segments({none(0), steps(1, 20), none(2), steps(11, 30, 2)}).redone == 10);
}

TEST_CASE("segments: what events do not say exactly is absent") {
  SegmentSteps gap = steps(17, 30, 1);
  gap.is_complete = false;
  CHECK_FALSE(steps_over_segments({steps(1, 20), gap}).redone);
  CHECK_FALSE(steps_over_segments({steps(1, 20), steps(25, 30, 1)}).redone);  // some were not told of
  CHECK_FALSE(steps_over_segments({steps(1, 20), steps(1, 30, 1)}).redone);   // it counts anew in each segment
  CHECK_FALSE(steps_over_segments({none(0), none(1)}).redone);
  SegmentSteps untimed = steps(17, 30, 1);
  untimed.seconds.pop_back();
  const StepsDone done = steps_over_segments({steps(1, 20), untimed});
  CHECK(done.redone == 4);
  CHECK_FALSE(done.kept_s);
}

TEST_CASE("segments: read from the folders, also where an event was cut") {
  TwoSegments run;
  run.put(1, "events.jsonl",
          "{\"event\":\"step\",\"step\":1,\"step_s\":2}\n{\"event\":\"epoch\",\"epoch\":1}\n"
          "{\"event\":\"step\",\"step\":2,\"step_s\":2}\n{\"event\":\"step\",\"ste");
  run.put(2, "events.jsonl", "{\"event\":\"step\",\"step\":2,\"step_s\":3}\n");
  CHECK(run.metric("steps_redone") == 1);
  CHECK(run.metric("kept_steps_s") == 5);
  run.put(2, "events.jsonl", "{\"event\":\"step\",\"step\":2,\"step_s\":3}\n{\"event\":\"step\",\"step\":4}\n");
  CHECK_FALSE(run.metric("steps_redone"));
}

TEST_CASE("segments: steps of any size say nothing where they cannot be") {
  TwoSegments run;
  run.put(1, "events.jsonl", "{\"event\":\"step\",\"step\":1}\n{\"event\":\"step\",\"step\":2}\n");
  for (const char* const step : {"9223372036854775807", "-9223372036854775808", "0"}) {
    const std::string line = std::string(R"({"event":"step","step":)") + step + "}\n";
    run.put(2, "events.jsonl", line + line);
    CHECK_FALSE(run.metric("steps_redone"));
  }
}

TEST_CASE("segments: the time in the queue is that of all of them, or absent") {
  TwoSegments run;
  CHECK(run.metric("queue_s") == 31 + 32);
  std::filesystem::create_directories(run.results() + "/batches/b1");
  write_file(run.results() + "/batches/b1/blocks.txt", "0 1\n", Durability::none);
  CHECK_FALSE(run.metric("queue_s"));  // in a block it also waits for other runs
  std::filesystem::remove_all(run.results() + "/batches");
  std::filesystem::remove(run.folder(1) + "/started.json");
  CHECK_FALSE(run.metric("queue_s"));
}

TEST_CASE("segments: for how long jobs were suspended is a sum, as the time is that includes it") {
  TwoSegments run;
  run.put(2, "finished.json", R"({"schema":1,"wall_s":20,"exit_code":0})");
  CHECK_FALSE(read_attempt(run.folder(2)).facts.contains("suspended"));
  run.put(1, "finished.json", R"({"schema":1,"wall_s":30,"timed_out":true,"suspended_s":4.5})");
  CHECK(read_attempt(run.folder(2)).facts.at("suspended") == "4.5 s");
  run.put(2, "finished.json", R"({"schema":1,"wall_s":20,"exit_code":0,"suspended_s":2})");
  CHECK(read_attempt(run.folder(2)).facts.at("suspended") == "6.5 s");
  CHECK(run.metric("wall_s") == 50);
  CHECK(read_attempt(run.folder(1)).facts.at("suspended") == "4.5 s");
}

}  // namespace hpcbench

// Runs that hpcbench did not start: imported.json, what their files say, and the attempt that comes of it.
#include "ingest/imported.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "attempt_folder.hpp"
#include "ingest/read_sources.hpp"

using namespace hpcbench;

namespace {

Imported some_import() {
  Imported imported;
  imported.identity = "ab12";
  imported.request = "cd34";
  imported.by_file = true;
  imported.sources = {{"/old/a \"b\".log", "ff00", 123456789012, 42, "sources/a.log", std::nullopt},
                      {"/old/runs.csv", "00ff", 7, 43, std::nullopt, 17}};
  imported.values = {{"train_s", 0.1}, {"wall_s", 1e300}};
  imported.units = {{"train_s", "s"}};
  imported.series = {{"loss", 1, 0.5}, {"loss", 2, 0.25}, {"val", -3, 1}};
  imported.facts = {{"precision", "bf16"}, {"rank_real_s", "1.5  2.5 x 3.5"}};
  imported.places = {{"train_s", "a.log:7"}};
  imported.warnings = {"a.log:3: odd"};
  imported.outcome = State::timeout;
  imported.reason = "DUE TO TIME LIMIT";
  imported.statistic = "median";
  imported.note = "table 2";
  imported.n = 5;
  return imported;
}

std::string import_run_json() {
  return R"({"schema":1,"experiment":"digits","config_id":"0123456789abcdef","run":"r02","attempt":3,"executor":"import",)"
         R"("axes":{"strategy":"ddp"},"gpus":4,"metrics":[{"name":"rate","file":"*","column":"r","unit":"samples/s","series":null}]})";
}

}  // namespace

TEST_CASE("imported.json reads back as it was written") {
  const Imported written = some_import();
  const std::optional<Imported> read = parse_imported(imported_json(written));
  REQUIRE(read);
  CHECK(imported_json(*read) == imported_json(written));
  CHECK(read->by_file);
  CHECK(read->sources[0].path == written.sources[0].path);
  CHECK(read->sources[0].size_bytes == 123456789012);
  CHECK(read->sources[1].line == 17);
  CHECK_FALSE(read->sources[1].file);
  CHECK(read->values == written.values);
  CHECK(read->n == 5);
  for (const char* bad :
       {"", "{}", "[]", R"({"schema":1})", R"({"schema":1,"outcome":"running"})", R"({"schema":2,"outcome":"failed"})"})
    CHECK_FALSE(parse_imported(bad));
  CHECK(rc::check("total", [](const std::string& text) { parse_imported(text); }));
}

TEST_CASE("an imported attempt is read from its folder alone") {
  AttemptFolder folder;
  folder.file("run.json", import_run_json()).file("imported.json", imported_json(some_import()));
  const AttemptRecord record = folder.read();
  CHECK(record.executor == "import");
  CHECK(record.state == State::timeout);
  CHECK(record.reason == "DUE TO TIME LIMIT");
  CHECK(record.gpus == 4);
  CHECK(record.metrics.at("train_s") == 0.1);
  CHECK(record.units.at("rate") == "samples/s");
  CHECK(record.places.at("train_s") == "a.log:7");
  CHECK(record.facts.at("source") == "imported");
  CHECK((record.facts.at("statistic") == "median" && record.facts.at("statistic_n") == "5" &&
         record.facts.at("note") == "table 2"));
  CHECK(record.warnings == std::vector<std::string>{"a.log:3: odd"});
  std::vector<double> ranks;
  for (const SeriesPoint& point : record.series) {
    if (point.name == "rank_real_s") ranks.push_back(point.value + static_cast<double>(point.index));
  }
  CHECK(ranks == std::vector<double>{1.5, 3.5, 6.5});  // the third is no number
  CHECK_FALSE(record.intended_unix_s);
}

TEST_CASE("an imported attempt that is revoked, broken or incomplete") {
  AttemptFolder folder;
  folder.file("run.json", import_run_json());
  CHECK(folder.read().state == State::lost);
  CHECK(folder.read().warnings == std::vector<std::string>{"imported.json: missing"});
  folder.file("imported.json", "{");
  CHECK(folder.read().warnings == std::vector<std::string>{"imported.json: not a JSON object of schema 1"});
  folder.file("imported.json", imported_json(some_import())).file("claim", "revoked void: no longer asked for\n");
  CHECK(folder.read().state == State::cancelled);
  CHECK(folder.read().reason == "void: no longer asked for");
}

TEST_CASE("Slurm's own words, the weightiest first") {
  CHECK(find_slurm_words("slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2025 DUE TO TIME LIMIT ***\n")->state ==
        State::timeout);
  CHECK(find_slurm_words("error: Detected 1 oom-kill event(s) in StepId=1.0.\nx CANCELLED AT y\n")->state ==
        State::out_of_memory);
  CHECK(find_slurm_words("x CANCELLED AT y\nsrun: error: n: task 0: Out Of Memory\n")->reason ==
        "srun: error: n: task 0: Out Of Memory");
  CHECK(find_slurm_words("x CANCELLED AT 2025-10-23T21:22:52 ***")->state == State::cancelled);
  CHECK_FALSE(find_slurm_words("Out Of Memory is what we study\ncancelled at noon\n"));
}

TEST_CASE("which files a metric reads, and two that both give it") {
  AttemptFolder folder;
  folder.file("a.log", "t=1\n")
      .file("b.log", "t=2\n")
      .file("m.csv", "t\n3\n")
      .file("s.json", "{\"t\":4}\n")
      .file("events.jsonl", "t=9\n");
  const auto files = [&](std::initializer_list<const char*> names) {
    std::vector<SourceFile> found;
    for (const char* name : names) found.push_back({folder.path() + '/' + name, name});
    return found;
  };
  const Metric pattern{"t", "logs/stdout.log", "t=([0-9]+)", "s"};
  CHECK(read_sources(files({"a.log", "m.csv", "s.json", "events.jsonl"}), {pattern}, std::nullopt).values.at("t") == 1);
  CHECK(read_sources(files({"a.log"}), {pattern}, std::nullopt).units.at("t") == "s");
  CHECK(read_sources(files({"a.log", "m.csv"}), {{"t", "*", "t", "", std::nullopt, "column"}}, std::nullopt).values.at("t") ==
        3);
  CHECK(
      read_sources(files({"a.log", "s.json"}), {{"t", "*", "/t", "", std::nullopt, "pointer"}}, std::nullopt).places.at("t") ==
      "s.json:1");
  Metric narrow = pattern;
  narrow.file = "x/b.*";
  CHECK(read_sources(files({"a.log", "b.log"}), {narrow}, std::nullopt).values.at("t") == 2);
  CHECK(read_sources(files({"a.log", "b.log"}), {pattern}, std::nullopt).conflicts ==
        std::vector<std::string>{"a.log and b.log both give t"});
  CHECK(read_sources(files({"a.log"}), {}, "t=1").pattern_found == true);
  CHECK(read_sources(files({"a.log", "b.log"}), {}, "t=3").pattern_found == false);
  CHECK_FALSE(read_sources(files({"m.csv"}), {}, "t").pattern_found);
  for (const char* name : {"events.jsonl", "events.12.jsonl", "gpu.csv", "gpu.3.csv"}) CHECK(is_attempt_file(name));
  for (const char* name : {"events.x.jsonl", "events..jsonl", "gpu.", "gpux.csv", "my-events.jsonl"})
    CHECK_FALSE(is_attempt_file(name));
}

TEST_CASE("times of several ranks are series by rank") {
  AttemptFolder folder;
  folder.run_json().finished(
      R"("exit_code":0,"processes":[{"rank":0,"wall_s":2,"user_s":1.5},{"rank":1,"wall_s":3,"user_s":2.5}])");
  folder.file("events.jsonl", "{\"v\":1,\"event\":\"run_end\",\"train_s\":10,\"user_s\":7}\n");
  folder.file("events.1.jsonl", "{\"v\":1,\"event\":\"run_end\",\"train_s\":12}\n");
  std::vector<std::string> points;
  for (const SeriesPoint& point : folder.read().series)
    points.push_back(point.name + std::to_string(point.index) + '=' + std::to_string(static_cast<int>(point.value)));
  CHECK(points ==
        std::vector<std::string>{"rank_real_s0=2", "rank_real_s1=3", "rank_train_s0=10", "rank_train_s1=12", "rank_user_s0=7"});
  CHECK(folder.read().metrics.at("train_s") == 12);
  CHECK(folder.read().places.at("train_s") == "events.1.jsonl");
  AttemptFolder alone;
  alone.run_json().finished(R"("exit_code":0,"processes":[{"rank":0,"wall_s":2,"user_s":1.5}])");
  CHECK(alone.read().series.empty());
}

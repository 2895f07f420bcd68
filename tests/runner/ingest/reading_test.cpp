#include "ingest/reading.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "attempt_folder.hpp"

namespace hpcbench {

namespace {

ReadingRules rules_with(const std::string& pattern) {
  return {{{"score", "stdout.log", pattern, "s", std::nullopt, "pattern", ""}}, 0, std::nullopt};
}

}  // namespace

TEST_CASE("rules of today go before those of run.json, and the record says which made it") {
  AttemptFolder folder;
  folder.run_json(R"j("metrics":[{"name":"score","file":"stdout.log","pattern":"Score (\\d)"}])j")
      .file("stdout.log", "score 4\n")
      .finished(R"("exit_code":3)");
  const AttemptRecord then = folder.read();
  CHECK(then.state == State::failed);
  CHECK_FALSE(then.metrics.contains("score"));
  CHECK(then.rules == rules_hash({{{"score", "stdout.log", "Score (\\d)"}}, 0, std::nullopt}));

  ReadingRules today = rules_with("score (\\d)");
  today.success_exit_code = 3;
  const AttemptRecord now = read_attempt(folder.path(), &today);
  CHECK(now.state == State::succeeded);
  CHECK(now.metrics.at("score") == 4);
  CHECK(now.units.at("score") == "s");
  CHECK(now.rules == rules_hash(today));
  CHECK(now.rules != then.rules);

  today.success_pattern = "accuracy reached";
  CHECK(read_attempt(folder.path(), &today).state == State::failed);
}

TEST_CASE("reading.json: what is written is read") {
  Reading reading;
  const ReadingRules one = rules_with("a \"(\\d)"), two = rules_with("b");
  reading.rules = {{rules_hash(one), one}, {rules_hash(two), two}};
  reading.usual = rules_hash(one);
  reading.others = {{"00aa", rules_hash(two)}, {"00bb", ""}};
  const Reading again = parse_reading(reading_json(reading));
  CHECK(reading_json(again) == reading_json(reading));
  CHECK(again.find("ffff")->metrics[0].selector == "a \"(\\d)");
  CHECK(again.find("00aa")->metrics[0].selector == "b");
  CHECK(again.find("00bb") == nullptr);
  CHECK(Reading().find("ffff") == nullptr);
  for (const char* damaged : {"", "{", "[]", R"({"schema":2,"usual":"x"})", R"({"schema":1,"usual":"x","rules":[]})"})
    CHECK(parse_reading(damaged).find("ffff") == nullptr);
}

TEST_CASE("the name of a rule in reading.json is only a name") {
  const Reading reading = parse_reading(R"j({"schema":1,"usual":"mine","rules":{"mine":{"metrics":[
      {"name":"score","file":"stdout.log","pattern":"x","series":"epoch"}],"success":{"exit_code":1,"pattern":"y"}}}})j");
  REQUIRE(reading.find("ffff") != nullptr);
  CHECK(reading.usual == rules_hash(*reading.find("ffff")));
  CHECK(reading.renamed.at("mine") == reading.usual);
  CHECK(reading.find("ffff")->metrics[0].series);
  CHECK(reading.find("ffff")->success_pattern == "y");
}

}  // namespace hpcbench

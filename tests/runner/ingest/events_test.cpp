#include "ingest/events.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace hpcbench;

TEST_CASE("a half-written last line is ignored, a complete one without its newline counts") {
  const std::string first = R"({"event":"epoch","epoch":1,"train_loss":0.5})"
                            "\n";
  EventSummary events = parse_events(first + R"({"event":"epoch","epoch":2,"train_l)", "events.jsonl");
  CHECK(events.last_values.at("train_loss") == 0.5);
  CHECK(events.warnings.empty());
  events = parse_events(first + R"({"event":"epoch","epoch":2,"train_loss":0.25})", "events.jsonl");
  CHECK(events.last_values.at("train_loss") == 0.25);
}

TEST_CASE("a bad line in the middle is reported with its number") {
  const EventSummary events = parse_events(
      "{\"event\":\"run_end\",\"train_s\":2}\r\n\n{\"event\":\"ste\nhello\n[1]\n{\"event\":7}\n", "events.3.jsonl");
  CHECK(events.run_end.at("train_s") == 2);
  CHECK(events.warnings ==
        std::vector<std::string>{"events.3.jsonl:3: not JSON", "events.3.jsonl:4: not JSON", "events.3.jsonl:5: not JSON"});
}

TEST_CASE("garbage is told ten times, then counted; an endless line is one of them") {
  std::string garbage;
  for (int i = 0; i < 25; ++i) garbage += "\xFF\x01\n";
  EventSummary events = parse_events(garbage, "e");
  REQUIRE(events.warnings.size() == 11);
  CHECK(events.warnings.back() == "e: 15 more lines are not JSON");
  events = parse_events(std::string(5 << 20, 'x') + "\n{\"event\":\"run_end\",\"train_s\":1}\n", "e");
  CHECK(events.warnings == std::vector<std::string>{"e:1: longer than 4 MiB"});
  CHECK(events.run_end.at("train_s") == 1);
}

TEST_CASE("values of the last epoch only, from all its events") {
  const EventSummary events = parse_events(R"({"event":"epoch","epoch":1,"train_loss":3,"grad_norm":2}
{"event":"eval","epoch":1,"val_loss":2,"accuracy":0.5}
{"event":"epoch","epoch":2,"train_loss":1}
{"event":"eval","epoch":2,"em":70.5}
{"event":"eval","epoch":2,"f1":80.5}
)",
                                           "e");
  CHECK(events.last_values == std::map<std::string, double>{{"train_loss", 1}, {"em", 70.5}, {"f1", 80.5}});
}

TEST_CASE("epochs without a number are counted") {
  const EventSummary events =
      parse_events("{\"event\":\"epoch\",\"train_loss\":3}\n{\"event\":\"epoch\",\"train_loss\":2}\n", "e");
  REQUIRE(events.series.size() == 2);
  CHECK(events.series[1].index == 2);
}

TEST_CASE("a long step series is thinned evenly and keeps its ends") {
  std::string text;
  for (int step = 1; step <= 100'000; ++step) {
    text += R"({"event":"step","step":)" + std::to_string(step) + R"(,"loss":)" + std::to_string(step) + ".5}\n";
  }
  const EventSummary events = parse_events(text, "e");
  CHECK(events.series.size() >= 512);
  CHECK(events.series.size() <= 1025);
  CHECK(events.series.front().index == 1);
  CHECK(events.series.back().index == 100'000);
  const long long stride = events.series[1].index - events.series[0].index;
  CHECK(stride == 128);
  for (std::size_t i = 1; i + 1 < events.series.size(); ++i) {
    REQUIRE(events.series[i].index - events.series[i - 1].index == stride);
    REQUIRE(events.series[i].value == static_cast<double>(events.series[i].index) + 0.5);
  }
}

TEST_CASE("however the bytes arrive, the summary is the same") {
  const std::string text =
      "{\"event\":\"epoch\",\"epoch\":1,\"train_loss\":0.5}\nbad\n{\"event\":\"run_end\",\"train_s\":2}\n{\"ev";
  CHECK(rc::check("pieces make no difference", [&](const std::vector<unsigned>& cuts) {
    EventReader reader("e");
    std::string_view rest = text;
    for (const unsigned cut : cuts) {
      const std::size_t count = std::min<std::size_t>(cut % 7, rest.size());
      reader.feed(rest.substr(0, count));
      rest.remove_prefix(count);
    }
    reader.feed(rest);
    const EventSummary events = reader.finish();
    RC_ASSERT(events.warnings == std::vector<std::string>{"e:2: not JSON"});
    RC_ASSERT(events.run_end.at("train_s") == 2);
    RC_ASSERT(events.series.size() == 1U);
  }));
}

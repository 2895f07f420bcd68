// `take` and `skip`: which of the values of one run its metric is. Expected numbers are those of Python's `statistics`.
#include "base/take.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>

#include "attempt_folder.hpp"
#include "ingest/metric_reader.hpp"
#include "ingest/reading.hpp"

namespace hpcbench {

namespace {

constexpr const char* kSteps =
    "230.31 283.8 307.84 374.1 282.95 365.05 -36.95 159.53 374.51 242.04 355.41 0.94 161.08 60.96 194.69 208.27 -44.1 47.53 "
    "75.77 362.36 294.58 21.82 308.72 12.45 227.85 7.01 -49.2 342.13 44.26 46.97 392.09 342.58 80.19 382.67 192.65 255.02 "
    "42.15 373.44 260.79 384.95 352.18\n";

Metric step_spec(const std::string& take, long long skip) {
  Metric spec{"step_ms", "stdout.log", "(-?[0-9.]+)", ""};
  spec.take = take;
  spec.skip = skip;
  return spec;
}

std::optional<double> taken(const std::string& take, long long skip, const std::string& text = kSteps) {
  return read_metric_text(step_spec(take, skip), text, "stdout.log").value;
}

}  // namespace

TEST_CASE("take: each word is what Python's statistics say of the values after `skip`") {
  CHECK(taken("last", 5) == 352.18);
  CHECK(taken("first", 5) == 365.05);
  CHECK(taken("first", 0) == 230.31);
  CHECK(taken("min", 5) == -49.2);
  CHECK(taken("max", 5) == 392.09);
  CHECK(taken("sum", 5) == doctest::Approx(6842.39).epsilon(1e-15));
  CHECK(taken("count", 5) == 36);
  CHECK(taken("mean", 5) == doctest::Approx(190.0663888888889).epsilon(1e-15));
  CHECK(taken("median", 5) == doctest::Approx(201.48).epsilon(1e-15));
  CHECK(taken("p1", 5) == doctest::Approx(-47.415).epsilon(1e-15));
  CHECK(taken("p25", 5) == doctest::Approx(46.2925).epsilon(1e-15));
  CHECK(taken("p95", 5) == doctest::Approx(383.24).epsilon(1e-15));
  CHECK(taken("p99.9", 5) == doctest::Approx(391.84009999999995).epsilon(1e-15));
}

TEST_CASE("take: words that are none") {
  for (const char* word : {"", "avg", "p", "p0", "p100", "p-5", "p5e1", "p.5", "p9 5", "P95", "p1000"}) {
    CAPTURE(word);
    CHECK_FALSE(parse_take(word));
  }
  CHECK(parse_take("p50")->p == 0.5);
}

TEST_CASE("take: a series keeps its points, `skip` or not") {
  Metric spec = step_spec("mean", 2);
  spec.series = "step";
  const MetricMatches matches = read_metric_text(spec, "1\n2\n3\n4\n", "stdout.log");
  CHECK(matches.value == 3.5);
  CHECK(matches.series.size() == 4);
}

TEST_CASE("take: min, max and quantiles lie in order, wherever the text is cut") {
  CHECK(rc::check([](const std::vector<int>& values) {
    std::string text;
    for (const int value : values) text += std::to_string(value) + '\n';
    const auto low = taken("min", 0, text);
    const auto p25 = taken("p25", 0, text);
    const auto median = taken("median", 0, text);
    const auto high = taken("max", 0, text);
    RC_ASSERT(low.has_value() == !values.empty());
    if (!values.empty()) RC_ASSERT(*low <= *p25 && *p25 <= *median && *median <= *high);
  }));
}

TEST_CASE("take: a run says what was taken, and why there is nothing") {
  AttemptFolder folder;
  folder
      .run_json(R"j("metrics":[
        {"name":"step","file":"stdout.log","pattern":"step (\\d+)","unit":"ms","take":"median","skip":1},
        {"name":"late","file":"stdout.log","pattern":"step (\\d+)","take":"max","skip":9},
        {"name":"errors","file":"stdout.log","pattern":"ERROR.*","take":"count"},
        {"name":"notes","file":"stdout.log","pattern":"NOTE","take":"count"},
        {"name":"lost","file":"absent.log","pattern":"x","take":"count"}])j")
      .file("stdout.log", "step 90\nstep 4\nERROR: x\nstep 8\nERROR: y\n")
      .finished(R"("exit_code":0)");
  const AttemptRecord record = folder.read();
  CHECK(record.metrics.at("step") == 6);
  CHECK(record.places.at("step") == "stdout.log:4 (median of 2 values)");
  CHECK(record.metrics.at("errors") == 2);
  CHECK(record.metrics.at("notes") == 0);  // the file is there and holds none
  CHECK_FALSE(record.metrics.contains("late"));
  CHECK_FALSE(record.metrics.contains("lost"));
  const auto warned = [&](const char* text) { return std::count(record.warnings.begin(), record.warnings.end(), text) == 1; };
  CHECK(warned("metric late: 3 values are there, and `skip: 9` leaves none"));
  CHECK(warned("metric lost: no file is absent.log"));
}

TEST_CASE("an index that occurs again: the later values count, and copies count once") {
  Metric spec{"t", "*", "s(?P<step>\\S+) t([0-9.]+)", "", "step", "pattern", "step"};
  const auto read = [&](const std::string& log, const char* take, long long skip = 0) {
    spec.take = take;
    spec.skip = skip;
    return read_metric_text(spec, log, "a.log");
  };
  // Two values of each step, a resume after step 2, and a last part.
  const std::string resumed = "s1 t1\ns1 t2\ns2 t30\ns2 t4\ns3 t50\ns2 t5\ns2 t6\ns3 t7\ns4 t8\n";
  CHECK(read(resumed, "sum").value == 1 + 2 + 5 + 6 + 7 + 8);
  CHECK(read(resumed, "count").value == 6);
  CHECK(read(resumed, "sum", 3).value == 6 + 7 + 8);
  CHECK(read(resumed, "max").value == 8);
  CHECK(read(resumed, "last").value == 8);
  const MetricMatches matches = read(resumed, "median");
  CHECK(matches.value == 5.5);
  CHECK(matches.warnings ==
        std::vector<std::string>{"`step` goes back 1 time, first from 3 to 2 at a.log:6: 3 earlier values do not "
                                 "count, since their indexes occur again; `take` of a metric without `index` is "
                                 "of all"});
  // Backwards without an index that occurs again, and several values of one index in a row: all count.
  for (const char* const log : {"s4 t1\ns2 t2\ns1 t3\n", "s1 t1\ns1 t2\ns1 t3\ns2 t0\n"}) {
    CHECK(read(log, "sum").value == 6);
    CHECK(read(log, "sum").warnings.empty());
  }
  // The line of a value that a later one replaced is not known any more.
  CHECK(read("s1 t9\ns2 t5\ns1 t3\n", "max").place == "a.log (max of 2 values)");
  // Words, with the same and with other values.
  spec.series = "name";
  CHECK(read("sa t1\nsb t2\nsc t3\nsa t1\nsb t2\nsc t3\n", "sum").value == 6);
  CHECK(read("sa t1\nsa t1\nsb t2\nsb t2\nsc t3\nsc t3\n", "sum").value == 6);
  CHECK(read("sa t1\nsb t2\nsc t3\nsa t1\nsb t2\nsc t4\n", "sum").value == 13);
  CHECK(read("s1 t1\ns1 t1\ns2 t2\ns2 t2\ns3 t3\ns3 t3\n", "sum").value == 6);
  CHECK(read("s1 t1\ns1 t1\ns2 t1\ns2 t1\ns3 t1\ns3 t1\n", "sum").value == 6);  // equal throughout: maybe no copies
  // Without an index, copies are named.
  spec.series.reset();
  spec.index.clear();
  spec.name = "step";
  spec.selector = "s(\\d+)";
  CHECK(read("s1\ns2\ns3\ns1\ns2\ns3\n", "sum").warnings.size() == 1);
  CHECK(read("s1\ns1\ns2\ns2\ns3\ns3\n", "median").warnings.size() == 1);
  CHECK(read("s1\ns1\ns2\ns2\ns3\ns4\n", "median").warnings.empty());
  CHECK(read("s1\ns1\ns2\ns2\ns3\ns3\n", "max").warnings.empty());
}

TEST_CASE("absent: declared values are no values, in text, JSON, tables and rules") {
  Metric spec{"mfu", "*", "mfu ([0-9.-]+)%", "%"};
  spec.absent = {"-100", "nan", "Unknown"};
  const std::string log = "mfu -100.00%\nmfu nan%\nmfu 36.5%\nmfu 40%\nmfu -100%\n";
  MetricMatches matches = read_metric_text(spec, log, "a.log");
  CHECK(matches.value == 40);
  CHECK(matches.place == "a.log:4 (last of 2 values, 3 absent)");
  CHECK(matches.not_finite == 0);
  spec.take = "first";
  CHECK(read_metric_text(spec, log, "a.log").value == 36.5);
  spec.take = "count";
  CHECK(read_metric_text(spec, log, "a.log").value == 2);
  // Another value that is not finite keeps its own place.
  CHECK(read_metric_text(spec, "mfu nan%\nmfu inf%\n", "a.log").first_not_finite_at == "a.log:2");

  spec.take = "first";
  spec.source = "pointer";
  spec.selector = "/*/v";
  const char* const kDocument = R"([{"v": NaN}, {"v": "nan"}, {"v": -100.0}, {"v": "unknown"}, {"v": 3}])";
  matches = read_metric_text(spec, kDocument, "a.json");
  CHECK(matches.value == 3);
  CHECK(matches.place == "a.json:1 (first of 1 value, 4 absent)");

  spec.source = "column";
  spec.selector = "v";
  matches = read_metric_text(spec, "v,w\n-1e2,1\nunknown,2\n", "a.csv");
  CHECK_FALSE(matches.value);
  CHECK(matches.warnings == std::vector<std::string>{"all of its 2 values are absent, the first `-1e2`"});

  const ReadingRules rules{{spec}, 0, std::nullopt};
  Reading reading;
  reading.rules = {{rules_hash(rules), rules}};
  reading.usual = rules_hash(rules);
  const Reading read = parse_reading(reading_json(reading));
  CHECK(read.rules.begin()->second.metrics.at(0).absent == spec.absent);
}

TEST_CASE("take: rules without it keep their hash, and with it come back from run.json and reading.json") {
  const ReadingRules plain{{{"a", "f", "x", "s", std::nullopt, "pattern", ""}}, 0, std::nullopt};
  CHECK(rules_json(plain) == R"({"metrics":[{"name":"a","file":"f","pattern":"x","unit":"s","series":false}],)"
                             R"("success":{"exit_code":0,"pattern":null}})");
  ReadingRules taking = plain;
  taking.metrics[0].take = "p95";
  taking.metrics[0].skip = 3;
  CHECK(rules_hash(taking) != rules_hash(plain));
  Reading reading;
  reading.rules = {{rules_hash(taking), taking}};
  reading.usual = rules_hash(taking);
  CHECK(reading_json(parse_reading(reading_json(reading))) == reading_json(reading));
}

TEST_CASE("statistics of published values") {
  CHECK(parse_statistic("mean") == "mean");
  CHECK(parse_statistic("Average") == "mean");
  CHECK(parse_statistic("MIN") == "min");
  CHECK(parse_statistic("maximum") == "max");
  CHECK(parse_statistic("p99.9") == "p99.9");
  for (const char* word : {"", "mode", "last", "sum", "count", "p0", "means"}) CHECK_MESSAGE(!parse_statistic(word), word);
}

TEST_CASE("an index that begins again as the steps of epochs do: all values count, and the series continues") {
  Metric spec{"t", "*", "s(?P<step>\\d+) t([0-9.]+)", "", "step", "pattern", "step"};
  const auto read = [&](const std::string& log, const char* take) {
    spec.take = take;
    return read_metric_text(spec, log, "a.log");
  };
  const auto last_index = [](const MetricMatches& matches) { return matches.series.back().index; };
  const std::string epoch = "s10 t1\ns20 t2\ns30 t3\n", other = "s10 t4\ns20 t5\ns30 t6\n", cut = "s10 t7\n";
  for (const char* const take : {"sum", "count"})
    CHECK(read(epoch + other, take).value == (std::string(take) == "sum" ? 21 : 6));
  const MetricMatches two = read(epoch + other, "median");
  CHECK(two.value == 3.5);
  CHECK(two.series.size() == 6);
  CHECK(last_index(two) == 60);
  CHECK(two.warnings == std::vector<std::string>{
                            "`step` begins again 1 time, first from 30 to 10 at a.log:4, as steps of epochs do: all values "
                            "count, and the series continues its numbers; if these are several runs in one file, cut it and "
                            "import each"});
  const MetricMatches three = read(epoch + other + cut, "sum");
  CHECK(three.value == 28);
  CHECK(last_index(three) == 70);
  CHECK(last_index(read("s0 t1\ns1 t2\ns2 t3\ns0 t4\ns1 t5\ns2 t6\n", "sum")) == 5);
  // A resume from the beginning that went further, one that has not, another first step, and copies.
  CHECK(read(epoch + other + "s40 t8\n", "sum").value == 23);
  CHECK(read(epoch + cut, "sum").value == 2 + 3 + 7);
  CHECK(read(epoch + "s20 t5\ns30 t6\n", "sum").value == 1 + 5 + 6);
  CHECK(read(epoch + epoch, "sum").value == 6);
  CHECK(read("s1 t1\ns2 t2\ns1 t3\ns2 t4\n", "sum").value == 7);  // too few to tell
}

}  // namespace hpcbench

#include "ingest/metric_scan.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>
#include <sys/time.h>

#include <array>

#include "attempt_folder.hpp"
#include "ingest/metric_reader.hpp"

using namespace hpcbench;

namespace {

Metric spec_of(const std::string& pattern, bool series = false) {
  return {"loss", "*.log", pattern, "", series ? std::optional<std::string>("epoch") : std::nullopt};
}

}  // namespace

TEST_CASE("the last match counts; a series keeps all of them") {
  const std::string log = "Loss: 3.5\nLoss: 2.5 then Loss: 2.25\nend\n";
  MetricMatches matches = scan_metric(log, spec_of("Loss: ([0-9.]+)"));
  CHECK(matches.value == 2.25);
  CHECK(matches.count == 3);
  CHECK(matches.series.empty());
  matches = scan_metric(log, spec_of("Loss: ([0-9.]+)", true));
  REQUIRE(matches.series.size() == 3);
  CHECK(matches.series[0].index == 1);
  CHECK(matches.series[0].value == 3.5);
  CHECK(matches.series[2].index == 3);
  CHECK(matches.series[2].name == "loss");
}

TEST_CASE("a multiple of the metric's unit behind a number converts it") {
  const auto value_of = [](const std::string& line, const std::string& unit, const std::string& name = "loss") {
    Metric spec = spec_of("write ([0-9.]+)");
    spec.unit = unit;
    spec.name = name;
    return scan_metric(line + "\n", spec).value;
  };
  CHECK(value_of("write 900 MB/s", "GB/s") == doctest::Approx(0.9));
  CHECK(value_of("write 1.5GB/s, read 2 GB/s", "GB/s") == 1.5);
  CHECK(value_of("write 12 ms", "s") == doctest::Approx(0.012));
  CHECK(value_of("write 2 s.", "", "step_ms") == doctest::Approx(2000));
  for (const char* rest : {"", " of 12", " h: 3", " h=3", ", 3 min", " records/s", " (ms)", "  min"})
    CHECK_MESSAGE(value_of(std::string("write 7") + rest, "s") == 7.0, rest);
  CHECK_FALSE(value_of("write 0.08 days/ns", "ns/day"));
  Metric none = spec_of("write ([0-9.]+)");
  const MetricMatches matches = scan_metric("write 2 GB/s\nwrite 900 MB/s\n", none);
  CHECK(matches.value == doctest::Approx(0.9));
  CHECK(matches.unit == "GB/s");
  CHECK(scan_metric("write 12 s\n", none).unit.empty());
  const MetricMatches mixed = scan_metric("write 2 ns/day\nwrite 0.5 days/ns\n", none);
  CHECK(mixed.value == 2.0);
  CHECK(mixed.first_not_number == "0.5 days/ns");
}

TEST_CASE("lines may end with CR LF") {
  CHECK(scan_metric("loss=1.5\r\nloss=2.5\r\n", spec_of("loss=(.*)")).value == 2.5);
  CHECK(scan_metric("loss=1.5\r\nloss=2.5\r\n", spec_of("^loss=([0-9.]+)\\r?$")).value == 2.5);
}

TEST_CASE("which group is the number") {
  CHECK(scan_metric("a 1 b 2\n", spec_of("a (\\d) b (?P<loss>\\d)")).value == 2);
  CHECK(scan_metric("a 1 b 2\n", spec_of("a (\\d) b (?P<other>\\d)")).value == 1);
  CHECK(scan_metric("a 12 b\n", spec_of("\\d+")).value == 12);
  CHECK_FALSE(scan_metric("b\n", spec_of("(\\d)?b")).value);
}

TEST_CASE("lines are lines: anchors, and no match across an end") {
  CHECK(scan_metric("x\nt=1\n", spec_of("^t=(\\d)$")).value == 1);
  CHECK(scan_metric("t=1 s\n", spec_of("^t=(\\d)$")).count == 0);
  CHECK(scan_metric("loss:\n7\n", spec_of("loss:\\s*(\\d)")).count == 0);
  CHECK(scan_metric("loss: a\n7\n", spec_of("loss:[^0-9]*(\\d)")).count == 0);
  CHECK(scan_metric("Zeit f\xFCr Epoche: 4\n", spec_of("f.r Epoche: (\\d)")).value == 4);
  CHECK(scan_metric(std::string("a\0b 5\n", 6), spec_of("b (\\d)")).value == 5);
}

TEST_CASE("matches that are no numbers, and absent ones") {
  const MetricMatches matches = scan_metric("t=1,5\nt=2\nt=n/a\n", spec_of("t=(\\S+)"));
  CHECK(matches.value == 2);
  CHECK(matches.not_numbers == 1);
  CHECK(matches.first_not_number == "1,5");
  CHECK(matches.absent == 1);
  const MetricMatches placed = read_metric_text(spec_of("t=(\\S+)"), "a\nt=soon\nt=1,5\n", "f");
  CHECK(tell_not_numbers(placed) == "2 matches are no numbers, the first `soon` at f:2");
  CHECK(tell_not_numbers(read_metric_text(spec_of("t=(\\S+)"), "t=1,5\n", "f")) ==
        "1 match is no number, the first `1,5` at f:1: with `decimal: comma` it is 1.5; where another value follows the comma, "
        "let "
        "the pattern match the comma");
}

TEST_CASE("text as terminals show it") {
  CHECK(scan_metric("\x1b[31mloss:\x1b[0m 2.5\n", spec_of("loss: ([0-9.]+)")).value == 2.5);
  CHECK(scan_metric("\x1b]0;title 7\x07t=3\n\x1b[2Kt=4\n", spec_of("^t=(\\d)$")).value == 4);
  const MetricMatches bars =
      read_metric_text(spec_of("^t=(\\d)$", true), "x\r1%|#| 1/9 [0:01<0:02, 1.9s/it]t=1\rt=2\r\nt=3\n", "f");
  REQUIRE(bars.series.size() == 3);
  CHECK(bars.series[1].value == 2);
  CHECK(bars.place == "f:2");
  CHECK(read_metric_text(spec_of("^t=(\\S+)$"), "a\rb\rt=x\n\rt=soon\n", "f").first_not_number_at == "f:1");
}

TEST_CASE("a pattern that takes a part of a number") {
  const auto warnings = [](const std::string& pattern, const std::string& text) {
    return scan_metric(text, spec_of(pattern)).warnings;
  };
  CHECK(warnings("loss.*(\\d+)", "loss 12.5\nloss 13.25\n") ==
        std::vector<std::string>{"the pattern takes only the end of 2 numbers, the first `5` of `12.5`"});
  CHECK(warnings("loss.*?(\\d+)", "loss 12.5\n").empty());
  CHECK(scan_metric("loss 12.5\n", spec_of("loss (\\d+)")).value == 12.5);
  CHECK(warnings("real time *([0-9.]+)", "real time24130.5518\n").empty());
}

TEST_CASE("a letter behind a number is a multiple, or named") {
  Metric spec = spec_of("tokens: ([0-9.]+)");
  CHECK(scan_metric("tokens: 16K\n", spec).first_not_number == "16K");
  CHECK_FALSE(scan_metric("tokens: 16K\n", spec).value);
  CHECK(scan_metric("tokens: 16K\n", spec_of("tokens: ([0-9.]+)K")).value == 16);
  CHECK(scan_metric("tokens: 16 K\n", spec).value == 16);
  CHECK(scan_metric("tokens: 2x\n", spec).value == 2);
  spec.unit = "bytes";
  CHECK(scan_metric("tokens: 16K\n", spec).value == 16384);
}

TEST_CASE("a context: values belong to the last line above them") {
  Metric spec = spec_of("^Max: (\\S+)", true);
  spec.index = "test";
  spec.series = "test";
  spec.context = {"^# test: (?P<test>.*)$"};
  const std::string text = "Max: 1\n# test: posix shared\nMax: 2\nMax: 3\n# test: own\nmin: 0\n# test: mpiio\nMax: 4\n";
  const MetricMatches matches = read_metric_text(spec, text, "f");
  REQUIRE(matches.series.size() == 2);
  CHECK(matches.series[0].word == "posix shared");
  CHECK(matches.series[0].value == 3);
  CHECK(matches.series[1].word == "mpiio");
  CHECK(tell_not_numbers(matches) == "1 match is no number, the first `1` at f:1: no line above it matches `context`");
  // Several names, of several contexts; the pieces of a long file.
  spec.index = "N P";
  spec.context = {"^W +(?P<N>\\d+)", "^ranks (?P<P>\\d+)"};
  MetricScanner scanner(spec);
  scanner.begin_file({});
  for (const char* piece : {"ranks 4\nW 100\nMax: 1\nW 200\n", "Max: 2\nranks 8\n", "Max: 3\n"}) scanner.feed(piece);
  const MetricMatches several = scanner.finish();
  REQUIRE(several.series.size() == 3);
  CHECK(several.series[1].word == "N=200 P=4");
  CHECK(several.series[2].word == "N=200 P=8");
  // Another file begins without a context.
  scanner.begin_file({});
  scanner.feed("Max: 4\n");
  CHECK(scanner.finish().not_numbers == 1);
}

TEST_CASE("a group called unit") {
  Metric spec = spec_of("mem ([0-9.]+) ?(?P<unit>\\w+)");
  spec.unit = "bytes";
  CHECK(scan_metric("mem 980 MB\nmem 1.2 GB\n", spec).value == 1200000000);
  CHECK(scan_metric("mem 980 MB\nmem 12 widgets\n", spec).why_not_number == "it is in widgets, and the metric in bytes");
  spec.selector = "(?P<unit>\\w+): ([0-9.]+)";
  CHECK(scan_metric("MB: 2\n", spec).value == 2000000);
  spec.unit = "";
  const MetricMatches mixed = scan_metric("MB: 2\nGB: 3\n", spec);
  CHECK(mixed.value == 3000);
  CHECK(mixed.unit == "MB");
  // Without a group, the text behind the number.
  const MetricMatches behind = scan_metric("mem 980 MB\nmem 1.2 GB\n", spec_of("mem ([0-9.]+)"));
  CHECK(behind.value == 1200);
  CHECK(behind.unit == "MB");
}

TEST_CASE("the decimal mark of the file, or the declared one") {
  Metric spec = spec_of("n ([0-9.,]+)");
  CHECK(scan_metric("tflops 1,293.21\nn 6,175\n", spec).value == 6175);
  CHECK(scan_metric("9.318,27 ms 0,31\nn 1.204\n", spec).value == 1204);
  CHECK_FALSE(scan_metric("9.318,27 ms\nn 1.204\n", spec).value);  // a pair, or the sign of a decimal comma
  const MetricMatches unclear = scan_metric("n 6,175\n", spec);
  CHECK_FALSE(unclear.value);
  CHECK(unclear.why_not_number.starts_with("it may be 6175 or 6.175"));
  spec.decimal = DecimalMark::comma;
  CHECK(scan_metric("n 6,175\n", spec).value == 6.175);
  spec.decimal = DecimalMark::point;
  CHECK(scan_metric("n 6,175\n", spec).value == 6175);
  // A pattern that ends at the comma of a number which may be a list of two.
  CHECK_FALSE(scan_metric("n 9.318,27\n", spec_of("n ([0-9.]+)")).value);
  CHECK(scan_metric("n 1.5,2.5\n", spec_of("n ([0-9.]+)")).value == 1.5);
}

TEST_CASE("groups of thousands: the whole number, or none, but never its first digits") {
  const auto value = [](const std::string& line, const std::string& pattern) {
    return scan_metric(line, spec_of(pattern)).value;
  };
  for (const std::string pattern : {"tps: ([0-9.]+)", "tps: ([0-9.,]+)", "tps: (\\S+)", "tps: (\\d+)"}) {
    CAPTURE(pattern);
    CHECK(value("tps: 1,323,758  tflops: 1,109.31", pattern) == 1323758);
    CHECK(value("tps: 874  tflops: 0.73", pattern) == 874);
    // One and 234 thousandths, or 1234.
    const MetricMatches unclear = scan_metric("tps: 1,234\n", spec_of(pattern));
    CHECK_FALSE(unclear.value);
    CHECK(unclear.first_not_number == "1,234");
  }
  CHECK(value("tflops: 1,109.31  mfu: 41.84%", "tflops: ([0-9.]+)") == 1109.31);
  CHECK(value("n=-12,500,000;", "n=(-?\\d+)") == -12500000);
  // The pattern itself says that another value follows.
  CHECK(value("at 1,250,300", "at (\\d+),\\d+") == 1);
  CHECK(value("at 1, 250", "at (\\d+)") == 1);
  CHECK(value("at 1.", "at (\\d+)") == 1);
  // A fraction, or two values.
  CHECK_FALSE(value("at 0,31", "at ([0-9.]+)"));
  CHECK(value("at 0,31", "at ([0-9.]+),") == 0);
}

TEST_CASE("exponents and times of a step: the whole number in the metric's unit") {
  const auto value = [](const std::string& line, const std::string& unit) {
    Metric spec = spec_of("v ([0-9.]+)");
    spec.unit = unit;
    return scan_metric(line, spec).value;
  };
  CHECK(value("v 1.2e1 GB/s", "GB/s") == 12);
  CHECK(value("v 9E-1", "") == 0.9);
  CHECK(value("v 9e GB", "") == 9);
  CHECK(value("v 2 s/step", "ms") == 2000);
  CHECK(value("v 2 s/it", "s") == 2);
  CHECK(value("v 500 usec", "ms") == 0.5);
  CHECK_FALSE(value("v 0.5 s/step", "ns/day"));
  CHECK_FALSE(value("v 3 s/GB", "GB/s"));
  CHECK(value("v 3 a/b", "GB/s") == 3);
}

TEST_CASE("a loss that ends as NaN is not the one before it") {
  const auto taken = [](const std::string& end, const std::string& take) {
    Metric spec = spec_of("loss (\\S+)");
    spec.take = take;
    return read_metric_text(spec, "loss 3\nloss 1\nloss 2\nloss " + end + "\n", "f");
  };
  for (const char* end : {"nan", "NaN", "-nan", "inf", "-Infinity"}) {
    CAPTURE(end);
    CHECK_FALSE(taken(end, "last").value);
    CHECK(taken(end, "last").not_finite == 1);
    CHECK(taken(end, "min").value == 1);
    CHECK(taken(end, "mean").value == 2);
    CHECK(taken(std::string(end) + "\nloss 5", "last").value == 5);
  }
  CHECK(taken("done", "last").value == 2);
}

TEST_CASE("nan in place of the number that a pattern captures") {
  const auto scan = [](const std::string& pattern, const std::string& text) {
    return read_metric_text(spec_of(pattern), text, "f");
  };
  for (const char* word : {"nan", "NaN", "-inf", "Infinity", "nan(0x8)"}) {
    CAPTURE(word);
    const MetricMatches matches =
        scan("loss=([0-9.]+), v=", fmt::format("loss=2, v=1\nloss={}, v=1\nloss={}, v=1\n", word, word));
    CHECK_FALSE(matches.value);
    CHECK(came_out_nan(matches));
    CHECK(tell_not_finite(matches) ==
          fmt::format("2 of 3 values are not finite, the first is `{}` at f:2; the last value is one of them", word));
  }
  // Named and nested groups, classes and quotes before the number's group, CR LF.
  for (const char* pattern :
       {"(?:step|epoch) [()\\]]*\\d+ loss (-?[0-9]+(?:\\.[0-9]+)?)\\r?$", "(?P<m>[0-9.]+)$", "\\Q\\E(?i)LOSS ([^ nx]\\d*)"}) {
    CAPTURE(pattern);
    CHECK(scan(pattern, "step 1 loss 3\r\nstep 2 loss nan\r\n").not_finite +
              scan(pattern, "step 1 loss 3\nstep 2 loss nan\n").not_finite >
          0);
  }
  // A later number counts again, and so does `take`.
  CHECK(scan("loss ([0-9.]+)", "loss nan\nloss 4\n").value == 4);
  CHECK_FALSE(came_out_nan(scan("loss ([0-9.]+)", "loss nan\nloss 4\n")));
  Metric first = spec_of("loss ([0-9.]+)");
  first.take = "first";
  CHECK_FALSE(read_metric_text(first, "loss nan\nloss 4\n", "f").value);
  // No guesses: words that begin alike, lines that the pattern matches, patterns without a group.
  CHECK(scan("t: ([0-9.]+)", "t: info\nt: nano\nt: infinite\n").not_finite == 0);
  CHECK(scan("loss .*?([0-9.]+)", "loss nan at step 7\n").value == 7);
  CHECK(scan("[0-9]+", "nan\n").not_finite == 0);
}

TEST_CASE("the place of a value is that of the one taken") {
  const auto place = [](const std::string& take, long long skip = 0) {
    Metric spec = spec_of("t=(\\S+)");
    spec.take = take;
    spec.skip = skip;
    return read_metric_text(spec, "t=2\nt=1\nt=4\nt=1\nt=4\nt=3\n", "f").place;
  };
  CHECK(place("last") == "f:6");
  CHECK(place("first") == "f:1 (first of 6 values)");
  CHECK(place("first", 2) == "f:3 (first of 4 values)");
  CHECK(place("min") == "f:2 (min of 6 values)");
  CHECK(place("max") == "f:3 (max of 6 values)");
  CHECK(place("sum") == "f:6 (sum of 6 values)");
}

TEST_CASE("patterns that match nothing, or are none, end") {
  CHECK(scan_metric("abc\n", spec_of("x*")).count == 0);
  CHECK(scan_metric("", spec_of("(\\d*)")).count == 0);
  CHECK(MetricScanner(spec_of("(")).error());
  CHECK_FALSE(MetricScanner(spec_of("(a|b)*c")).error());
  CHECK(scan_metric("1\n", spec_of("(")).count == 0);
}

TEST_CASE("matches that touch each other are all found") {
  const MetricMatches matches = scan_metric("1;2;3;\n", spec_of("([0-9]);", true));
  REQUIRE(matches.series.size() == 3);
  CHECK(matches.series[1].value == 2);
}

TEST_CASE("each number is found once, wherever it stands") {
  CHECK(rc::check("a series is what was written", [](const std::vector<int>& numbers, bool with_noise) {
    std::string log;
    for (const int number : numbers) {
      if (with_noise) log += "noise 12 t =3\n";
      log += "t=" + std::to_string(number) + (number % 2 == 0 ? "\n" : " ");
    }
    const MetricMatches matches = scan_metric(log, spec_of("t=(-?[0-9]+)", true));
    RC_ASSERT(matches.series.size() == numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      RC_ASSERT(matches.series[i].index == static_cast<long long>(i) + 1);
      RC_ASSERT(matches.series[i].value == numbers[i]);
    }
  }));
}

TEST_CASE("metrics of run.json: globs in the attempt's folder, then in workdir") {
  AttemptFolder folder;
  const std::string workdir = folder.outside() + "/work [1]";
  std::filesystem::create_directories(workdir + "/logs");
  std::ofstream(workdir + "/logs/b.txt") << "t=5\n";
  std::ofstream(workdir + "/logs/a.txt") << "t=4\n";
  std::ofstream(workdir + "/x.log") << "t=9\n";
  // No copies were kept: only files that were last changed while the attempt ran are its own.
  constexpr std::array<timeval, 2> kWhileItRan = {timeval{1700000050, 0}, timeval{1700000050, 0}};
  for (const char* name : {"/logs/a.txt", "/logs/b.txt"}) REQUIRE(::utimes((workdir + name).c_str(), kWhileItRan.data()) == 0);
  std::ofstream(workdir + "/logs/c.txt") << "t=7\n";
  folder.file("started.json", R"({"schema":1,"host":"node1","started_unix_s":1700000001})")
      .run_json(R"("workdir":")" + workdir +
                R"(","metrics":[)"
                R"j({"name":"t","file":"logs/*.txt","pattern":"t=(\\d+)","unit":"ms","series":"epoch"},)j"
                R"j({"name":"own","file":"*.log","pattern":"t=(\\d+)","unit":"","series":null},)j"
                R"j({"name":"val_loss","file":"stdout.log","pattern":"v=(\\S+)"},)j"
                R"j({"name":"none","file":"*.csv","pattern":"(x)"},{"name":"no","file":"stdout.log","pattern":"q=(\\d)"},)j"
                R"j({"name":"bad","file":"stdout.log","pattern":"("}])j")
      .file("stdout.log", "t=1\nv=0.5\n")
      .file("events.jsonl", "{\"event\":\"eval\",\"epoch\":1,\"val_loss\":3}\n")
      .finished(R"("exit_code":0)");
  const AttemptRecord record = folder.read();
  CHECK(record.metrics.at("t") == 5);
  CHECK(record.metrics.at("own") == 1);
  CHECK(record.metrics.at("val_loss") == 0.5);
  CHECK(record.units == std::map<std::string, std::string>{{"t", "ms"}});
  std::vector<double> series;
  for (const SeriesPoint& point : record.series) {
    if (point.name == "t") series.push_back(point.value);
  }
  CHECK(series == std::vector<double>{4, 5});
  REQUIRE(record.warnings.size() == 4);
  CHECK(record.warnings[0] ==
        "metric t: " + workdir + "/logs/c.txt was not changed last by this run, and no copy was kept: it is not read");
  CHECK(record.warnings[1] == "metric none: no file is *.csv");
  CHECK(record.warnings[2] == "metric no: no match in stdout.log");
  CHECK(record.warnings[3] == "metric bad: not a pattern: missing ): (?m)(");
}

TEST_CASE("a match is found at the edge of what is read at once") {
  AttemptFolder folder;
  for (const std::size_t before : {1048570U, 1048571U, 1048575U, 1048576U, 2097151U}) {
    std::string log;
    while (log.size() + 100 < before) log += std::string(99, '.') + '\n';
    log += std::string(before - log.size(), '.') + "\nt=17\n" + std::string(1000, '.') + '\n';
    folder.run_json(R"j("metrics":[{"name":"t","file":"stdout.log","pattern":"^t=(\\d+)$","series":"n"}])j")
        .file("stdout.log", log);
    const AttemptRecord record = folder.read();
    CAPTURE(before);
    CHECK(record.metrics.at("t") == 17);
    CHECK(record.series.size() == 1);
  }
}

TEST_CASE("index: the group of that name numbers the series, and the value is another one") {
  const auto read = [](const std::string& pattern, const std::string& text) {
    return read_metric_text({"t", "*", pattern, "", "size", "pattern", "size"}, text, "f");
  };
  const std::string table = "# Size  Latency\n8  1.5\n64  2.5\n512  x\n8  1.75\n";
  for (const char* pattern : {"^(?P<size>\\d+) +([0-9.]+)$", "^(?P<size>\\d+) +(?P<t>[0-9.]+)$"}) {
    const MetricMatches matches = read(pattern, table);
    REQUIRE(matches.series.size() == 2);  // of one size the last
    CHECK((matches.series[0].index == 8 && matches.series[0].value == 1.75));
    CHECK((matches.series[1].index == 64 && matches.series[1].value == 2.5));
    CHECK(matches.place == "f:5");
  }
}

TEST_CASE("index: what is no number names its point, but no epoch and no step") {
  const auto read = [](const std::string& series, const std::string& text) {
    return read_metric_text({"t", "*", "^([0-9.]+) us ?(?P<place>\\S*)$", "", series, "pattern", "place"}, text, "f");
  };
  const MetricMatches words = read("size", "1.5 us 8\n2.5 us 1K\n3.5 us 1\xff\n4.5 us\n5.5 us 1K\n");
  REQUIRE(words.series.size() == 3);
  CHECK((words.series[0].index == 8 && words.series[0].word.empty()));
  CHECK((words.series[1].word == "1K" && words.series[1].value == 5.5));
  CHECK(words.series[2].word == "1\xEF\xBF\xBD");
  CHECK(words.not_numbers == 1);
  for (const char* const series : {"epoch", "step"}) {
    const MetricMatches numbers = read(series, "1.5 us 8\n2.5 us 1K\n");
    CHECK(numbers.value == 1.5);
    CHECK(numbers.series.size() == 1);
    CHECK(numbers.not_numbers == 1);
    CHECK(numbers.first_not_number == "1K");
  }
}

TEST_CASE("index: tables that nccl-tests, OSU's benchmarks and IMB print") {
  const auto points = [](const std::string& pattern, const std::string& text) {
    const MetricMatches matches = read_metric_text({"t", "*", pattern, "", "size", "pattern", "size"}, text, "f");
    std::string out;
    for (const SeriesPoint& point : matches.series)
      out += std::to_string(point.index) + ":" + std::to_string(point.value) + " ";
    return out;
  };
  CHECK(points(R"(^ *(?P<size>\d+) +\d+ +float +sum +-?\d+ +[\d.]+ +[\d.]+ +(?P<t>[\d.]+))",
               "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
               "#wrong\n"
               "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
               "        1024           256     float     sum      -1    11.23    0.09    0.16      0    11.04    0.09    0.16  "
               "    0\n"
               "  1073741824     268435456     float     sum      -1   8123.4  132.18  231.31      0   8125.1  132.15  231.26  "
               "    0\n"
               "# Avg bus bandwidth    : 115.7\n") == "1024:0.160000 1073741824:231.310000 ");
  CHECK(points(R"(^(?P<size>\d+) +([0-9.]+)$)",
               "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n1                       1.23\n4194304               "
               "431.07\n") == "1:1.230000 4194304:431.070000 ");
  CHECK(points(R"(^ +(?P<size>\d+) +\d+ +([0-9.]+) +[0-9.]+$)",
               "       #bytes #repetitions      t[usec]   Mbytes/sec\n            0         1000         0.51         0.00\n"
               "      4194304           10      1021.12      4107.55\n") == "0:0.510000 4194304:1021.120000 ");
}

TEST_CASE("a number in a format is none: the log begins with its source") {
  const auto scan = [](const char* pattern, const std::string& text) { return scan_metric(text, Metric{"x", "*", pattern}); };
  const MetricMatches matches = scan("loss:\\D*([0-9.]+)", "print(f\"loss:{loss:.4f}\")\nloss:3.28\n");
  CHECK(matches.value == 3.28);
  CHECK(matches.not_numbers == 1);
  CHECK(tell_not_numbers(matches).find("`.4f`") != std::string::npos);
  CHECK(tell_not_numbers(matches).find("`header`") != std::string::npos);
  CHECK(scan("loss[^0-9.]*([0-9.]+)", "printf(\"loss %5.2f\");\n").count == 0);
  for (const char* const text :
       {"loss: .4\n", "{loss:4}\n", "{loss:.4}\n", "loss 5%\n", "{loss:5G}\n", "loss .5e-3\n", "5% loss 7e2\n"})
    CHECK(scan("loss[^0-9.]*([0-9.]+)", text).count == 1);
}

TEST_CASE("rank: lines of one rank count") {
  Metric spec{"loss", "*", "loss: (\\S+)"};
  spec.rank = "^\\[rank(\\d+)\\]";
  const std::string text = "[rank3] loss: 5\nloss: 9\n[rank0] loss: 7\n[rank0] loss: 6\n[rank3] loss: nan\n";
  const MetricMatches zero = scan_metric(text, spec);
  CHECK(zero.value == 6);
  CHECK(zero.count == 2);
  CHECK(zero.not_finite == 0);
  CHECK(zero.left_out == 3);
  REQUIRE(zero.warnings.size() == 1);
  CHECK(zero.warnings[0] ==
        "lines of rank 0 count; 3 values of other ranks, the first of rank 3, do not: `where: {rank: 1}` chooses another");
  spec.where = {{"rank", {Value::from_integer(3)}}};
  const MetricMatches three = scan_metric(text, spec);
  CHECK(three.count == 1);
  CHECK(three.not_finite == 1);
  CHECK(three.warnings.empty());
}

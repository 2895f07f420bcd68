// The adapters of docs/sources.md, on files that real programs wrote (tests/golden/sources) and on broken ones.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/files.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "ingest/csv_text.hpp"
#include "ingest/metric_reader.hpp"

using namespace hpcbench;

namespace {

using Strings = std::vector<std::string>;

Metric source_spec(const std::string& source, const std::string& selector, const std::string& index = "", bool series = true) {
  return {"m", "*", selector, "", series ? std::optional<std::string>("step") : std::nullopt, source, index};
}

MetricMatches read_golden(const Metric& spec, const std::string& name) {
  return read_metric(spec, {std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/sources/" + name}, {name});
}

std::vector<std::pair<long long, double>> points_of(const MetricMatches& matches) {
  std::vector<std::pair<long long, double>> points;
  for (const SeriesPoint& point : matches.series) points.emplace_back(point.index, point.value);
  return points;
}

using Points = std::vector<std::pair<long long, double>>;

/// The same bytes in pieces of one size give the same.
MetricMatches read_in_pieces(const Metric& spec, std::string_view text, std::size_t size) {
  const auto reader = find_metric_source(spec.source)->make(spec);
  reader->begin("f");
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) reader->feed(text.substr(0, size));
  reader->end();
  return reader->finish();
}

}  // namespace

TEST_CASE("column: what Lightning's CSVLogger writes") {
  const std::string text = read_file(std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/sources/lightning_metrics.csv");
  REQUIRE(text.starts_with("epoch,step,train_loss_epoch,train_loss_step,val_loss\r\n"));
  const MetricMatches epochs = read_golden(source_spec("column", "train_loss_epoch", "epoch"), "lightning_metrics.csv");
  REQUIRE(epochs.series.size() == 3);
  CHECK(epochs.series[0].index == 0);
  CHECK(epochs.series[2].index == 2);
  CHECK(epochs.value == epochs.series[2].value);
  CHECK(epochs.place == "lightning_metrics.csv:13");
  const std::size_t last_row = text.rfind("2,23,") + 5;
  CHECK(std::stod(text.substr(last_row)) == epochs.value);
  const MetricMatches steps = read_golden(source_spec("column", "train_loss_step", "step"), "lightning_metrics.csv");
  REQUIRE(steps.series.size() == 6);
  CHECK(steps.series.back().index == 23);
  CHECK(epochs.warnings.empty());
}

TEST_CASE("column: delimiters, comments, decimal commas, JSON in cells") {
  const auto read = [](const std::string& text, const std::string& column = "a", const std::string& index = "") {
    Metric spec = source_spec("column", column, index);
    return read_metric_text(spec, text, "f.csv");
  };
  CHECK(points_of(read("s;a;c\n1;118,42;x\n2;1204,75;\"y; z\"\n")) == Points{{1, 118.42}, {2, 1204.75}});
  CHECK(points_of(read("s\ta\n1\t7\n2\t-\n3\tN/A\n4\t\n5\t8\n")) == Points{{1, 7}, {2, 8}});
  CHECK(points_of(read("s|a\n1|7\n")) == Points{{1, 7}});
  // A comma in a heading, and other delimiters among words.
  CHECK(points_of(read("s, in ms;a\n1;7\n")) == Points{{1, 7}});
  CHECK(points_of(read("x|y|z,a\np|q,7\n")) == Points{{1, 7}});
  CHECK(points_of(read("a\n7\n8\n")) == Points{{1, 7}, {2, 8}});
  // A header in a comment, comments above and between.
  CHECK(points_of(read("# tool 2.4, in ns\n#a\tb\n1\t2\n# half\n3\t4\n")) == Points{{1, 1}, {2, 3}});
  CHECK(read("# tool 2.4, in ns\n#a\tb\n1\t2\n", "#a").value == 1);
  CHECK(points_of(read("# made, by \"x\na,b\n1,2\n")) == Points{{1, 1}});
  CHECK(read("# a,b\nb,a\n1,2\n").value == 2);
  CHECK(read("\n\n# c\n#a,b\n1,2\n").place == "f.csv:5");
  // Numbers in quotes, as locales print them.
  CHECK(points_of(read("a,b\n\"240,5\",1\n\"1.204\",2\n")) == Points{{1, 240.5}, {2, 1204}});
  CHECK(points_of(read("s,a\n\"0,1\",1.204\n\"0,1\",1.198\n")) == Points{{1, 1.204}, {2, 1.198}});
  CHECK(points_of(read("a,b\n\"1,240.5\",1\n\"1,204\",2\n")) == Points{{1, 1240.5}, {2, 1204}});
  CHECK(tell_not_numbers(read("a,b\n\"1,204\",2\n")) ==
        "1 match is no number, the first `1,204` at f.csv:2: it may be 1204 or 1.204, and the file's other numbers do not "
        "decide: write "
        "`decimal: point` or `decimal: comma`");
  CHECK(read("b;a\n1;x\n").first_not_number_at == "f.csv:2");
  CHECK(read("b;cc\n1;x\n").warnings ==
        std::vector<std::string>{"f.csv:1: no column a (did you mean `b`?); there are (cut at `;`): b, cc"});
  const std::string cells = "n,env\nbase,\"{\"\"T\"\": \"\"8\"\", \"\"l\"\": [1, 2]}\"\nwide,\"{\"\"T\"\": 16}\"\nlast,oops\n";
  CHECK(points_of(read(cells, "env/T")) == Points{{1, 8}, {2, 16}});
  CHECK(read(cells, "env/T").why_not_number == "the cell is not JSON");
  CHECK(points_of(read(cells, "env/l/1")) == Points{{1, 2}});
  Metric seconds = source_spec("column", "t", "");
  seconds.unit = "s";
  CHECK(read_metric_text(seconds, "t\n1h 17m\n350 ms\n1-02:03:04\n", "f.csv").series.size() == 3);
}

TEST_CASE("pointer: texts that hold numbers, and an index of an outer object") {
  Metric spec = source_spec("pointer", "/s/*/d/*/v", "/s/*/name");
  spec.series = "size";
  const std::string text =
      R"({"s":[{"name":"2^18","d":[{"name":"x","v":"611"}]},{"name":"2^22","d":[{"name":"x","v":"3.8e+10"}]},{"name":"2^24"}]})";
  const MetricMatches matches = read_metric_text(spec, text, "f.json");
  REQUIRE(matches.series.size() == 2);
  CHECK(matches.series[1].word == "2^22");
  CHECK(matches.value == 3.8e10);
  CHECK(read_metric_text(source_spec("pointer", "/a", ""), R"({"a":"soon"})", "f.json").first_not_number_at == "f.json:1");
  CHECK(read_metric_text(source_spec("pointer", "/a", ""), R"({"a":"N/A"})", "f.json").absent == 1);
  Metric seconds = source_spec("pointer", "/a", "");
  seconds.unit = "s";
  CHECK(read_metric_text(seconds, R"({"a":"1h2m"})", "f.json").value == 3720);
  seconds.decimal = DecimalMark::comma;
  CHECK(read_metric_text(seconds, R"({"a":1.204})", "f.json").value == 1.204);
  const MetricMatches steps =
      read_metric_text(source_spec("pointer", "/v/*", "*"), R"({"v":{"1":"nan","31":10.2,"32":10.1}})", "f.json");
  CHECK(points_of(steps) == Points{{31, 10.2}, {32, 10.1}});
  CHECK(steps.not_finite == 1);
  CHECK(points_of(read_metric_text(source_spec("pointer", "/b/0/*/bw", "*"), R"({"b":[{"1024":{"bw":7},"2048":{"bw":"N/A"}}]})",
                                   "f.json")) == Points{{1024, 7}});
  CHECK(points_of(read_metric_text(source_spec("pointer", "/b/*/s/v", "/b/*/p/n"),
                                   R"({"b":[{"p":{"n":64},"s":{"v":7}},{"p":{"n":"4096"},"s":{"v":8}}]})", "f.json")) ==
        Points{{64, 7}, {4096, 8}});
  const MetricMatches unnumbered =
      read_metric_text(source_spec("pointer", "/b/*", "/c/*"), R"({"b":[7,8],"c":[1,2]})", "f.json");
  CHECK(unnumbered.warnings == Strings{"f.json: 2 values have no `/c/*`, and a number in its place"});
  Metric wrong = source_spec("pointer", "/a", "/a");
  CHECK(find_metric_source("pointer")->make(wrong)->error());
}

TEST_CASE("column: quotes, blanks, damage") {
  const auto read = [](const std::string& text, const std::string& index = "") {
    return read_metric_text(source_spec("column", "a", index), text, "f.csv");
  };
  CHECK(points_of(read("\xEF\xBB\xBF"
                       "a,b\r\n1,2\r\n , 3\r\n 4 ,5\r\n")) == Points{{1, 1}, {2, 4}});
  CHECK(points_of(read("\"x \"\"y\"\"\",\"a\"\n\"one\ntwo, three\",\"7\"\n")) == Points{{1, 7}});
  CHECK(points_of(read("s,a\n1,10\n2,20\ns,a\n2,30\n0.5,40\n", "s")) == Points{{1, 40}, {2, 30}});
  // A header again, in another order, and one with a column more.
  CHECK(points_of(read("s,a\n1,10\na,s\n2,30\n0.5,40\n", "s")) == Points{{1, 10}, {30, 2}, {40, 0.5}});
  CHECK(points_of(read("s,b\n1,10\ns,b,a\n2,30,7\n3,40,-\n", "s")) == Points{{2, 7}});
  CHECK(read("s,b\n1,10\ns,b,a\n2,30,7\n3,40,-\n", "s").warnings.empty());
  CHECK(read("s,a\n1,10\ns,b\n2,30\n").warnings ==
        std::vector<std::string>{"f.csv:3: no column a (did you mean `s`?); there are: s, b"});
  CHECK(read("s,a\n1,10\n2,20\ns,a\n3,30\n", "s").warnings.empty());
  const MetricMatches broken = read("a,b\n1,2\n3\n4,5,6\nx,7\n8,9\n\n10,11");
  CHECK(broken.value == 10);
  CHECK(broken.place == "f.csv:8");
  CHECK(broken.count == 3);
  CHECK(broken.not_numbers == 1);
  CHECK(broken.first_not_number == "x");
  CHECK(broken.warnings == Strings{"f.csv:3: 1 cells under a header of 2", "f.csv:4: 3 cells under a header of 2"});
  CHECK(read("A,b\n1,2\n").warnings == Strings{"f.csv:1: no column a (did you mean `A`?); there are: A, b"});
  CHECK(is_utf8(read("\xCB,b\n1,2\n").warnings.front()));
  CHECK(read("a,b\n1,\"2\n3,4\n").warnings == Strings{"f.csv:2: a quote is opened here and never closed"});
  const std::string huge(std::size_t{3} << 20, 'x');
  const MetricMatches after = read("a,b\n1,\"" + huge + "\n5,6\n");
  CHECK(after.value == 5);
  CHECK(after.warnings == Strings{"f.csv:2: a cell of more than 1 MiB; the line is left out"});
  std::string many = "a,b\n";
  for (int i = 0; i < 13; ++i) many += "1\n";
  CHECK(read(many).warnings.size() == 11);
  CHECK(read(many).warnings.back() == "f.csv: 3 more like these");
}

TEST_CASE("the places of cells in CSV text") {
  std::vector<std::pair<long long, long long>> places;
  CsvReader* reader = nullptr;
  CsvReader csv(
      [&](long long, std::vector<std::string>&) {
        for (const CsvReader::CellPlace& place : reader->cell_places()) places.emplace_back(place.line, place.column);
      },
      [](long long, const std::string&) {});
  reader = &csv;
  csv.keep_places();
  csv.feed(
      "\xEF\xBB\xBF"
      "a, bc,\n\"x\ny\",z\n");
  csv.finish();
  CHECK(places == std::vector<std::pair<long long, long long>>{{1, 1}, {1, 4}, {1, 7}, {2, 1}, {3, 4}});
}

TEST_CASE("pointer: Hugging Face's trainer_state.json") {
  const MetricMatches loss = read_golden(source_spec("pointer", "/log_history/*/loss", "step"), "trainer_state.json");
  REQUIRE(loss.series.size() == 4);
  CHECK((loss.series[0].index == 2 && loss.series[3].index == 8));
  CHECK(loss.value == loss.series[3].value);
  const MetricMatches evaluation =
      read_golden(source_spec("pointer", "/log_history/*/eval_loss", "epoch"), "trainer_state.json");
  REQUIRE(evaluation.series.size() == 2);
  CHECK((evaluation.series[0].index == 1 && evaluation.series[1].index == 2));
  CHECK(read_golden(source_spec("pointer", "/global_step"), "trainer_state.json").value == 8);
  CHECK(read_golden(source_spec("pointer", "/is_local_process_zero"), "trainer_state.json").not_numbers == 1);
  CHECK(loss.warnings.empty());
}

TEST_CASE("pointer: documents, lines, RFC 6901") {
  const auto read = [](const std::string& pointer, const std::string& text, const std::string& index = "") {
    return read_metric_text(source_spec("pointer", pointer, index), text, "f.json");
  };
  // The examples of RFC 6901, section 5, whose values are numbers.
  const std::string rfc =
      R"({"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8})";
  const Strings pointers = {"/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", "/k\"l", "/ ", "/m~0n"};
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    CAPTURE(pointers[i]);
    CHECK(read(pointers[i], rfc).value == static_cast<double>(i));
  }
  CHECK(points_of(read("/*/x", "{\"x\":1}\n[{\"x\":2},{\"x\":3}]\n")) == Points{{1, 2}, {2, 3}});
  const MetricMatches lines = read("/x", "{\"x\":1,\"n\":10}\n\nnot json\n{\"x\":null}\n{\"x\":2.5,\"n\":9}\n{\"x\":", "n");
  CHECK(points_of(lines) == Points{{9, 2.5}, {10, 1}});
  CHECK(lines.value == 2.5);
  CHECK(lines.place == "f.json:5");
  CHECK(lines.warnings == Strings{"f.json:3: not JSON", "f.json:6: the JSON ends too early"});
  const MetricMatches document = read("/a/1", "{\n \"a\": [\n  1,\n  2\n ]\n}\n");
  CHECK(document.value == 2);
  CHECK(document.place == "f.json:4");
  CHECK(read("/a/01", "{\"a\": [1, 2]}").count == 0);
  CHECK(read("/a", "{\n \"a\": 1,\n \"b\": oops\n}").warnings == Strings{"f.json:3: not JSON"});
  CHECK(read("/a", "{\n \"a\": 1,\n").warnings == Strings{"f.json:3: the JSON ends too early"});
  CHECK(read("/a", "{\"a\": NaN}").not_numbers == 0);
  CHECK(read("/a", "{\"a\": NaN}").not_finite == 1);
  CHECK(read("/a", "{\"a\": 1}\n{\"a\": -Infinity}\n").first_not_finite_at == "f.json:2");
  CHECK(read("/a", "\xEF\xBB\xBF{\"a\": 1}").value == 1);
  CHECK(read("/a", "\xEF\xBB\xBF{\"a\": 1}\n{\"a\": 2}\n").count == 2);
  CHECK(read("/a", "\xEF\xBB\xBF{\n\"a\": 1\n}\n").value == 1);
  CHECK(find_metric_source("pointer")->make(source_spec("pointer", "a"))->error() == "not a JSON pointer: a");
}

TEST_CASE("tag: every scalar is what TensorBoard reads") {
  JsonMembers files;
  const std::string reads = read_file(std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/sources/tensorboard_reads.json");
  REQUIRE(scan_object(reads, files));
  CHECK(files.size() == 4);
  int tags = 0;
  for (const JsonMember& file : files) {
    JsonMembers members;
    REQUIRE(scan_object(file.value, members));
    for (const JsonMember& tag : members) {
      CAPTURE(tag.key);
      Points expected;
      const auto pairs = scan_array(tag.value).value_or(std::vector<std::string_view>());
      for (const std::string_view pair : pairs) {
        const auto numbers = scan_array(pair).value_or(std::vector<std::string_view>());
        REQUIRE(numbers.size() == 2);
        const Points::value_type point(*json_integer(numbers[0]), *json_number(numbers[1]));
        if (!expected.empty() && expected.back().first == point.first) expected.pop_back();
        expected.push_back(point);
      }
      const MetricMatches matches = read_golden(source_spec("tag", std::string(tag.key)), std::string(file.key));
      CHECK(points_of(matches) == expected);
      CHECK(matches.warnings.empty());
      ++tags;
    }
  }
  CHECK(tags >= 20);
  CHECK(read_golden(source_spec("tag", "t/double"), "events.out.tfevents.tensors").value == 0.1);
  CHECK(read_golden(source_spec("tag", "h"), "events.out.tfevents.tensors").warnings.size() == 1);
}

TEST_CASE("tag: damage costs only itself") {
  const std::string whole = read_file(std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/sources/events.out.tfevents.fabric");
  const Metric spec = source_spec("tag", "loss");
  const auto read = [&](const std::string& bytes) { return read_metric_text(spec, bytes, "e"); };
  REQUIRE(points_of(read(whole)).size() == 3);
  int cut_short = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CAPTURE(i);
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    const MetricMatches damaged = read(flipped);
    CHECK(damaged.series.size() >= 2);
    CHECK(damaged.warnings.size() >= 1);
    CHECK(read(whole.substr(0, i)).series.size() <= 3);
    cut_short += read(whole.substr(0, i)).warnings.empty() ? 0 : 1;
  }
  CHECK(cut_short + 5 > static_cast<int>(whole.size()) - 5);
  CHECK(read(whole.substr(0, whole.size() - 1)).warnings.front().find("the last record is cut short") != std::string::npos);
  CHECK(read("this is no event file, but some text that is long enough").warnings.size() >= 1);
  CHECK(read("garbage" + whole).series.size() == 3);
}

TEST_CASE("time: bash, POSIX and GNU") {
  const auto read = [](const std::string& what, const std::string& text) {
    return read_metric_text(source_spec("time", what, "", false), text, "stderr.log");
  };
  const std::string bash = "\nreal\t2m30.513s\nuser\t2m42.647s\nsys\t0m10.614s\n";
  CHECK(read("real", bash).value == doctest::Approx(150.513).epsilon(1e-15));
  CHECK(read("user", bash).value == doctest::Approx(162.647).epsilon(1e-15));
  CHECK(read("sys", bash).value == 10.614);
  CHECK(read("sys", bash).place == "stderr.log:4");
  CHECK(read("real", "real\t2m30,513s\n").value == doctest::Approx(150.513).epsilon(1e-15));
  CHECK(read("real", "real 150.51\nuser 1.00\n").value == 150.51);
  const std::string gnu =
      "150.51user 10.61system 2:42.64elapsed 99%CPU (0avgtext+0avgdata 5678maxresident)k\n0inputs+0outputs "
      "(0major+1minor)pagefaults 0swaps\n";
  CHECK(read("real", gnu).value == doctest::Approx(162.64).epsilon(1e-15));
  CHECK(read("user", gnu).value == 150.51);
  CHECK(read("sys", gnu).value == 10.61);
  CHECK(read("max_rss", gnu).value == 5678 * 1024);
  const std::string verbose =
      "\tCommand being timed: \"python train.py\"\n\tUser time (seconds): 12.50\n\tSystem time (seconds): 0.25\n"
      "\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:02:03\n\tMaximum resident set size (kbytes): 2048\n";
  CHECK(read("real", verbose).value == 3723);
  CHECK(read("user", verbose).value == 12.5);
  CHECK(read("sys", verbose).value == 0.25);
  CHECK(read("max_rss", verbose).value == 2 * 1024 * 1024);
  CHECK(read("real", "really 5\nuser elapsed\nreal soon\nunreal 3\n").count == 0);
  CHECK(read("real", bash + "real\t0m1.500s\n").value == 1.5);
  CHECK(find_metric_source("time")->make(source_spec("time", "usr"))->error().has_value());
}

TEST_CASE("accounting: a job's own row, else the largest of its steps") {
  const std::string table =
      "JobID|JobName|Elapsed|MaxRSS|ConsumedEnergyRaw|ConsumedEnergy|State\n"
      "123|ddp|1-02:03:04||5000|5K|COMPLETED\n123.batch|batch|1-02:03:04|100K|||COMPLETED\n123.0|python|02:03.500|2M|||"
      "COMPLETED\n"
      "124|ddp|00:10:00|||1.5M|COMPLETED\n124.batch|batch|00:10:00|3G|||COMPLETED\n";
  const auto read = [&](const std::string& field, const std::string& text) {
    return read_metric_text(source_spec("accounting", field), text, "sacct.txt");
  };
  CHECK(points_of(read("Elapsed", table)) == Points{{1, 93784}, {2, 600}});
  CHECK(points_of(read("MaxRSS", table)) == Points{{1, 2.0 * 1024 * 1024}, {2, 3.0 * 1024 * 1024 * 1024}});
  CHECK(read("ConsumedEnergy", table).value == 1.5e6);
  CHECK(read("ConsumedEnergyRaw", table).value == 5000);
  CHECK(read("MaxRSS", table).place == "sacct.txt:6");
  CHECK(read("State", table).not_numbers == 5);
  CHECK(read("MaxRss", table)
            .warnings.front()
            .starts_with("sacct.txt:1: no field MaxRss (did you mean `MaxRSS`?); there are: JobID, "));
  CHECK(read("Elapsed", table + "125|x\n").warnings == Strings{"sacct.txt:7: 2 fields under a header of 7"});
  CHECK(read("Elapsed", "garbage\n").warnings.size() == 1);
}

TEST_CASE("pieces make no difference to any source, and no bytes break one") {
  const std::vector<Metric> specs = {source_spec("column", "a", "b"), source_spec("pointer", "/*/a", "b"),
                                     source_spec("tag", "loss"), source_spec("time", "real"),
                                     source_spec("accounting", "Elapsed")};
  const Strings seeds = {"b,a\n1,2\n\"3\",\"4\"\n", "[{\"a\":1,\"b\":2},{\"a\":3}]\n",
                         read_file(std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/sources/events.out.tfevents.fabric"),
                         "real\t0m1.5s\n1user 2system 0:03elapsed\n", "JobID|Elapsed\n1|00:01:00\n1.0|00:02:00\n"};
  CHECK(rc::check("pieces", [&] {
    const auto which = *rc::gen::inRange<std::size_t>(0, specs.size());
    std::string text = seeds[which] + seeds[which];
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    if (*rc::gen::arbitrary<bool>()) text.erase(at, *rc::gen::inRange<std::size_t>(0, 9));
    if (*rc::gen::arbitrary<bool>()) text.insert(at, *rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
    const MetricMatches whole = read_in_pieces(specs[which], text, text.size() + 1);
    const MetricMatches pieces = read_in_pieces(specs[which], text, *rc::gen::inRange<std::size_t>(1, 20));
    RC_ASSERT(whole.value == pieces.value);
    RC_ASSERT(whole.count == pieces.count);
    RC_ASSERT(points_of(whole) == points_of(pieces));
    RC_ASSERT(whole.warnings == pieces.warnings);
    RC_ASSERT(whole.place == pieces.place);
    for (const std::string& warning : whole.warnings) RC_ASSERT(is_utf8(warning));
  }));
}

TEST_CASE("a series of any length stays bounded, with its last point") {
  MatchTaker taker(source_spec("pattern", "x"));
  for (int i = 1; i <= 1'000'000; ++i) taker.take(i);
  const MetricMatches matches = taker.finish();
  CHECK(matches.count == 1'000'000);
  CHECK(matches.series.size() <= 65'537);
  CHECK(matches.series.size() > 30'000);
  CHECK(matches.series.front().index == 1);
  CHECK(matches.series.back().index == 1'000'000);
  CHECK(matches.value == 1'000'000);
  for (const SeriesPoint& point : matches.series) REQUIRE(point.value == static_cast<double>(point.index));
}

// `header`: CSV under other lines, JSON in the text of a log.
#include "ingest/preamble.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>

#include "attempt_folder.hpp"
#include "ingest/metric_reader.hpp"
#include "ingest/reading.hpp"

namespace hpcbench {

namespace {

using Words = std::vector<std::string>;

Metric under_header(const std::string& source, const std::string& selector, const std::string& pattern, long long line = 0) {
  Metric spec{"m", "*", selector, "", std::nullopt, source, ""};
  spec.header = pattern;
  spec.header_line = line;
  return spec;
}

constexpr const char* kNsys =
    "# profiler 2024.1\n# host: n1, n2\n\nTime (%),Name,Total (ns)\n60,gemm,900\n40,copy,600\nProcessing finished\n";

std::string what_is_left(const Metric& spec, std::string_view text, std::size_t size) {
  std::string left;
  const Preamble::Take take = [&](std::string_view piece) { left += piece; };
  Preamble preamble(spec);
  preamble.begin();
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) preamble.feed(text.substr(0, size), take);
  preamble.end(take);
  return left;
}

}  // namespace

TEST_CASE("header: CSV begins on the line that matches, or that is counted, and places stay those of the file") {
  for (const Metric& spec :
       {under_header("column", "Total (ns)", "^Time \\(%\\),"), under_header("column", "Total (ns)", "", 4)}) {
    const MetricMatches matches = read_metric_text(spec, kNsys, "f.csv");
    CHECK(matches.value == 600);
    CHECK(matches.count == 2);
    CHECK(matches.place == "f.csv:6");
    CHECK(matches.warnings == Words{"f.csv:7: 1 cells under a header of 3"});
  }
  const std::string marked = std::string("\xEF\xBB\xBF") + "a,b\r\n1,2\r\n";
  CHECK(read_metric_text(under_header("column", "a", "^a,b$"), marked, "f.csv").value == 1);
}

TEST_CASE("header: a line that is not there leaves nothing, and says so") {
  const MetricMatches none = read_metric_text(under_header("column", "a", "^Step,"), "a,b\n1,2\n", "f.csv");
  CHECK_FALSE(none.value);
  CHECK(none.warnings == Words{"f.csv: no line matches `header` ^Step,"});
  const MetricMatches few = read_metric_text(under_header("column", "a", "", 3), "a,b\n1,2\n", "f.csv");
  CHECK(few.warnings == Words{"f.csv: it has 2 lines, and `header` is line 3"});
  Metric counted = under_header("column", "a", "^Step,");
  counted.take = "count";
  CHECK_FALSE(read_metric_text(counted, "a,b\n1,2\n", "f.csv").value);  // nobody knows how many there would be
  CHECK(Preamble(under_header("column", "a", "(")).error());
}

TEST_CASE("header: JSON in a log: a document up to its end, lines with text between them") {
  const Metric spec = under_header("pointer", "/a/b", "^\\{");
  const auto read = [&](const std::string& text) { return read_metric_text(spec, text, "f.log"); };
  const MetricMatches document = read("loading [x]\n{\n \"a\": {\n  \"b\": 7}\n}\nDone: {7}\n");
  CHECK(document.value == 7);
  CHECK(document.place == "f.log:4");
  CHECK(document.warnings.empty());
  const MetricMatches lines = read("hello\n{\"a\":{\"b\":1}}\nstep 2\n{\"a\":{\"b\":2}}\n  bye {}\n");
  CHECK(lines.value == 2);
  CHECK(lines.count == 2);
  CHECK(lines.place == "f.log:4");
  CHECK(lines.warnings.empty());
  CHECK(read("x\n{\"a\":{\"b\":1}}\n{\"a\":\n").warnings == Words{"f.log:4: the JSON ends too early"});
  CHECK(read("x\n{\n\"a\":{\"b\":1},\n").warnings == Words{"f.log:4: the JSON ends too early"});
}

TEST_CASE("header: wherever the text is cut, the same is left of it") {
  CHECK(rc::check([](const std::vector<bool>& ends) {
    std::string text;
    for (const bool end : ends) text += end ? "\n" : *rc::gen::element<std::string>("a", "b", "\r");
    const auto size = *rc::gen::inRange<std::size_t>(1, 5);
    const Metric spec = under_header("column", "x", "^ab");
    const std::string left = what_is_left(spec, text, size);
    RC_ASSERT(left == what_is_left(spec, text, text.size() + 1));
    RC_ASSERT(std::count(left.begin(), left.end(), '\n') == std::count(text.begin(), text.end(), '\n'));
    RC_ASSERT(text.ends_with(
        left.substr(left.find_first_not_of('\n') == std::string::npos ? left.size() : left.find_first_not_of('\n'))));
  }));
}

TEST_CASE("header: a long line above the data costs no more than a piece of it") {
  const std::string long_line(std::size_t{5} << 20, 'x');
  CHECK(what_is_left(under_header("column", "a", "^a,"), long_line + "\na,b\n1,2\n", 1 << 16) == "\na,b\n1,2\n");
  const std::string wide = "{\"a\":{\"b\":3},\"c\":\"" + long_line + "\"}\n";
  CHECK(read_metric_text(under_header("pointer", "/a/b", "^\\{"), "text\n" + wide, "f").value == 3);
}

TEST_CASE("header: the warning of a metric without a value, and rules that come back") {
  AttemptFolder folder;
  folder.run_json(R"j("metrics":[{"name":"a","file":"*.csv","column":"a","header":"^Step"},
                                 {"name":"b","file":"*.csv","column":"b","header":2}])j");
  folder.file("t.csv", "preamble\na,b\n1,2\n").finished(R"("exit_code":0)");
  const AttemptRecord record = folder.read();
  CHECK(record.metrics.at("b") == 2);
  CHECK_FALSE(record.metrics.contains("a"));
  CHECK(record.warnings == Words{"metric a: t.csv: no line matches `header` ^Step"});
  ReadingRules rules{{under_header("column", "a", "^Step"), under_header("column", "a", "", 3)}, 0, std::nullopt};
  rules.metrics[1].name = "n";
  CHECK(rules_json(rules).find(R"("series":false,"header":"^Step"},{)") != std::string::npos);
  CHECK(rules_json(rules).find(R"("series":false,"header":3}])") != std::string::npos);
  Reading reading{{{rules_hash(rules), rules}}, rules_hash(rules), {}};
  CHECK(reading_json(parse_reading(reading_json(reading))) == reading_json(reading));
}

}  // namespace hpcbench

// `where`: of a table the rows, of JSON the objects that are meant.
#include <doctest/doctest.h>

#include <string>

#include "attempt_folder.hpp"
#include "ingest/metric_reader.hpp"
#include "ingest/reading.hpp"

namespace hpcbench {

namespace {

using Texts = std::vector<std::string>;

Metric meant(const std::string& source, const std::string& selector, Condition where, const std::string& take = "sum") {
  Metric spec{"m", "*", selector, "", std::nullopt, source, ""};
  spec.where = std::move(where);
  spec.take = take;
  return spec;
}

Value word(const std::string& text) { return Value::from_plain(text); }

constexpr const char* kRows = "cat,pid,dur\nkernel,0,1\ncopy,0,2\nkernel,1,4\nkernel,0.0,8\nother,0,\n";

constexpr const char* kTrace = R"({"traceEvents": [
  {"cat": "kernel", "pid": 0, "dur": 1, "args": {"bytes": 10, "cat": "inner"}},
  {"cat": "copy", "pid": 0, "dur": 2, "args": {"bytes": 20}},
  {"cat": "kernel", "pid": "1", "dur": 4, "args": {"bytes": 40}},
  {"cat": null, "dur": 8}, {"dur": 16}, {"cat": ["kernel"], "dur": 32}]}
)";

}  // namespace

TEST_CASE("where: of a table the rows whose cells are so") {
  const auto read = [](Condition where, const std::string& take = "sum") {
    return read_metric_text(meant("column", "dur", std::move(where), take), kRows, "f.csv");
  };
  CHECK(read({{"cat", {word("kernel")}}}).value == 13);
  CHECK(read({{"cat", {word("kernel")}}, {"pid", {word("0")}}}).value == 9);  // numbers by value
  CHECK(read({{"cat", {word("kernel"), word("copy")}}}).value == 15);
  CHECK(read({{"cat", {word("kernel")}}}, "last").place == "f.csv:5");
  CHECK(read({{"pid", {Value::from_text("0.0")}}}).value == 8);  // a text by its letters
  const MetricMatches none = read({{"cat", {word("Kernel")}}});
  CHECK_FALSE(none.value);
  CHECK(none.warnings == Texts{"4 values are there, and `where` (cat is Kernel) leaves none"});
  CHECK(read({{"cat", {word("Kernel")}}}, "count").value == 0);
  const MetricMatches typo = read({{"cats", {word("kernel")}}});
  CHECK_FALSE(typo.value);
  CHECK(typo.warnings == Texts{"f.csv:1: no column cats (did you mean `cat`?); there are: cat, pid, dur"});
}

TEST_CASE("where: of text the matches whose groups are so, below the header") {
  Metric spec = meant("pattern", R"(rank(?P<rank>\d+) loss (\S+))", {{"rank", {Value::from_plain("0")}}}, "sum");
  const std::string log = "rank0 loss 100\n== begin\nrank0 loss 1\nrank3 loss 2\nrank00 loss 4\nrank0 loss 8\n";
  CHECK(read_metric_text(spec, log, "a.log").value == 109);
  spec.header = "^==";
  CHECK(read_metric_text(spec, log, "a.log").value == 9);
  spec.take = "last";
  CHECK(read_metric_text(spec, log, "a.log").place == "a.log:6");
  // Another rank's NaN is not this one's.
  CHECK(read_metric_text(spec, log + "rank3 loss nan\n", "a.log").not_finite == 0);
  CHECK(read_metric_text(spec, log + "rank0 loss nan\n", "a.log").not_finite == 1);
  spec.where = {{"rank", {Value::from_plain("7")}}};
  const MetricMatches none = read_metric_text(spec, log, "a.log");
  CHECK_FALSE(none.value);
  CHECK(none.warnings == Texts{"4 values are there, and `where` (rank is 7) leaves none"});
  spec.header = "^== never";
  CHECK_FALSE(read_metric_text(spec, log, "a.log").value);
}

TEST_CASE("where: of JSON the innermost object on the way that has the member") {
  const auto read = [](const std::string& pointer, Condition where) {
    return read_metric_text(meant("pointer", pointer, std::move(where)), kTrace, "f.json");
  };
  CHECK(read("/traceEvents/*/dur", {{"cat", {word("kernel")}}}).value == 5);
  CHECK(read("/traceEvents/*/dur", {{"cat", {word("kernel")}}, {"pid", {word("1")}}}).value == 4);
  CHECK(read("/traceEvents/*/args/bytes", {{"cat", {word("kernel")}}}).value == 40);
  CHECK(read("/traceEvents/*/args/bytes", {{"cat", {word("inner")}}}).value == 10);
  CHECK(read("/traceEvents/*/args/bytes", {{"pid", {word("0")}}}).value == 30);
  CHECK(read("/traceEvents/*/dur", {{"cat", {word("x"), word("y")}}}).warnings ==
        Texts{"6 values are there, and `where` (cat is x or y) leaves none"});
  const std::string lines = "{\"name\":\"a\",\"ms\":1}\n{\"name\":\"b\",\"ms\":2}\n{\"name\":\"a\",\"ms\":4}\n";
  CHECK(read_metric_text(meant("pointer", "/ms", {{"name", {word("a")}}}), lines, "f").value == 5);
}

TEST_CASE("where: rules that come back from run.json and reading.json") {
  const Condition where = {{"a \"b\"", {word("1e-5"), word("true"), Value::from_text("1")}}};
  ReadingRules rules{{meant("column", "x", where, "last")}, 0, std::nullopt};
  CHECK(rules_json(rules).find(R"("series":false,"where":{"a \"b\"":[1e-5,true,"1"]}})") != std::string::npos);
  Reading reading{{{rules_hash(rules), rules}}, rules_hash(rules), {}};
  const Reading again = parse_reading(reading_json(reading));
  CHECK(reading_json(again) == reading_json(reading));
  CHECK(again.rules.begin()->second.metrics[0].where == where);
}

}  // namespace hpcbench

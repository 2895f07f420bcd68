// Proposed metrics in an experiment file: what stands there keeps its bytes.
#include "scan/study_text.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

std::vector<Proposal> proposals() { return scan_text("loss: 2.5\nloss: 1.5\n", "train.log", 10).proposals; }

constexpr const char* kAdded =
    "  # train.log: 2 values, first 2.5, last 1.5\n  - {name: loss, file: train.log, pattern: '^loss: (\\S+)'}\n";
constexpr const char* kHead = "experiment: s\ncommand: [a]\nmatrix: {n: [1]}\n";

std::string refusal(const std::string& text) {
  try {
    with_metrics(text, "s.yaml", proposals());
  } catch (const InputError& error) {
    return std::string(error.what()).substr(0, std::string(error.what()).find('\n'));
  }
  return "none";
}

}  // namespace

TEST_CASE("with_metrics: a new key at the end, a comment above each metric") {
  CHECK(with_metrics(kHead, "s.yaml", proposals()) == std::string(kHead) + "\nmetrics:\n" + kAdded);
  const std::string open = std::string(kHead) + "repeats: 3  # all";
  CHECK(with_metrics(open, "s.yaml", proposals()) == open + "\n\nmetrics:\n" + kAdded);
}

TEST_CASE("with_metrics: behind the last entry, before comments and keys below") {
  const std::string begin = std::string(kHead) + "metrics:\n  # one\n  - {name: a, file: x, pattern: '(1)'}  # a\n";
  const std::string end = "\n  # about repeats\n# and more\nrepeats: 3\n";
  CHECK(with_metrics(begin + end, "s.yaml", proposals()) == begin + kAdded + end);
  CHECK(with_metrics(begin, "s.yaml", proposals()) == begin + kAdded);
  const std::string spread = std::string(kHead) + "metrics:\n- name: a\n  file: x\n\n  # group\n  pattern: '(1)'\nrepeats: 3\n";
  const std::string with = with_metrics(spread, "s.yaml", proposals());
  CHECK(with.find("pattern: '(1)'\n# train.log: 2 values") != std::string::npos);
  CHECK(with.find("\n- {name: loss,") != std::string::npos);
  CHECK(parse_experiment(with, "s.yaml", {}).work.metrics.size() == 2);
}

TEST_CASE("with_metrics: line ends and a byte order mark stay") {
  const std::string crlf = "experiment: s\r\nmetrics:\r\n  - {name: a, file: x, pattern: '(1)'}\r\nrepeats: 3\r\n";
  const std::string with = with_metrics(crlf, "s.yaml", proposals());
  CHECK(with.find("'(1)'}\r\n  # train.log") != std::string::npos);
  CHECK(with.find("(\\S+)'}\r\nrepeats: 3\r\n") != std::string::npos);
  const std::string marked =
      "\xef\xbb\xbf" + std::string(kHead) + "metrics:\n  - {name: a, file: x, pattern: '(1)'}\nrepeats: 3\n";
  CHECK(with_metrics(marked, "s.yaml", proposals()).starts_with("\xef\xbb\xbf" + std::string(kHead)));
  CHECK(with_metrics(marked, "s.yaml", proposals()).ends_with(std::string(kAdded) + "repeats: 3\n"));
}

TEST_CASE("with_metrics: refuses where text cannot be added safely") {
  CHECK(refusal(std::string(kHead) + "metrics: [{name: a, file: x, pattern: '(1)'}]\n") ==
        "s.yaml:4:1: error: lines can only be added to `metrics` whose entries stand in lines of their own");
  CHECK(refusal("{experiment: s, command: [a]}\n").starts_with("s.yaml:1:1: error: metrics can only be added to keys"));
  CHECK(refusal(std::string(kHead) + "metrics:\n  - {name: loss, file: x, pattern: '(1)'}\n") ==
        "s.yaml:5:12: error: there is a metric loss already");
  CHECK(refusal("a: [\n").starts_with("s.yaml:"));
}

TEST_CASE("metric_yaml: texts are quoted as YAML needs it") {
  Metric metric{"m", "a b.log", "'x': \"?(\\S+)", "%", "step", "pattern", "step"};
  metric.where = {{"rank", {Value::from_plain("0")}}};
  metric.take = "median";
  metric.skip = 1;
  CHECK(
      metric_yaml(metric) ==
      R"yaml({name: m, file: 'a b.log', pattern: "'x': \"?(\\S+)", unit: '%', where: {rank: 0}, index: step, series: step, take: median, skip: 1})yaml");
}

}  // namespace hpcbench

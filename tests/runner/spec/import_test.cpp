// `import:` and the sources of `metrics`: what reaches the experiment. What is refused: tests/golden/spec/import*.yaml.
#include <doctest/doctest.h>

#include "base/error.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

Experiment import_study(const std::string& rest, const ReadOptions& options = {}) {
  return parse_experiment("experiment: e\ncommand: [prog, \"{{size}}\"]\nmatrix: {size: [1, 2]}\n" + rest, "x.yaml", options);
}

}  // namespace

TEST_CASE("every key of an import reaches the experiment") {
  const Experiment experiment = import_study(R"yaml(import:
  - old/*.log
  - old/runs.csv
  - files: [a.log, "b*.log"]
    each: true
    run: {size: 2, nodes: 1}
    facts: {precision: bf16, gpus: 4}
    metrics: [{name: loss, column: train_loss, index: epoch, series: epoch}]
    outcome: timeout
    note: "table 2"
  - {table: t.csv, unit: {throughput: samples/s, train_s: min}, statistic: median, n: 5}
  - {run: {size: 1}, unit: min, values: {train_s: 12.98, eval_s: 63 min 48 s, "loss": 0.5}}
)yaml");
  const std::vector<Import>& imports = experiment.imports;
  REQUIRE(imports.size() == 5);
  CHECK((imports[0].each && !imports[0].is_table && imports[0].files == std::vector<std::string>{"old/*.log"}));
  CHECK((imports[1].is_table && !imports[1].each));
  CHECK(imports[2].files == std::vector<std::string>{"a.log", "b*.log"});
  CHECK(imports[2].each);
  CHECK(describe(imports[2].run) == "size=2, nodes=1");
  CHECK(imports[2].facts == std::map<std::string, std::string>{{"gpus", "4"}, {"precision", "bf16"}});
  REQUIRE(imports[2].metrics);
  CHECK(imports[2].metrics->front().source == "column");
  CHECK(imports[2].metrics->front().selector == "train_loss");
  CHECK(imports[2].metrics->front().index == "epoch");
  CHECK(imports[2].metrics->front().file == "*");
  CHECK(imports[2].outcome == "timeout");
  CHECK(imports[2].note == "table 2");
  CHECK(imports[2].place.line == 7);
  CHECK(imports[3].is_table);
  CHECK(imports[3].units.at("throughput") == "samples/s");
  CHECK((imports[3].statistic == "median" && imports[3].n == 5));
  REQUIRE(imports[4].values.size() == 3);
  CHECK(imports[4].values[0].value == doctest::Approx(778.8).epsilon(1e-15));
  CHECK(imports[4].values[0].unit == "s");
  CHECK(imports[4].values[0].printed == "12.98 min");
  CHECK(imports[4].values[1].value == 3828);
  CHECK(imports[4].values[1].printed == "63 min 48 s");
}

TEST_CASE("given values keep the decimals as written") {
  const auto read = [](const char* metric, const char* text, const char* unit = "") {
    return read_given_value(metric, text, unit);
  };
  CHECK(read("train_s", "5108.80")->value == 5108.8);
  CHECK(read("train_s", "5108.80")->printed == "5108.80 s");
  CHECK(read("train_s", "4.770", "min")->value == doctest::Approx(286.2).epsilon(1e-15));
  CHECK(read("train_s", "1:03:48")->value == 3828);
  CHECK(read("loss", "0.330")->printed == "0.330");
  CHECK(read("loss", "0.330")->unit.empty());
  CHECK(read("rate", "12", "samples/s")->unit == "samples/s");
  CHECK(read("samples_per_s", "12")->unit.empty());
  CHECK(read("bw", "900 MB/s", "GB/s")->unit == "MB/s");
  CHECK(read("bw", "9e2 MB/s")->value == 900);
  CHECK(read("bw", "900 MB/s")->printed == "900 MB/s");
  for (const char* bad : {"", "soon", "1,000", "12 parsecs", "nan", "5 s 3 min", "1:75:00"}) CHECK_FALSE(read("train_s", bad));
}

TEST_CASE("under a profile, imports of points that are not there are left out with a note") {
  ReadOptions laptop;
  laptop.profile = "laptop";
  const Experiment experiment = import_study(R"yaml(import:
  - {files: a.log, run: {size: 2}}
  - {files: b.log, run: {size: 1}}
profiles: {laptop: {matrix: {size: [1]}}}
)yaml",
                                             laptop);
  REQUIRE(experiment.imports.size() == 1);
  CHECK(experiment.imports[0].files.front() == "b.log");
  REQUIRE(experiment.notes.size() == 1);
  CHECK(experiment.notes[0].find("1 of 2 `import` entries") != std::string::npos);
}

TEST_CASE("where all axes have one value an import need not say which point it is") {
  const std::string head = "experiment: s\ncommand: [prog]\n";
  const std::string import = "import: [{values: {train_s: 3}}]\n";
  const Experiment one = parse_experiment(head + "matrix: {machine: [a], nodes: [2]}\n" + import, "x.yaml", {});
  REQUIRE(one.imports.size() == 1);
  CHECK(one.imports[0].run.empty());
  for (const char* const several : {"matrix: {machine: [a, b]}\n", "include: [{machine: a}, {machine: b}]\n"}) {
    CHECK_THROWS_WITH_AS(parse_experiment(head + several + import, "x.yaml", {}),
                         doctest::Contains("an import needs `run`: which point it is"), InputError);
  }
}

TEST_CASE("a pattern without a group is the number itself") {
  const Experiment read = parse_experiment(
      "experiment: s\ncommand: [prog]\nmatrix: {nodes: [1]}\nmetrics: [{name: a, file: x, pattern: '[0-9]+'}]\n", "x.yaml", {});
  REQUIRE(read.work.metrics.size() == 1);
  CHECK(read.work.metrics[0].selector == "[0-9]+");
}

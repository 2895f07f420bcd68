// Ranges of axes: the values that they stand for, and what may be laid over them.
#include <doctest/doctest.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

std::string texts_of_axis(const std::string& range, const ReadOptions& options = {}) {
  const Experiment experiment = parse_experiment("experiment: x\ncommand: [echo, \"{{n}}\"]\nmatrix: {n: " + range +
                                                     "}\nprofiles:\n  small: {matrix: {n: {from: 1, to: 3, step: 1}}}\n",
                                                 "x.yaml", options);
  std::vector<std::string> texts;
  for (const Value& value : experiment.matrix.front().values) {
    CHECK(value.is_number());
    texts.push_back(value.text());
  }
  return join(texts, " ");
}

}  // namespace

TEST_CASE("a range stands for exact decimals, its end among them") {
  CHECK(texts_of_axis("{from: 1, to: 64, times: 2}") == "1 2 4 8 16 32 64");
  CHECK(texts_of_axis("{from: 0, to: 1, step: 0.25}") == "0 0.25 0.5 0.75 1");
  CHECK(texts_of_axis("{from: 0, to: 1, step: 0.1}") == "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1");
  CHECK(texts_of_axis("{from: -1.5, to: 1, step: 0.5}") == "-1.5 -1 -0.5 0 0.5 1");
  CHECK(texts_of_axis("{from: 1e-4, to: 1, times: 10}") == "0.0001 0.001 0.01 0.1 1");
  CHECK(texts_of_axis("{from: 1.0e-5, to: 4e-5, step: 1e-5}") == "1e-5 2e-5 3e-5 4e-5");
  CHECK(texts_of_axis("{from: 100, to: 1000000, times: 10}") == "100 1000 10000 100000 1000000");
  CHECK(texts_of_axis("{from: 1, to: 3.375, times: 1.5}") == "1 1.5 2.25 3.375");
  CHECK(texts_of_axis("{from: 7, to: 7, step: 2}") == "7");
  CHECK(texts_of_axis("{from: 0.0, to: 999999999999999998, step: 499999999999999999}") ==
        "0 499999999999999999 999999999999999998");
}

TEST_CASE("a profile replaces a range whole, --set also one of its keys") {
  const std::string range = "{from: 1, to: 64, times: 2}";
  CHECK(texts_of_axis(range, {.profile = "small", .site = {}, .settings = {}}) == "1 2 3");
  CHECK(texts_of_axis("[5, 6]", {.profile = "small", .site = {}, .settings = {}}) == "1 2 3");
  CHECK(texts_of_axis(range, {.profile = {}, .site = {}, .settings = {"matrix.n=[3]"}}) == "3");
  CHECK(texts_of_axis(range, {.profile = {}, .site = {}, .settings = {"matrix.n.to=4"}}) == "1 2 4");
  CHECK(texts_of_axis(range, {.profile = {}, .site = {}, .settings = {"matrix.n={from: 2, to: 6, step: 2}"}}) == "2 4 6");
}

TEST_CASE("ranges of one zip vary together") {
  const Experiment experiment = parse_experiment(
      "experiment: x\ncommand: [echo, \"{{n}}\", \"{{m}}\"]\nzip:\n  - {n: {from: 1, to: 4, step: 1}, m: {from: 1, to: 8, "
      "times: 2}}\n",
      "x.yaml", {});
  REQUIRE(experiment.zip.size() == 1);
  CHECK(experiment.zip[0][1].values[3].text() == "8");
}

TEST_CASE("texts that only look like shell syntax are arguments") {
  for (const char* const command :
       {R"([bash, -c, "cat ~/x ${HOME}/y | wc > z; ls && true 2>&1"])", R"([find, ., -exec, ls, "{}", ;])",
        R"([bash, work.sh, ~/x, "|"])", R"([awk, "{print $NF}", a~b, x|y, "<pad>", "a > b", $HOMER])", R"([ls, ./~/x])"}) {
    CAPTURE(command);
    const std::string text = std::string("experiment: x\nmatrix: {nodes: [1]}\nlaunch: node\ncommand: ") + command + "\n";
    CHECK(parse_experiment(text, "x.yaml", {}).work.command.size() >= 2);
  }
}

#include "base/named_glob.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace hpcbench;

namespace {

/// The first reading as text: `batch=16 lr=1e-4 | others | folder`; with the number of readings where there are several.
std::string read_path(const std::string& glob, const std::string& path) {
  const auto readings = NamedGlob("", glob).read(path);
  if (readings.empty()) return "none";
  std::string text;
  for (const auto& [name, value] : readings.front().values) text += name + '=' + value + ' ';
  text += '|';
  for (const std::string& other : readings.front().others) text += ' ' + other;
  text += " | " + readings.front().folder;
  return readings.size() == 1 ? text : text + " (" + std::to_string(readings.size()) + ')';
}

}  // namespace

TEST_CASE("names in globs: values, folders and what other wildcards stand for") {
  CHECK(read_path("runs/run_bs{batch}_lr{lr}_n{nodes}_seed{repeat}/log.txt", "runs/run_bs64_lr4e-4_n1_seed2/log.txt") ==
        "batch=64 lr=4e-4 nodes=1 repeat=2 | | runs/run_bs64_lr4e-4_n1_seed2");
  CHECK(read_path("mlruns/*/{run}/metrics/*", "mlruns/41/0a4c/metrics/loss") == "run=0a4c | 41 | mlruns/41/0a4c");
  CHECK(read_path("multi/*/*/{run}/train.log", "multi/2026-02-17/08-30/3/train.log") ==
        "run=3 | 2026-02-17 08-30 | multi/2026-02-17/08-30/3");
  CHECK(read_path("logs/bs{batch}.log", "logs/bs16.log") == "batch=16 | | logs");
  CHECK(read_path("{run}.log", "a.log") == "run=a | | .");
  CHECK(read_path("a/*.log", "a/b.log") == "| | a");
  CHECK(read_path("{a}/{a}.log", "x/x.log") == "a=x | | x");
  CHECK(read_path("{a}/{a}.log", "x/y.log") == "none");
  CHECK(read_path("r[0-9]?_{a}", "r12_x") == "a=x | 1 2 | .");
  CHECK(read_path("r[0-9]?_{a}", "rx2_x") == "none");
}

TEST_CASE("names in globs: a path that can be read in several ways gives all of them") {
  CHECK(read_path("run_{model}_{lr}", "run_my_model_1e-4") == "model=my lr=model_1e-4 | | . (2)");
  CHECK(read_path("run_{model}_{lr}", "run_gpt_1e-4") == "model=gpt lr=1e-4 | | .");
  CHECK(read_path("{a}{b}", "xyz") == "a=x b=yz | | . (2)");
  CHECK(read_path("{a}/{b}", "x/y/z") == "none");  // no name holds a `/`
  CHECK(read_path("{a}-{b}-{c}-{d}-{e}-{f}-{g}-{h}", std::string(4000, '-')).starts_with("a=- b=- "));
}

TEST_CASE("names in globs: other braces are plain characters, and glob(3) sees stars") {
  CHECK(NamedGlob("/a[b]", "x{run}y/*.log").glob() == "/a\\[b\\]/x*y/*.log");
  CHECK(NamedGlob("/a", "/b/{run}").glob() == "/b/*");
  CHECK(NamedGlob("", "{a,b}{}{1}{run").names().empty());
  CHECK(read_path("{a,b}", "{a,b}") == "| | .");
  CHECK(NamedGlob("", "{b}{a}{b}").names() == std::vector<std::string>{"b", "a"});
}

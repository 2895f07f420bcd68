// The tree, placeholders, the space of points, and promises that hold for any text.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "base/error.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/placeholders.hpp"
#include "spec/points.hpp"
#include "spec/read_experiment.hpp"
#include "yaml/yaml_tree.hpp"

using namespace hpcbench;

namespace {

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (const Placeholder& placeholder : find_placeholders(text)) names.push_back(placeholder.name);
  return names;
}

using Names = std::vector<std::string>;

/// Points of a parsed experiment by listing them all: the plain way to what PointSpace answers.
std::vector<Bindings> all_points(const ParsedExperiment& parsed, bool excluded_too) {
  std::vector<Bindings> points = {{}};
  const auto extend = [&](const std::vector<ParsedAxis>& block) {
    std::vector<Bindings> longer;
    for (const Bindings& point : points) {
      for (std::size_t row = 0; row < block.front().axis.values.size(); ++row) {
        Bindings next = point;
        for (const ParsedAxis& axis : block) next.emplace_back(axis.axis.name, axis.axis.values[row]);
        longer.push_back(next);
      }
    }
    points = longer;
  };
  for (const ParsedAxis& axis : parsed.matrix) extend({axis});
  for (const std::vector<ParsedAxis>& block : parsed.zip) extend(block);
  std::erase_if(points, [&](const Bindings& point) {
    return !excluded_too && std::any_of(parsed.exclude.begin(), parsed.exclude.end(),
                                        [&](const ParsedCondition& exclude) { return matches(exclude.condition, point); });
  });
  return points;
}

ParsedAxis random_axis(const std::string& name, int values) {
  ParsedAxis axis;
  axis.axis.name = name;
  for (int value = 0; value < values; ++value) axis.axis.values.push_back(Value::from_integer(value));
  return axis;
}

Condition random_condition() {
  Condition condition;
  for (const char* const name : {"a", "b", "c", "d"}) {
    if (!*rc::gen::arbitrary<bool>()) continue;
    std::vector<Value> values;
    for (const int value : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4)))
      values.push_back(Value::from_integer(value));
    condition.emplace_back(name, values);
  }
  return condition;
}

}  // namespace

TEST_CASE("placeholders are names in two braces") {
  CHECK(names_in("--a={{a}} {{ b_2 }}{{c}}") == Names{"a", "b_2", "c"});
  CHECK(names_in("{{{x}}}") == Names{"x"});
  CHECK(names_in("{\"size\":{{x}}}") == Names{"x"});
  CHECK(names_in("{{.ID}} {{}} {{ }} {x} {{a b}} {{x} {{'y'}}").empty());
  CHECK(names_in("{{learning-rate}}") == Names{"learning-rate"});
  CHECK(find_placeholders("ab{{x}}").front().offset == 2);
  CHECK(names_in("{{open {{x}}") == Names{"x"});
}

TEST_CASE("undefined placeholders of one point") {
  Work work;
  work.command = {"prog", "{{size}} {{lr}} {{mode}}", "{{gpus}}{{mode}}{{repeat}}"};
  work.setup = {"cd {{folder}}"};
  work.parameters = {{"lr", Value::from_plain("1")}};
  CHECK(undefined_placeholders(work, {{"size", Value::from_plain("1")}}) == Names{"mode", "folder"});
}

TEST_CASE("the tree keeps quotes, places in characters, and what is empty") {
  const YamlSource source("t.yaml", "ä: [\"ö\", 'x', y]\nb:\n  - \n  - ~\n  - null\nc: |\n  text\n");
  Diagnostics diagnostics;
  const YamlNode root = parse_yaml(source, diagnostics);
  REQUIRE(root.is_map());
  const YamlNode& list = *root.find("ä");
  REQUIRE(list.items.size() == 3);
  CHECK(list.items[0].quoted);
  CHECK(list.items[1].quoted);
  CHECK_FALSE(list.items[2].quoted);
  CHECK(describe_place(list.items[1].location) == "t.yaml:1:10");
  const YamlNode& empty = *root.find("b");
  REQUIRE(empty.items.size() == 3);
  CHECK(describe_place(empty.items[0].location) == "t.yaml:3:3");
  CHECK(describe_place(empty.items[1].location) == "t.yaml:4:5");
  CHECK(describe_place(empty.items[2].location) == "t.yaml:5:5");
  CHECK(root.find("c")->text == "text\n");
  CHECK(root.find("c")->quoted);
}

TEST_CASE("a file of more than 1 MB is refused") {
  CHECK_THROWS_AS(parse_experiment("# " + std::string(1'000'000, 'x'), "big.yaml", {}), InputError);
}

TEST_CASE("the space of points answers as a list of all points does") {
  CHECK(rc::check("find_point and product_matches", [] {
    ParsedExperiment parsed;
    parsed.matrix = {random_axis("a", *rc::gen::inRange(1, 4)), random_axis("b", *rc::gen::inRange(1, 4))};
    const int rows = *rc::gen::inRange(1, 4);
    parsed.zip = {{random_axis("c", rows), random_axis("d", rows)}};
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) parsed.exclude.push_back({random_condition(), nullptr, false});
    const Condition wanted = random_condition();
    const Condition avoided = random_condition();
    const PointSpace space(parsed);
    const auto any = [&](const std::vector<Bindings>& points, bool avoid) {
      return std::any_of(points.begin(), points.end(),
                         [&](const Bindings& point) { return matches(wanted, point) && !(avoid && matches(avoided, point)); });
    };
    RC_ASSERT(space.product_matches(wanted) == any(all_points(parsed, true), false));
    RC_ASSERT(space.find_point(wanted).has_value() == any(all_points(parsed, false), false));
    RC_ASSERT(space.find_point(wanted, {&avoided}).has_value() == any(all_points(parsed, false), true));
    RC_ASSERT(space.product_size() == static_cast<long long>(all_points(parsed, true).size()));
  }));
}

TEST_CASE("any text gives an experiment or a located message") {
  const std::vector<std::string> words = {"experiment: a\n",
                                          "command: [p, \"{{x}}\"]\n",
                                          "matrix:\n",
                                          "  x: [1, 2]\n",
                                          "{{x}}",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          ": ",
                                          "- ",
                                          "\n",
                                          "  ",
                                          "'",
                                          "\"",
                                          "|\n",
                                          "&a ",
                                          "*a",
                                          "!t ",
                                          "---\n",
                                          "...\n",
                                          "#",
                                          "~",
                                          "zip:\n",
                                          "exclude: [{x: 1}]\n",
                                          "? ",
                                          ",",
                                          "\t",
                                          "%YAML 1.2\n",
                                          "\xC3\xA4",
                                          "\xFF",
                                          "trainer: mnist_rnn\n"};
  CHECK(rc::check("parse_experiment is total", [&] {
    std::string text;
    for (const int word : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, static_cast<int>(words.size())))) {
      text += words[static_cast<std::size_t>(word)];
    }
    try {
      parse_experiment(text, "x.yaml", {});
    } catch (const InputError& error) {
      RC_ASSERT(std::string(error.what()).find("error: ") != std::string::npos);
    }
  }));
}

TEST_CASE("a matrix of 10^6 points is checked without listing them") {
  std::string text = "experiment: big\ncommand: [p, \"{{a}}{{b}}\"]\nmatrix:\n";
  for (const char* const axis : {"a", "b"}) {
    text += std::string("  ") + axis + ": [0";
    for (int value = 1; value < 1000; ++value) text += ", " + std::to_string(value);
    text += "]\n";
  }
  text += "exclude:\n  - {a: 5, b: [1, 2]}\nbaseline: {a: 5}\n";
  const Experiment big = parse_experiment(text, "big.yaml", {});
  CHECK(big.matrix[1].values.size() == 1000);
  CHECK_THROWS_AS(parse_experiment(text + "limits: {configurations: 999999}\n", "big.yaml", {}), InputError);
}

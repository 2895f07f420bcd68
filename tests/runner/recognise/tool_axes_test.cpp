#include "recognise/tool_axes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace hpcbench {

namespace {

ToolColumn parameter(const std::string& name, std::vector<std::string> values) {
  return {ToolColumn::Role::parameter, name, name, std::move(values), ""};
}

ToolResults results_with(std::vector<ToolColumn> columns) {
  ToolResults results;
  results.runs = columns.front().values.size();
  results.columns = std::move(columns);
  return results;
}

std::vector<std::string> names_of(const ToolAxes& axes) {
  std::vector<std::string> names;
  for (const auto& axis : axes.axes) names.push_back(axis.name);
  return names;
}

using Names = std::vector<std::string>;
using Groups = std::vector<std::vector<std::size_t>>;

}  // namespace

TEST_CASE("what varies is an axis, what does not is a fact, seeds are repeats") {
  const ToolResults results = results_with({parameter("gpus", {"1", "1", "2", "2"}), parameter("seed", {"1", "2", "1", "2"}),
                                            parameter("batch", {"8", "8", "8", "8"})});
  const ToolAxes axes = find_axes(results);
  CHECK(names_of(axes) == Names{"gpus_per_node"});
  CHECK(axes.axes.front().values == Names{"1", "2"});
  REQUIRE(axes.facts.size() == 2);
  CHECK(axes.facts[0].name == "seed");
  CHECK(axes.constants.at("batch") == "8");
}

TEST_CASE("axes that vary together are one group") {
  const ToolResults results =
      results_with({parameter("bs", {"16", "16", "64", "64"}), parameter("lr", {"1e-4", "0.0001", "4e-4", "4e-4"}),
                    parameter("n", {"1", "4", "1", "4"})});
  const ToolAxes axes = find_axes(results);
  CHECK(axes.groups == Groups{{0, 1}, {2}});
  CHECK(axes.rows.front() == std::vector<Names>{{"16", "1e-4"}, {"64", "4e-4"}});
}

TEST_CASE("points that are no product stand one by one") {
  const ToolResults results = results_with({parameter("strategy", {"base", "ddp", "ddp"}), parameter("gpus", {"1", "1", "2"})});
  const ToolAxes axes = find_axes(results);
  CHECK(axes.groups == Groups{{0, 1}});
  CHECK(axes.rows.front() == std::vector<Names>{{"base", "1"}, {"ddp", "1"}, {"ddp", "2"}});
}

TEST_CASE("what follows from several others is a fact") {
  const ToolResults results =
      results_with({parameter("batch", {"8", "8", "16", "16", "8"}), parameter("gpus", {"1", "2", "1", "2", "1"}),
                    parameter("global_batch", {"8", "16", "16", "32", "8"})});
  const ToolAxes axes = find_axes(results);
  CHECK(names_of(axes) == Names{"batch", "gpus_per_node"});
  CHECK(axes.notes.front() == "`global_batch` follows from other parameters, and is no axis");
}

TEST_CASE("names of runs, paths and values that some runs lack are no axes") {
  const ToolResults results = results_with(
      {parameter("run_name", {"a", "b", "c"}), parameter("output_dir", {"/x", "/y", "/z"}), parameter("lr", {"1", "", "2"})});
  CHECK(find_axes(results).axes.empty());
}

TEST_CASE("columns of tables that do not tell are sorted by their values") {
  ToolResults results = results_with({{ToolColumn::Role::either, "loss", "loss", {"1.5", "2.5", "3.5", "4.5"}, ""},
                                      {ToolColumn::Role::either, "optimizer", "optimizer", {"a", "b", "c", "d"}, ""},
                                      {ToolColumn::Role::either, "depth", "depth", {"1", "2", "3", "4"}, ""},
                                      {ToolColumn::Role::either, "x", "x", {"1", "1", "2", "2"}, ""}});
  decide_roles(results);
  CHECK(results.columns[0].role == ToolColumn::Role::number);
  for (const std::size_t i : {1, 2, 3}) CHECK(results.columns[i].role == ToolColumn::Role::parameter);
}

TEST_CASE("names become those that a study can have") {
  std::vector<std::string> used;
  CHECK(name_of_column("val/loss", used) == "val_loss");
  CHECK(name_of_column("val loss", used) == "val_loss_2");
  CHECK(name_of_column("2nd", used) == "x_2nd");
  CHECK(name_of_column("%", used) == "x_");
}

}  // namespace hpcbench

// Computed values in tables: columns beside the axes that choose rows and tell none apart.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "report/columns.hpp"
#include "report/formats/formats.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

struct DerivedStudy {
  Experiment experiment;
  Plan plan;
  std::vector<AttemptRecord> records;
};

DerivedStudy derived_study(const std::string& more) {
  DerivedStudy study;
  study.experiment = parse_experiment(R"(
experiment: e
command: [p, "{{tp}}"]
matrix: {gpus_per_node: [1, 2, 4], tp: [1, 2]}
exclude: [tp > gpus]
derive: {dp: gpus // tp, half: 0.5}
)" + more,
                                      "e.yaml", {});
  study.plan = make_plan(study.experiment);
  for (const Configuration& each : study.plan.configurations) {
    AttemptRecord record;
    record.experiment = "e";
    record.key = {each.id, RunName{RunKind::repeat, 1}, 1};
    record.axes = study.plan.bindings(each);
    record.gpus = each.gpus();
    record.state = State::succeeded;
    record.metrics = {{"wall_s", 8.0 / each.gpus()}};
    study.records.push_back(record);
  }
  return study;
}

std::string first_cells(const DerivedStudy& study, const ReportOptions& options = {}) {
  const Table table = build_table(study.experiment, study.plan, study.records, options);
  std::string text;
  for (const Grid& grid : make_grids(table)) {
    for (std::size_t i = 0; i < 3; ++i) text += grid.columns.at(i).heading + ' ';
    for (const GridRow& row : grid.rows) text += "| " + row.cells.at(0) + ' ' + row.cells.at(1) + ' ' + row.cells.at(2) + ' ';
  }
  return text;
}

}  // namespace

TEST_CASE("computed values that vary are columns, can be sorted by, and choose rows") {
  CHECK(first_cells(derived_study("")) == "gpus_per_node tp dp | 1 1 1 | 2 1 2 | 2 2 1 | 4 1 4 | 4 2 2 ");
  CHECK(first_cells(derived_study("report: {sort: [-dp], columns: [dp, tp, half]}\n")) ==
        "dp tp half | 4 1 0.5 | 2 1 0.5 | 2 2 0.5 | 1 1 0.5 | 1 2 0.5 ");
  CHECK(first_cells(derived_study("report: {where: \"dp * tp == 2 and dp > 1\"}\n")) == "gpus_per_node tp dp | 2 1 2 ");
  CHECK(first_cells(derived_study("report: {where: {dp: [2, 4]}}\n")) == "gpus_per_node tp dp | 2 1 2 | 4 1 4 | 4 2 2 ");
  ReportOptions only;
  only.only = {parse_selection("dp >= 2", "--only"), parse_selection("tp=2", "--where")};
  CHECK(first_cells(derived_study(""), only) == "gpus_per_node tp dp | 4 2 2 ");
}

TEST_CASE("a condition of a report that holds nowhere is an error in its place") {
  const DerivedStudy study = derived_study("report: {where: dp > 8}\n");
  CHECK_THROWS_WITH_AS(
      check_report(study.experiment, study.plan),
      "e.yaml:7:17: error: this is true for no configuration\n  | report: {where: dp > 8}\n  |                 ^", InputError);
}

TEST_CASE("computed values stand in the JSON and CSV, and separate no lines of a fit") {
  const DerivedStudy study = derived_study("baseline: {gpus_per_node: 1}\nexecutor: local\n");
  const Table table = build_table(study.experiment, study.plan, study.records, {});
  CHECK(table.columns == std::vector<std::string>{"gpus_per_node", "tp"});
  CHECK(table.rows.front().derived.front().second.text() == "1");
  CHECK(print_json(table, {}).find("\"derived\":{\"dp\":1,\"half\":0.5}") != std::string::npos);
  CHECK(print_csv(table, {}).find("gpus_per_node,tp,nodes,dp,half,gpus,") == 0);
}

// `report.rows`: runs that print a table of sizes. n counts runs, comparisons join equal sizes, warnings come once.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "report/columns.hpp"
#include "report/formats/formats.hpp"
#include "report/samples.hpp"
#include "report/table.hpp"
#include "spec/read_experiment.hpp"
#include "study.hpp"

using namespace hpcbench;

namespace {

struct SizedStudy {
  Experiment experiment;
  Plan plan;
  std::vector<AttemptRecord> records;

  Table table(const ReportOptions& options = {}) const { return build_table(experiment, plan, records, options); }
  AttemptRecord& run(std::size_t configuration, int number) {
    return records[configuration * 6 + static_cast<std::size_t>(number) - 1];
  }
};

/// Two configurations with six runs each: run r takes (10 + r) * size s, those of `fast` half of it at sizes above 1.
SizedStudy sized_study(const std::string& report = "report: {metric: t_s, rows: size, at: 8}\n",
                       const std::vector<long long>& sizes = {1, 8, 64}) {
  SizedStudy study;
  study.experiment = parse_experiment(R"(
experiment: e
command: [p, "{{kind}}"]
matrix: {kind: [slow, fast]}
repeats: 6
baseline: {kind: slow}
metrics: [{name: t_s, file: f, pattern: '(?P<size>\d+) (?P<t_s>.*)', unit: s, series: size, index: size},
          {name: bw, file: f, pattern: '(?P<size>\d+) (.*)', unit: GB/s, series: size, index: size}, {name: other, file: f, pattern: x}]
)" + report,
                                      "e.yaml", {});
  study.plan = make_plan(study.experiment);
  for (const Configuration& each : study.plan.configurations) {
    const Bindings axes = study.plan.bindings(each);
    const bool fast = find_binding(axes, "kind")->text() == "fast";
    for (int run = 1; run <= 6; ++run) {
      AttemptRecord record;
      record.experiment = "e";
      record.key = {each.id, RunName{RunKind::repeat, run}, 1};
      record.axes = axes;
      record.state = State::succeeded;
      record.metrics = {{"wall_s", 1}, {"t_s", -1}, {"bw", -1}, {"other", 5}};
      for (const char* name : {"bw", "t_s"}) {
        for (const long long size : sizes)
          record.series.push_back({name, size, static_cast<double>((10 + run) * size) / (fast && size > 1 ? 2 : 1)});
      }
      study.records.push_back(record);
    }
  }
  return study;
}

/// `fast size=8: n=6 48..`, one a row.
std::vector<std::string> inner_lines(const Table& table) {
  std::vector<std::string> lines;
  for (const Row& row : table.inner_rows) {
    lines.push_back(find_binding(row.axes, "kind")->text() + ' ' + row.axes.back().second.text() +
                    " n=" + std::to_string(row.counts.n) +
                    (row.summary ? " median=" + std::to_string(row.summary->median).substr(0, 5) : "") +
                    (row.speedup ? " x" + std::to_string(row.speedup->value).substr(0, 4) : ""));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("inner axis: the table has the value at `at`, and a table of its own all of them") {
  const Table table = sized_study().table();
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0].counts.n == 6);
  CHECK(table.rows[0].summary->median == 108);
  CHECK(table.rows[1].summary->median == 54);
  CHECK(table.rows[1].speedup->value == doctest::Approx(2));
  CHECK(inner_lines(table) == Lines{"slow 1 n=6 median=13.50 x1.00", "slow 8 n=6 median=108.0 x1.00",
                                    "slow 64 n=6 median=864.0 x1.00", "fast 1 n=6 median=13.50 x1.00",
                                    "fast 8 n=6 median=54.00 x2.00", "fast 64 n=6 median=432.0 x2.00"});
  CHECK(table.inner_rows[3].speedup->resolved == false);
  CHECK(table.inner_rows[5].speedup->resolved == true);
  CHECK(table.inner_rows[4].runs.size() == 6);
  CHECK(table.inner_rows[4].counts.outcomes.at(State::succeeded) == 6);  // that at `at` is the row itself
}

TEST_CASE("inner axis: a speedup joins equal sizes, by blocks too, and needs both sides") {
  SizedStudy study = sized_study("report: {metric: t_s, rows: size, at: 8, paired: true}\n");
  for (int run = 1; run <= 6; ++run) {
    std::erase_if(study.run(0, run).series, [](const SeriesPoint& point) { return point.index == 64; });
  }
  const Table table = study.table();
  CHECK(inner_lines(table) == Lines{"slow 1 n=6 median=13.50 x1.00", "slow 8 n=6 median=108.0 x1.00",
                                    "fast 1 n=6 median=13.50 x1.00", "fast 8 n=6 median=54.00 x2.00",
                                    "fast 64 n=6 median=432.0"});
}

TEST_CASE("inner axis: a run without the value has none there, and one warning says so for the configuration") {
  SizedStudy study = sized_study();
  std::erase_if(study.run(1, 2).series, [](const SeriesPoint& point) { return point.index == 8; });
  const Table table = study.table();
  CHECK(table.rows[1].counts.n == 5);
  REQUIRE(warns(table, "no-value"));
  CHECK(warning_of(table, "no-value").rows.size() == 1);
  CHECK(warning_of(table, "no-value").seen.find("t_s missing in 1 of 6 runs that succeeded: no value at size = 8") !=
        std::string::npos);
  CHECK(inner_lines(table).back() == "fast 64 n=6 median=432.0 x2.00");
}

TEST_CASE("inner axis: no run has the value") {
  CHECK_THROWS_WITH_AS(sized_study("report: {metric: t_s, rows: size, at: 16}\n").table(),
                       "error: no run has a value of `t_s` at size = 16; there are: 1, 8, 64\nName one of them in `report.at`",
                       InputError);
  SizedStudy none = sized_study();
  none.records.clear();
  CHECK(none.table().rows.size() == 2);
  CHECK(none.table().inner_rows.empty());
  SizedStudy half = sized_study();
  half.records.resize(6);
  CHECK(inner_lines(half.table()) == Lines{"slow 1 n=6 median=13.50 x1.00", "slow 8 n=6 median=108.0 x1.00",
                                           "slow 64 n=6 median=864.0 x1.00", "fast 8 n=0"});
}

TEST_CASE("inner axis: other metrics of the series follow `at`, those of none are as they were") {
  ReportOptions options;
  options.metric = "bw";
  options.metric_columns = {"t_s", "other"};
  const Table bandwidth = sized_study().table(options);
  CHECK(bandwidth.rows[0].summary->median == 108);
  CHECK(bandwidth.rows[0].metrics.at("t_s") == 108);
  CHECK(bandwidth.inner_rows.size() == 6);
  CHECK(bandwidth.inner_rows[4].speedup->value == doctest::Approx(0.5));  // of GB/s, larger values are better
  options.metric = "other";
  const Table other = sized_study().table(options);
  CHECK_FALSE(other.inner);
  CHECK(other.inner_rows.empty());
  CHECK(other.rows[0].summary->median == 5);
}

TEST_CASE("inner axis: a time limit is that of the run, not of a size") {
  SizedStudy study = sized_study();
  study.run(1, 6).state = State::timeout;
  study.run(1, 6).time_limit_s = 10'000;
  const Table table = study.table();
  CHECK(table.rows[1].counts.censored == 0);
  CHECK(table.rows[1].counts.n == 5);
}

TEST_CASE("inner axis: the methods say what stands for a run, and nothing of limits") {
  const std::string methods = sized_study().table().methods;
  CHECK(methods.find("Outliers are flagged and kept. Each run gives a value for each size, that at size = 8 stands for it, and "
                     "each interval of the table by size is of one size alone.") != std::string::npos);
  CHECK(methods.find("time limit") == std::string::npos);
}

TEST_CASE("inner axis: too many values have no table, and a note") {
  std::vector<long long> sizes(1'001);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = static_cast<long long>(i);
  const Table table = sized_study("report: {metric: t_s, rows: size, at: 8}\n", sizes).table();
  CHECK(table.inner_rows.empty());
  CHECK(std::count(table.notes.begin(), table.notes.end(),
                   "t_s has 1001 values of size, and a table of its own at most 1000: it is left out") == 1);
}

TEST_CASE("inner axis: each format prints it") {
  const Table table = sized_study().table();
  const std::vector<Grid> grids = make_grids(table);
  REQUIRE(grids.size() == 2);
  CHECK(grids[1].heading == "t_s by size");
  CHECK(grids[1].header() == Lines{"kind", "size", "n", "median (s)", "interval", "speedup", "speedup interval"});
  CHECK(print_text(table, {}).find("Each value is that at size = 8; a table by size follows") != std::string::npos);
  CHECK(print_markdown(table, {}).find("#### t_s by size\n\n| kind | size | n |") != std::string::npos);
  CHECK(print_latex(table, {}).find("(t_s by size)") == std::string::npos);  // escaped
  CHECK(print_latex(table, {}).find("(t\\_s by size)") != std::string::npos);
  const std::string csv = print_csv(table, {});
  CHECK(csv.starts_with("kind,nodes,size,n,median,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 7);
  CHECK(print_json(table, {}).find(R"("inner": {"name":"size","at":8})") != std::string::npos);
  CHECK(print_json(table, {}).find(R"("size":64},"n":6,"median":864,)") != std::string::npos);
  CHECK(print_as(table, "html").find("<details><summary>t_s by size") == std::string::npos);
  CHECK(print_as(table, "html").find("<p>t_s at size = 8: of the rows shown, kind=fast has the largest speedup") !=
        std::string::npos);
  std::vector<long long> sizes(101);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = static_cast<long long>(i) + 1;
  const Table large = sized_study("report: {metric: t_s, rows: size, at: 8}\n", sizes).table();
  CHECK(print_as(large, "html").find("<details><summary>t_s by size: 202 rows</summary>") != std::string::npos);
}

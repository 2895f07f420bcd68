#include "report/formats/formats.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "report/columns.hpp"
#include "runner/report/study.hpp"
#include "spec/report_columns.hpp"

using namespace hpcbench;

namespace {

/// Compares with tests/golden/report/NAME; HPCBENCH_RENEW_GOLDEN=1 writes it anew: read the diff.
void check_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/report/" + name;
  if (std::getenv("HPCBENCH_RENEW_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream golden;
  golden << file.rdbuf();
  CAPTURE(path);
  CHECK(golden.str() == text);
}

/// Everything that can go wrong in one table: timeouts, failures, too few runs, nothing at all, awkward values.
MadeStudy troubled_study() {
  MadeStudy study = empty_study();
  study.experiment.name = "troubled";
  study.experiment.description = "";
  study.experiment.report.time_unit = "min";
  study.plan.axes = {"nodes", "gpus_per_node", "strategy", "note"};
  study.plan.varied = {"gpus_per_node", "strategy", "note"};
  study.plan.configurations.clear();
  study.experiment.baseline.emplace_back("note", std::vector<Value>{Value::from_plain("plain")});
  study.add_configuration({"1", "1", "baseline", "plain"});
  study.add_configuration({"1", "2", "ddp", "a|b\nc, \"d\""});
  study.add_configuration({"1", "4", "ddp", "日本語"});
  study.add_configuration({"1", "2", "fsdp", "_x_ *y* <z>"});
  study.add_configuration({"1", "4", "fsdp", "never ran"});
  study.add_runs(0, {725.5, 718.25, 731, 722, 719.5, 728}, 0, 4);
  study.add_runs(1, {401.5, 398.25, 406}, 1, 4);
  study.add_runs(2, {3000, 3100, 3050, 1, 1, 3060}, 2, 4);
  study.add_runs(3, {610, 1, 1, 620}, 3, 4);
  for (AttemptRecord& record : study.records) {
    if (record.metrics["train_s"] == 1) {
      record.state = State::timeout;
      record.time_limit_s = 7200;
      record.metrics = {};
    }
  }
  study.records[9].state = State::out_of_memory;
  study.records[9].metrics = {};
  for (std::size_t i = 15; i < study.records.size(); ++i) {
    if (study.records[i].state == State::succeeded) study.records[i].facts["precision"] = "bf16";
  }
  return study;
}

nlohmann::json parse(const Table& table) { return nlohmann::json::parse(print_as(table, "json")); }

}  // namespace

TEST_CASE("the columns that an experiment may name are those that a report has, each once") {
  std::vector<std::string> shown;
  for (const Column& column : all_columns()) shown.emplace_back(column.name);
  std::vector<std::string> named = report_column_names();
  std::sort(shown.begin(), shown.end());
  std::sort(named.begin(), named.end());
  CHECK(shown == named);
  CHECK(std::set<std::string>(named.begin(), named.end()).size() == named.size());
}

TEST_CASE("golden files: each format of a clean and of a troubled study") {
  const Table clean = clean_study().table();
  const Table troubled = troubled_study().table();
  for (const auto& [format, ending] :
       {std::pair("text", "txt"), {"markdown", "md"}, {"latex", "tex"}, {"html", "html"}, {"csv", "csv"}, {"json", "json"}}) {
    check_golden(std::string("digits.") + ending, print_as(clean, format));
    check_golden(std::string("troubled.") + ending, print_as(troubled, format));
  }
}

TEST_CASE("the same rows in each format") {
  const Table table = troubled_study().table();
  const nlohmann::json json = parse(table);
  CHECK(json["rows"].size() == 5);
  for (const std::string id : {"a", "b", "c", "d", "e"}) {
    CHECK(print_as(table, "json").find("\"config_id\":\"000000000000000" + id) != std::string::npos);
  }
  for (const std::string format : {"text", "markdown", "csv"}) {
    CAPTURE(format);
    const std::string text = print_as(table, format);
    for (const std::string part : {"plain", "a|b", "日本語", "never ran", ">120"}) {
      const bool escaped = format == "markdown" && part == "a|b";
      CHECK(text.find(escaped ? "a\\|b<br>c" : part) != std::string::npos);
    }
  }
}

TEST_CASE("json: the fields that programs rely on") {
  const nlohmann::json report = parse(troubled_study().table());
  CHECK(report["schema"] == 1);
  CHECK(report["unit"] == "s");
  CHECK(report["baseline"]["strategy"] == "baseline");
  const auto& rows = report["rows"];
  CHECK(rows[0]["median"] == 723.75);  // in seconds, whatever the table prints
  CHECK(rows[0]["axes"]["gpus_per_node"] == 1);
  CHECK(rows[0]["speedup"]["value"] == 1);
  CHECK(rows[0]["speedup"]["low"].is_null());
  CHECK(rows[2]["censored_at_s"] == 7200);
  CHECK(rows[3]["median"].is_null());
  CHECK(rows[3]["speedup_below"] == 723.75 / 7200);
  CHECK(rows[4]["outcomes"]["succeeded"] == 0);
  CHECK(rows[4]["runs"].empty());
  CHECK(rows[1]["runs"][0]["attempt"] == "a1");
  CHECK(rows[1]["runs"][0]["run"] == "r01");
  const std::set<std::string> states = {"succeeded", "timeout"};
  for (const auto& [state, count] : rows[3]["outcomes"].items()) CHECK(states.count(state) == 1);
  for (const auto& warning : report["warnings"]) {
    for (const char* key : {"code", "rows", "seen", "why", "advice"}) CHECK(warning.contains(key));
  }
}

TEST_CASE("json: numbers as axis values keep their exact form, doubles read back as they were") {
  MadeStudy study = clean_study();
  study.plan.axes.push_back("lr");
  for (Configuration& configuration : study.plan.configurations) configuration.values.push_back(Value::from_plain("0.00001"));
  study.records[0].metrics["train_s"] = 0.1 + 0.2;
  const Table table = study.table();
  CHECK(print_as(table, "json").find("\"lr\":1e-5}") != std::string::npos);
  CHECK(parse(table)["rows"][0]["runs"][0]["value"].get<double>() == 0.1 + 0.2);
}

TEST_CASE("csv: the header that programs rely on") {
  const std::string text = print_as(clean_study().table(), "csv");
  CHECK(text.substr(0, text.find('\n')) ==
        "strategy,nodes,gpus_per_node,gpus,n,median,low,high,coverage,speedup,speedup_low,speedup_high,ratio_of_medians,"
        "efficiency,train_loss,validation_loss,nodes_seen,outcomes,warnings");
}

TEST_CASE("efficiency exists where the sizes differ") {
  const auto study_of = [](const std::string& gpus) {
    MadeStudy study = empty_study();
    study.plan.configurations.clear();
    study.add_runs(study.add_configuration({"1", "1", "baseline"}), {10, 11, 12, 13, 14, 15}, 0, 2);
    study.add_runs(study.add_configuration({"1", gpus, "ddp"}), {5, 6, 7, 8, 9, 10}, 1, 2);
    return study;
  };
  const auto mentions = [](const MadeStudy& study, const std::string& format) {
    const std::string text = print_as(study.table(), format);
    return text.find("efficiency") != std::string::npos || text.find("Efficiency") != std::string::npos;
  };
  MadeStudy same = study_of("1");
  CHECK(same.table().rows[1].speedup);
  CHECK_FALSE(mentions(same, "text"));
  CHECK_FALSE(mentions(same, "markdown"));
  CHECK(mentions(same, "csv"));  // its column
  CHECK_FALSE(same.table().rows[0].efficiency);
  CHECK_FALSE(same.table().rows[1].efficiency);
  CHECK(study_of("2").table().rows[0].efficiency == 1.0);
  CHECK(mentions(study_of("2"), "markdown"));
  same.experiment.report.scaling = Scaling::weak;  // the work cannot grow with a size that is the same
  CHECK_FALSE(mentions(same, "markdown"));
}

TEST_CASE("csv: what is absent is an empty cell") {
  const std::string text = print_as(empty_study().table(), "csv");
  CHECK(text.find(",-") == std::string::npos);
  CHECK(text.find("baseline,1,1,1,0,,,,,") != std::string::npos);
}

TEST_CASE("csv: an axis keeps a value that looks like an absent one") {
  MadeStudy study = clean_study();
  study.plan.axes.push_back("suffix");
  for (Configuration& configuration : study.plan.configurations) configuration.values.push_back(Value::from_plain("-"));
  CHECK(print_as(study.table(), "csv").find("baseline,1,1,-,1,6,") != std::string::npos);
}

TEST_CASE("columns and groups of text and markdown; csv and json stay complete") {
  MadeStudy study = clean_study();
  const std::string csv = print_as(study.table(), "csv");
  study.experiment.report.columns = {"median", "strategy", "karp_flatt", "warnings"};
  study.experiment.report.group_by = {"gpus_per_node"};
  const Table table = study.table();
  const std::string text = print_as(table, "text");
  CHECK(text.find("gpus_per_node=1\nmedian (s)  strategy  Karp-Flatt  warnings\n") != std::string::npos);
  CHECK(text.find("gpus_per_node=2\nmedian (s)  strategy  Karp-Flatt  warnings\n") != std::string::npos);
  CHECK(print_as(table, "markdown").find("#### gpus_per_node=2\n\n| median (s) | strategy |") != std::string::npos);
  CHECK(print_as(table, "csv") == csv);
  study.experiment.report.columns.clear();
  CHECK(print_as(study.table(), "text").find("gpus_per_node=2\nstrategy  gpus  n  median (s)") != std::string::npos);
}

TEST_CASE("without a baseline there are no speedup columns") {
  MadeStudy study = clean_study();
  study.experiment.baseline.clear();
  const Table table = study.table();
  CHECK(print_as(table, "text").find("peedup") == std::string::npos);
  CHECK(print_as(table, "csv").find(",speedup,") != std::string::npos);
  CHECK(parse(table)["baseline"].is_null());
  CHECK(parse(table)["rows"][0]["speedup"].is_null());
}

TEST_CASE("whole seconds stay whole seconds where no interval says how many digits count") {
  MadeStudy study = empty_study();
  study.add_run(0, 1, 36, 0);
  study.add_run(1, 1, 18.25, 1);
  study.experiment.report.columns = {"median"};
  const std::string text = print_as(study.table(), "text");
  CHECK(text.find("\n        36\n      18.2\n") != std::string::npos);
}

TEST_CASE("an empty study prints in each format") {
  for (const ReportFormat& format : report_formats()) CHECK_FALSE(print_as(empty_study().table(), format.name).empty());
}

TEST_CASE("a column can have a heading of its own, times and speedups another form") {
  MadeStudy study = clean_study();
  study.experiment.report.columns = {"strategy=Estrategia", "median=Tiempo (min)", "speedup=Speedup", "time_saved"};
  study.experiment.report.time_unit = "min";
  study.experiment.report.speedup_style = "x";
  for (AttemptRecord& record : study.records) record.metrics["train_s"] *= 60;
  const std::string text = print_as(study.table(), "text");
  CHECK(text.find("Estrategia  Tiempo (min)  Speedup  time saved\n") != std::string::npos);
  CHECK(text.find("baseline              12    1.00x           -\n") != std::string::npos);
  CHECK(text.find("ddp                  6.4     2.0x        49 %\n") != std::string::npos);  // 1 - 6.4 / 12.5
}

TEST_CASE("h:mm:ss") {
  MadeStudy study = empty_study();
  study.add_run(0, 1, 3828, 0);
  study.add_run(1, 1, 59.7, 1);
  study.experiment.report.columns = {"median"};
  study.experiment.report.time_unit = "h:mm:ss";
  const std::string text = print_as(study.table(), "text");
  CHECK(text.find("median (h:mm:ss)\n") != std::string::npos);
  CHECK(text.find(" 1:03:50\n") != std::string::npos);  // three significant digits of one run: 3830 s
  CHECK(text.find(" 0:01:00\n") != std::string::npos);
  study.records[1].metrics["train_s"] = 1e20;
  CHECK(print_as(study.table(), "text").find("\n100000000000000000000 s\n") != std::string::npos);
}

TEST_CASE("ratios that round to nothing are no 0, in each column") {
  MadeStudy study = clean_study();
  set_metric(study, 6, "train_s", {5000, 5001, 5002, 5003, 5004, 5005});
  study.experiment.report.columns = {"speedup", "speedup_low", "ratio_of_medians", "efficiency"};
  CHECK(print_as(study.table(), "text").find("  <0.01        <0.01             <0.01       <0.01\n") != std::string::npos);
  study.experiment.report.columns = {"speedup", "speedup_interval"};
  set_metric(study, 6, "train_s", {10, 12, 400, 410, 420, 430});
  CHECK(print_as(study.table(), "text").find("  <0.1  [<0.1, 1.") != std::string::npos);
}

TEST_CASE("published values keep their digits, all rows the same") {
  MadeStudy study = empty_study();
  study.add_run(0, 1, 778.8, 0);  // 12.98 min
  study.add_run(1, 1, 4.77 * 60, 1);
  Table table = study.table();
  for (Row& row : table.rows) row.source = "imported";
  table.time_unit = "min";
  table.shown_columns = {"median", "ratio_of_medians"};
  table.speedup_style = "x";
  const std::string text = print_as(table, "text");
  CHECK(text.find("12.98             1.00x\n") != std::string::npos);
  CHECK(text.find("4.77             2.72x\n") != std::string::npos);
  table.time_unit = "h:mm:ss";
  CHECK(print_as(table, "text").find("0:12:59") != std::string::npos);
}

TEST_CASE("metrics and facts as columns") {
  MadeStudy study = clean_study();
  study.experiment.report.columns = {"accuracy=Acc", "fact:precision", "metric:wall_s"};
  Table table = study.table();
  for (Row& row : table.rows) {
    row.metrics = {{"accuracy", 0.9}, {"wall_s", 12.5}};
    row.facts = {{"precision", "fp32"}};
  }
  const std::string text = print_as(table, "text");
  CHECK(text.find("Acc  precision  wall_s\n") != std::string::npos);
  CHECK(text.find("0.9  fp32         12.5\n") != std::string::npos);
  study.experiment.report.columns = {"acuracy"};
  CHECK_THROWS_WITH_AS(study.table(), doctest::Contains("(did you mean `accuracy`?)"), InputError);
}

TEST_CASE("sorted by a column, what is absent last in either direction") {
  MadeStudy study = troubled_study();
  const auto order = [&](const std::string& key) {
    study.experiment.report.sort = {key};
    std::string ids;
    for (const Row& row : study.table().rows) ids += row.config_id.back();
    return ids;
  };
  CHECK(order("median") == "bacde");  // 401.5, 723.75, 3100, >7200, none
  CHECK(order("-median") == "dcabe");
  CHECK(order("-gpus_per_node") == "cebda");
  CHECK(order("config_id") == "abcde");
  CHECK_THROWS_WITH_AS(order("medain"), doctest::Contains("(did you mean `median`?)"), InputError);
}

TEST_CASE("csv has the columns that were asked for, and the warnings") {
  MadeStudy study = troubled_study();
  study.experiment.report.columns = {"note=a, note", "speedup"};
  PrintSettings settings;
  settings.columns_asked = true;
  const std::string text = print_as(study.table(), "csv", settings);
  CHECK(text.substr(0, text.find('\n')) == "\"a, note\",speedup,warnings");
  CHECK(text.find("never ran,,\n") != std::string::npos);
}

TEST_CASE("every text format says warnings, fits, methods and provenance") {
  Table table = troubled_study().table();
  table.fits = {{"amdahl", "strategy=ddp", 0.125, 0.01, 1, {{2, 1.5, 1.6, -0.1}}, {{8, {}, 4.2, {}}}}};
  table.methods = "What was done.";
  table.rules = {{1, "Say n", RuleVerdict::not_met, "n is 1"}};
  table.provenance = {{"torch", {"2.8.0", "2.9.0"}}};
  for (const std::string format : {"text", "markdown", "latex", "html"}) {
    CAPTURE(format);
    const std::string plain = print_as(table, format);
    for (const std::string part :
         {"few-repeats", "failures", "confounded", "serial fraction 0.125", "8 gpus extrapolated 4.20"}) {
      CHECK(plain.find(part) != std::string::npos);
    }
    CHECK(plain.find("What was done.") == std::string::npos);
    PrintSettings settings;
    settings.methods = settings.provenance = true;
    const std::string all = print_as(table, format, settings);
    for (const std::string part : {"What was done.", "not met: Say n. n is 1", "torch: 2.8.0, 2.9.0"}) {
      CHECK(all.find(part) != std::string::npos);
    }
  }
  const nlohmann::json json = parse(table);
  CHECK(json["fits"][0]["extrapolated"][0]["speedup"].is_null());
  CHECK(json["rules"][0]["verdict"] == "not_met");
  CHECK(json["provenance"]["torch"][1] == "2.9.0");
}

TEST_CASE("names of users stay text in HTML, LaTeX and links") {
  MadeStudy study = clean_study();
  study.experiment.name = "<script>alert(1)</script>";
  study.experiment.description = "\\input{/etc/passwd} % $x$ & [b] \"q\" {{title}}";
  study.records[6].state = State::failed;
  study.records[6].reason = "</td><img src=x onerror=\"alert(1)\">\x1b[31m";
  const Table table = study.table();
  PrintSettings settings;
  settings.runs_path = "../a b/\"javascript:alert(1)\"";
  const std::string html = print_as(table, "html", settings);
  CHECK(html.find("<script>alert") == std::string::npos);
  CHECK(html.find("<img") == std::string::npos);
  CHECK(html.find("&lt;/td&gt;&lt;img src=x onerror=&quot;alert(1)&quot;&gt;\\x1b[31m") != std::string::npos);
  CHECK(html.find("href=\"./../a%20b/%22javascript%3Aalert%281%29%22/") != std::string::npos);
  CHECK(html.find("{{title}}") != std::string::npos);  // no text is read as a template
  const std::string latex = print_as(table, "latex");
  CHECK(latex.find("\\textbackslash{}input\\{/etc/passwd\\} \\% \\$x\\$ \\& {[}b{]} \\textquotedbl{}q") != std::string::npos);
  CHECK(latex.find("\\input") == std::string::npos);
  study.experiment.description = "--fp16 ---a ,,b -1 1, 2 [x](https://example.org) $y$";
  const Table options = study.table();
  CHECK(print_as(options, "latex").find(": -{}-fp16 -{}-{}-a ,{},b -1 1, 2 {[}x{]}(https") != std::string::npos);
  CHECK(print_as(options, "markdown").find(": --fp16 ---a ,,b -1 1, 2 [x\\](https://example.org) \\$y\\$\n") !=
        std::string::npos);
}

TEST_CASE("HTML needs its template, and says so") {
  CHECK_THROWS_WITH_AS(print_html(clean_study().table(), {}), doctest::Contains("report.html.mustache"), InputError);
}

TEST_CASE("an axis that has the name of a column stands beside it") {
  MadeStudy study = empty_study();
  study.plan.axes = {"nodes", "gpus_per_node", "n"};
  study.plan.varied = {"gpus_per_node", "n"};
  study.experiment.baseline.clear();
  study.plan.configurations.clear();
  study.add_run(study.add_configuration({"1", "1", "100"}), 1, 10, 0);
  study.add_run(study.add_configuration({"1", "2", "200"}), 1, 10, 1);
  const std::string markdown = print_as(study.table(), "markdown");
  CHECK(markdown.find("| gpus_per_node | axis:n | gpus | n | median (s) |") != std::string::npos);
  CHECK(markdown.find("| 2 | 200 | 2 | 1 |") != std::string::npos);
  CHECK(print_as(study.table(), "csv").starts_with("nodes,gpus_per_node,axis:n,gpus,n,median"));
  CHECK(print_as(study.table(), "csv").find("\n1,2,200,2,1,") != std::string::npos);
  study.experiment.report.columns = {"n", "column:n", "column:median=time"};
  CHECK(print_as(study.table(), "markdown").find("| axis:n | n | time |") != std::string::npos);
  study.experiment.report.columns = {"column:accuracy"};
  CHECK_THROWS_AS(study.table(), InputError);
}

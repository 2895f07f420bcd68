#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/text.hpp"
#include "runner/report/study.hpp"

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
Study troubled_study() {
  Study study = empty_study();
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
      record.metrics.clear();
    }
  }
  study.records[9].state = State::out_of_memory;
  study.records[9].metrics.clear();
  for (std::size_t i = 15; i < study.records.size(); ++i) {
    if (study.records[i].state == State::succeeded) study.records[i].facts["precision"] = "bf16";
  }
  return study;
}

nlohmann::json parse(const Table& table) { return nlohmann::json::parse(print_as(table, "json")); }

}  // namespace

TEST_CASE("golden files: each format of a clean and of a troubled study") {
  const Table clean = clean_study().table();
  const Table troubled = troubled_study().table();
  for (const auto& [format, ending] : {std::pair("text", "txt"), {"markdown", "md"}, {"csv", "csv"}, {"json", "json"}}) {
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
  Study study = clean_study();
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
        "efficiency,train_loss,validation_loss,outcomes,warnings");
}

TEST_CASE("columns and groups of text and markdown; csv and json stay complete") {
  Study study = clean_study();
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
  Study study = clean_study();
  study.experiment.baseline.clear();
  const Table table = study.table();
  CHECK(print_as(table, "text").find("peedup") == std::string::npos);
  CHECK(print_as(table, "csv").find(",speedup,") != std::string::npos);
  CHECK(parse(table)["baseline"].is_null());
  CHECK(parse(table)["rows"][0]["speedup"].is_null());
}

TEST_CASE("whole seconds stay whole seconds where no interval says how many digits count") {
  Study study = empty_study();
  study.add_run(0, 1, 36, 0);
  study.add_run(1, 1, 18.25, 1);
  study.experiment.report.columns = {"median"};
  const std::string text = print_as(study.table(), "text");
  CHECK(text.find("\n        36\n      18.2\n") != std::string::npos);
}

TEST_CASE("an empty study prints in each format") {
  for (const ReportFormat& format : report_formats()) CHECK_FALSE(format.print(empty_study().table()).empty());
}

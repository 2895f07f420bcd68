// Results of other runners: JUBE, ReFrame, Ramble and Benchpark; and logs whose names hold values.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/value.hpp"
#include "recognise/known_tools.hpp"
#include "recognise/log_metrics.hpp"
#include "recognise/path_names.hpp"
#include "recognise/tool_tables.hpp"

namespace hpcbench {

namespace {

using Role = ToolColumn::Role;

/// The outcomes in ReFrame's reports and databases.
FlowYaml outcome_of_reframe() {
  return outcome_by("result", {{"pass", "succeeded"},
                               {"success", "succeeded"},
                               {"fail", "failed"},
                               {"failure", "failed"},
                               {"xpass", "succeeded"},
                               {"xfail", "failed"},
                               {"skip", "ignore"},
                               {"aborted", "cancelled"}});
}

/// `time_avg[s]` is time_avg in s.
void take_unit_of_heading(ToolColumn& column) {
  std::string name, unit;
  if (!RE2::FullMatch(column.name, R"((.*)\[(.*)\])", &name, &unit)) return;
  column.name = name;
  column.unit = unit;
}

}  // namespace

namespace {

/// Rows with fewer matches of a pattern than others failed: the largest count is the outcome of whole runs. False where all
/// have the same.
bool has_outcome(const ToolColumn& column, ToolResults& results) {
  if (!column.name.ends_with("_cnt") || results.entries.front().find("outcome") != nullptr) return false;
  std::string most;
  for (const std::string& value : column.values) {
    if (most.empty() || Value::from_plain(most) < Value::from_plain(value)) most = value;
  }
  const auto is_less = [&](const std::string& value) { return value != most; };
  if (std::none_of(column.values.begin(), column.values.end(), is_less)) return false;
  results.entries.front().set("outcome", outcome_by(column.name, {{most, "succeeded"}, {"", "failed"}, {"*", "failed"}}));
  results.left_out.push_back(
      fmt::format("rows with fewer than {} matches ({}) count as failed, as JUBE's tables have no outcome", most, column.name));
  return true;
}

}  // namespace

std::optional<ToolResults> read_jube_result(const ToolFiles& files) {
  const std::vector<std::string> tables = files.matching(R"((.*/)?result/[^/]+\.(dat|csv))");
  const std::vector<std::string> benchmarks = files.matching(R"((.*/)?configuration\.xml)");
  std::vector<std::string> found;
  for (const std::string& table : tables) {
    const std::string home = table.substr(0, table.rfind("result/"));
    if (files.has(home + "configuration.xml")) found.push_back(table);
  }
  if (found.empty()) return std::nullopt;
  // Of one benchmark: its last run; of several tables the one in CSV with most rows.
  const std::string last_home = found.back().substr(0, found.back().rfind("result/"));
  ToolResults results;
  std::string best;
  ToolTable table;
  for (const std::string& file : found) {
    if (!file.starts_with(last_home)) {
      results.left_out.push_back(fmt::format("{}: of an earlier run of JUBE", file));
      continue;
    }
    ToolTable one = read_csv_table(files, file);
    const bool is_csv = !files.head(file).starts_with('|') && files.head(file).find("\n|") == std::string::npos;
    if (one.headings.size() < 2 || (!best.empty() && one.rows.size() * 2 + (is_csv ? 1 : 0) <= table.rows.size() * 2)) {
      results.left_out.push_back(fmt::format("{}: another table of the same run", file));
      continue;
    }
    if (!best.empty()) results.left_out.push_back(fmt::format("{}: another table of the same run", best));
    best = file;
    table = std::move(one);
  }
  if (best.empty()) {
    throw InputError(
        printable(fmt::format("error: {}: tables of JUBE in the style pretty are not read: write `jube result -s csv ... > "
                              "result.csv` and import that file",
                              found.front())));
  }
  results.is_table = true;
  results.runs = table.rows.size();
  results.entries = {table_entry(files, {best})};
  const std::string configuration = files.text(last_home + "configuration.xml");
  for (const std::string& heading : table.headings) {
    const bool is_parameter =
        configuration.find(fmt::format("<parameter name=\"{}\"", heading)) != std::string::npos || heading.starts_with("jube_");
    ToolColumn column = table_column(table, heading, is_parameter ? Role::parameter : Role::either);
    take_unit_of_heading(column);
    if (!is_parameter && are_numbers(column.values)) column.role = Role::number;
    if (column.role == Role::number && has_outcome(column, results)) continue;
    results.columns.push_back(std::move(column));
  }
  return results;
}

namespace {

/// Members of a test case that ReFrame sets in each test; all others are parameters and variables of the test.
bool is_of_reframe(const std::string& name) {
  static const std::set<std::string> kNames = {"build_jobid",
                                               "build_stderr",
                                               "build_stdout",
                                               "fail_phase",
                                               "fail_reason",
                                               "filename",
                                               "fixture",
                                               "job_completion_time",
                                               "job_completion_time_unix",
                                               "job_stderr",
                                               "job_stdout",
                                               "result",
                                               "run_index",
                                               "scheduler",
                                               "session_uuid",
                                               "uuid",
                                               "outputdir",
                                               "job_exitcode",
                                               "job_submit_time",
                                               "jobid",
                                               "build_locally",
                                               "build_time_limit",
                                               "descr",
                                               "display_name",
                                               "exclusive_access",
                                               "executable",
                                               "hashcode",
                                               "local",
                                               "max_pending_time",
                                               "name",
                                               "prefix",
                                               "short_name",
                                               "sourcepath",
                                               "sourcesdir",
                                               "stagedir",
                                               "strict_check",
                                               "time_limit",
                                               "unique_name",
                                               "use_multithreading",
                                               "fail_severe",
                                               "num_cases",
                                               "num_failures",
                                               "num_aborted",
                                               "num_skipped",
                                               "job_nodelist",
                                               "modules",
                                               "env_vars",
                                               "extra_resources",
                                               "info",
                                               "version",
                                               "tags",
                                               "variables",
                                               "check_result"};
  return kNames.contains(name) || name.starts_with("time_");
}

/// Perf values of a report: `perfvalues/box:default:step_ms/0`, with its unit in the fifth place.
void add_perf_values(const ToolTable& table, ToolResults& results) {
  std::map<std::string, int> partitions;
  for (const std::string& heading : table.headings) {
    std::string test;
    if (RE2::FullMatch(heading, R"(perfvalues/(.*):[^:/]+/0)", &test)) ++partitions[test];
  }
  if (partitions.size() > 1)
    results.left_out.push_back(fmt::format("metrics of {} partitions stay apart: each has its own columns", partitions.size()));
  for (const std::string& heading : table.headings) {
    std::string test, name;
    if (!RE2::FullMatch(heading, R"(perfvalues/(.*):([^:/]+)/0)", &test, &name)) continue;
    ToolColumn column = table_column(table, heading, Role::number);
    const std::vector<std::string> units = table.column(heading.substr(0, heading.size() - 1) + '4');
    const auto unit = std::find_if(units.begin(), units.end(), [](const std::string& text) { return !text.empty(); });
    if (unit != units.end() && *unit != "1") column.unit = *unit;
    column.name = partitions.size() > 1 ? test + '_' + name : name;
    results.columns.push_back(std::move(column));
  }
}

void add_test_parameters(const ToolTable& table, const std::string& prefix, ToolResults& results) {
  for (const std::string& heading : table.headings) {
    const std::string name = heading.starts_with(prefix) ? heading.substr(prefix.size()) : heading;
    if (heading.find('/') != std::string::npos || is_of_reframe(name)) continue;
    ToolColumn column = table_column(table, heading, Role::parameter);
    column.name = name;
    results.columns.push_back(std::move(column));
  }
}

}  // namespace

std::optional<ToolResults> read_reframe_report(const ToolFiles& files) {
  std::vector<std::string> found;
  for (const std::string& file : files.matching(R"(.*\.json)")) {
    if (!json_values_at(files.text(file), "/session_info/data_version").empty() &&
        !json_values_at(files.text(file), "/runs/*/testcases/*").empty())
      found.push_back(file);
  }
  if (found.empty()) return std::nullopt;
  const std::string rows = "/runs/*/testcases/*";
  ToolTable table;
  for (const std::string& file : found) table.add(read_json_table(files, file, rows));
  ToolResults results = results_of_table(files, found, table);
  FlowYaml& entry = results.entries.front();
  entry.set("rows", rows);
  entry.set("outcome", outcome_of_reframe());
  entry.set("columns", FlowYaml::map({{"id", "uuid"}}));
  add_test_parameters(table, "", results);
  add_perf_values(table, results);
  return results;
}

std::optional<ToolResults> read_reframe_database(const ToolFiles& files) {
  for (const std::string& file : files.matching(R"(.*\.(db|sqlite3?))")) {
    const std::string cases = "FROM sessions s, json_each(s.json_blob, '$.runs') r, json_each(r.value, '$.testcases') t";
    const ToolTable documents = read_query_table(files, file, "SELECT t.value AS testcase " + cases);
    if (documents.rows.empty()) continue;
    std::map<std::string, bool> scalars;
    std::map<std::string, std::string> units;  // of perf values
    for (const auto& row : documents.rows) {
      JsonMembers members, values;
      if (!scan_object(row.front(), members)) continue;
      for (const JsonMember& member : members) {
        if (json_scalar_text(member.value)) scalars[json_member_name(member)] = true;
      }
      if (!scan_object(find_member(members, "perfvalues"), values)) continue;
      for (const JsonMember& value : values) {
        const std::string unit = json_text_at(value.value, "/4").value_or("");
        units[json_member_name(value)] = unit == "1" ? "" : unit;
      }
    }
    std::string query = "SELECT t.value ->> '$.uuid' AS id, t.value ->> '$.result' AS result";
    for (const auto& [name, is_scalar] : scalars) {
      if (!is_of_reframe(name) && RE2::FullMatch(name, R"(\w+)")) query += fmt::format(", t.value ->> '$.{0}' AS {0}", name);
    }
    for (const auto& [name, unit] : units) {
      if (name.find_first_of("\"'") == std::string::npos)
        query += fmt::format(", t.value ->> '$.perfvalues.\"{0}\"[0]' AS \"perf {0}\"", name);
    }
    query += ' ' + cases;
    const ToolTable table = read_query_table(files, file, query);
    ToolResults results = results_of_table(files, {file}, table);
    FlowYaml& entry = results.entries.front();
    entry.set("query", query);
    entry.set("outcome", outcome_of_reframe());
    entry.set("columns", FlowYaml::map({{"id", "id"}}));
    for (const std::string& heading : table.headings) {
      if (heading.starts_with("perf ")) {
        ToolColumn column = table_column(table, heading, Role::number, units[heading.substr(5)]);
        column.name = units.size() == 1 || heading.rfind(':') == std::string::npos ? heading.substr(5)
                                                                                   : heading.substr(heading.rfind(':') + 1);
        results.columns.push_back(std::move(column));
      } else if (heading != "id" && heading != "result") {
        results.columns.push_back(table_column(table, heading, Role::parameter));
      }
    }
    return results;
  }
  return std::nullopt;
}

std::optional<ToolResults> read_reframe_perflogs(const ToolFiles& files) {
  std::map<std::string, std::vector<std::string>> by_header;
  for (const std::string& file : files.matching(R"(.*\.log)")) {
    const std::string head = files.head(file);
    const std::string header = head.substr(0, head.find('\n'));
    if (RE2::PartialMatch(header, R"(^(result|job_completion_time|check_\w+)\|)") &&
        header.find("_value|") != std::string::npos)
      by_header[header].push_back(file);
  }
  if (by_header.empty()) return std::nullopt;
  const auto most = std::max_element(by_header.begin(), by_header.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  ToolTable table;
  for (const std::string& file : most->second) table.add(read_csv_table(files, file));
  ToolResults results = results_of_table(files, most->second, table);
  for (const auto& [header, found] : by_header) {
    if (header != most->first) results.left_out.push_back(fmt::format("{}: a test with other columns", join(found, ", ")));
  }
  FlowYaml& entry = results.entries.front();
  if (table.has("result")) {
    entry.set("outcome", outcome_by("result", {{"pass", "succeeded"},
                                               {"success", "succeeded"},
                                               {"fail", "failed"},
                                               {"failure", "failed"},
                                               {"xpass", "succeeded"},
                                               {"xfail", "failed"}}));
  }
  for (const std::string& heading : table.headings) {
    std::string name;
    if (RE2::FullMatch(heading, R"((\w+)_value)", &name)) {
      ToolColumn column = table_column(table, heading, Role::number);
      column.name = name;
      const std::vector<std::string> units = table.column(name + "_unit");
      if (!units.empty() && units.front() != "1") column.unit = units.front();
      results.columns.push_back(std::move(column));
    } else if (!is_of_reframe(heading) && !RE2::FullMatch(heading, R"(.*_(unit|ref|lower(_thres)?|upper(_thres)?|result))")) {
      ToolColumn column = table_column(table, heading, Role::parameter);
      for (std::string& value : column.values) value = value == "null" || value == "None" ? "" : value;
      results.columns.push_back(std::move(column));
    }
  }
  return results;
}

std::optional<ToolResults> read_ramble(const ToolFiles& files) {
  std::vector<std::string> found;
  for (const std::string& file : files.matching(R"(.*\.json)")) {
    if (!json_values_at(files.text(file), "/experiments/*/RAMBLE_STATUS").empty()) found.push_back(file);
  }
  if (found.empty()) return std::nullopt;
  std::vector<std::string> left_out;
  if (const auto latest = std::find_if(found.begin(), found.end(),
                                       [](const std::string& file) { return file.ends_with("results.latest.json"); });
      latest != found.end()) {
    if (found.size() > 1) left_out.push_back(fmt::format("{} other results: results.latest.json counts", found.size() - 1));
    found = {*latest};
  }
  ToolTable table;
  for (const std::string& file : found) table.add(read_json_table(files, file, "/experiments/*", {"name"}));
  ToolResults results = results_of_table(files, found, table);
  results.left_out = std::move(left_out);
  FlowYaml& entry = results.entries.front();
  entry.set("rows", "/experiments/*");
  entry.set("outcome", outcome_by("RAMBLE_STATUS", {{"SUCCESS", "succeeded"}, {"FAILED", "failed"}, {"UNKNOWN", "ignore"}}));
  entry.set("columns", FlowYaml::map({{"run", "name"}}));
  static const std::set<std::string> kOwn = {"name",
                                             "RAMBLE_STATUS",
                                             "N_REPEATS",
                                             "experiments_file",
                                             "experiment_name",
                                             "experiment_status",
                                             "experiment_namespace",
                                             "application_namespace",
                                             "workload_namespace",
                                             "experiment_template_name",
                                             "workspace_hash",
                                             "workspace_name"};
  for (const std::string& heading : table.headings) {
    std::string context, name;
    if (RE2::FullMatch(heading, R"(CONTEXTS/\[name=(.*)\]/foms/\[name=(.*)\]/value)", &context, &name)) {
      ToolColumn column = table_column(table, heading, Role::number);
      const std::vector<std::string> units = table.column(heading.substr(0, heading.size() - 5) + "units");
      const auto unit = std::find_if(units.begin(), units.end(), [](const std::string& text) { return !text.empty(); });
      if (unit != units.end()) column.unit = *unit;
      column.name = context == "null" ? name : context + ' ' + name;
      if (are_numbers(column.values)) results.columns.push_back(std::move(column));
    } else if (heading.starts_with("RAMBLE_VARIABLES/") ||
               (heading.find('/') == std::string::npos && !kOwn.contains(heading) && !heading.starts_with("simplified_"))) {
      ToolColumn column = table_column(table, heading, Role::parameter);
      column.name = heading.substr(heading.rfind('/') + 1);
      results.columns.push_back(std::move(column));
    }
  }
  return results;
}

std::optional<ToolResults> read_plain_table(const ToolFiles& files) {
  if (files.all().size() != 1 || !RE2::FullMatch(files.all().front(), R"((?i).*\.(csv|tsv)(\.gz|\.zst)?)")) return std::nullopt;
  const std::string& file = files.all().front();
  const ToolTable table = read_csv_table(files, file);
  if (table.headings.size() < 2 || table.rows.empty()) return std::nullopt;
  ToolResults results = results_of_table(files, {file}, table);
  for (const std::string& heading : table.headings) {
    ToolColumn column = table_column(table, heading, Role::either);
    take_unit_of_heading(column);
    results.columns.push_back(std::move(column));
  }
  return results;
}

std::optional<ToolResults> read_named_logs(const ToolFiles& files) {
  std::map<std::string, std::vector<std::string>> by_name;  // logs of one name in several folders, or of one ending
  for (const std::string& file : files.matching(R"(.*\.(log|out|txt|stdout|csv|jsonl?))")) {
    const std::size_t slash = file.rfind('/');
    by_name[slash == std::string::npos ? "*" + file.substr(file.rfind('.')) : file.substr(slash)].push_back(file);
  }
  PathNames best;
  for (const auto& [name, logs] : by_name) {
    PathNames names = find_path_names(logs);
    const bool has_values = std::any_of(names.columns.begin(), names.columns.end(), [](const ToolColumn& column) {
      return column.name != "repeat" && column.name != "run";
    });
    const bool is_log = name.find(".log") != std::string::npos || name.find("out") != std::string::npos;
    const bool is_better = names.paths.size() > best.paths.size() || (names.paths.size() == best.paths.size() && is_log);
    if (has_values && is_better) best = std::move(names);
  }
  if (best.paths.empty()) return std::nullopt;
  ToolResults results;
  results.runs = best.paths.size();
  results.columns = best.columns;
  results.left_out = best.left_out;
  results.entries = {FlowYaml::map({{"files", files.named(best.pattern)}})};
  const std::string& longest = *std::max_element(best.paths.begin(), best.paths.end(), [&](const auto& a, const auto& b) {
    return files.text(a).size() < files.text(b).size();
  });
  std::string glob = best.pattern.substr(best.pattern.rfind('/') == std::string::npos ? 0 : best.pattern.rfind('/') + 1);
  RE2::GlobalReplace(&glob, R"(\{\w+\})", "*");
  add_log_metrics(files, {std::string()}, {longest}, results, glob);
  for (ToolColumn& column : results.columns) column.values.resize(results.runs);
  return results;
}

}  // namespace hpcbench

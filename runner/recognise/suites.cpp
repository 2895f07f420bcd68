// Benchmark suites and their JSON: hyperfine, Google Benchmark, pytest-benchmark, nvbench, nccl-tests, vLLM.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "recognise/known_tools.hpp"
#include "recognise/tool_tables.hpp"

namespace hpcbench {

namespace {

using Role = ToolColumn::Role;

/// JSON files whose first bytes have all of these members.
std::vector<std::string> json_files_with(const ToolFiles& files, std::initializer_list<const char*> members) {
  std::vector<std::string> found;
  for (const std::string& file : files.matching(R"(.*\.json(\.gz|\.zst)?)")) {
    const std::string text = is_json(files.text(file)) ? files.text(file) : "";
    JsonMembers top;
    if (text.empty() || !scan_object(text, top)) continue;
    if (std::all_of(members.begin(), members.end(), [&](const char* name) { return !find_member(top, name).empty(); }))
      found.push_back(file);
  }
  return found;
}

/// Those of them in which a pointer names a value.
std::vector<std::string> json_files_with(const ToolFiles& files, std::initializer_list<const char*> members,
                                         const std::string& pointer) {
  std::vector<std::string> found = json_files_with(files, members);
  std::erase_if(found, [&](const std::string& file) { return json_values_at(files.text(file), pointer).empty(); });
  return found;
}

/// The rows of several files as one table.
ToolTable rows_of_files(const ToolFiles& files, const std::vector<std::string>& found, const std::string& rows,
                        const std::vector<std::string>& keys = {}) {
  ToolTable table;
  for (const std::string& file : found) table.add(read_json_table(files, file, rows, keys));
  return table;
}

ToolResults results_of_rows(const ToolFiles& files, const std::vector<std::string>& found, const std::string& rows,
                            const ToolTable& table) {
  ToolResults results = results_of_table(files, found, table);
  if (!rows.empty()) results.entries.front().set("rows", rows);
  return results;
}

/// Adds columns whose heading begins with `prefix`, named without it.
void add_parameters(const ToolTable& table, const std::string& prefix, ToolResults& results) {
  for (const std::string& heading : table.headings) {
    if (!heading.starts_with(prefix)) continue;
    ToolColumn column = table_column(table, heading, Role::parameter);
    column.name = heading.substr(prefix.size());
    results.columns.push_back(std::move(column));
  }
}

void add_number(const ToolTable& table, const std::string& heading, const std::string& name, const std::string& unit,
                ToolResults& results) {
  if (!table.has(heading)) return;
  ToolColumn column = table_column(table, heading, Role::number, unit);
  column.name = name;
  results.columns.push_back(std::move(column));
}

}  // namespace

std::optional<ToolResults> read_hyperfine(const ToolFiles& files) {
  const std::vector<std::string> found = json_files_with(files, {"results"}, "/results/*/times/*");
  if (found.empty()) return std::nullopt;
  const std::string rows = "/results/*/times/*";
  const ToolTable table = rows_of_files(files, found, rows);
  ToolResults results = results_of_rows(files, found, rows, table);
  results.entries.front().set("outcome", outcome_by("exit_codes/*", {{"0", "succeeded"}, {"", "succeeded"}, {"*", "failed"}}));
  add_parameters(table, "parameters/", results);
  const bool has_parameters = !results.columns.empty();
  results.columns.push_back(table_column(table, "command", Role::parameter));
  if (!has_parameters) results.columns.back().name = "benchmark";
  if (has_parameters) results.columns.pop_back();
  add_number(table, "times", "time_s", "s", results);
  results.left_out.emplace_back("mean, median, min, max, user and system times of each command, as all its times are runs");
  return results;
}

namespace {

/// Arguments in the names of benchmarks: `BM_sort/n:64/threads:4`, or by their place, `BM_copy/1024`.
void add_benchmark_arguments(const ToolTable& table, ToolResults& results) {
  const std::vector<std::string> names = table.column("run_name");
  std::vector<std::string> families;
  std::set<std::string> arguments;
  std::size_t places = 0;
  for (const std::string& name : names) {
    const std::vector<std::string> parts = split(name, '/');
    families.push_back(parts.front());
    std::size_t plain = 0;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::size_t colon = parts[i].find(':');
      if (colon == std::string::npos) {
        ++plain;
      } else {
        arguments.insert(parts[i].substr(0, colon));
      }
    }
    places = std::max(places, plain);
  }
  const auto add = [&](const std::string& name, const std::string& pattern) {
    ToolColumn column{Role::parameter, name, FlowYaml::map({{"column", "run_name"}, {"pattern", pattern}}), {}, ""};
    for (const std::string& text : names) {
      std::string value;
      RE2::PartialMatch(text, pattern, &value);
      column.values.push_back(value);
    }
    results.columns.push_back(std::move(column));
  };
  const bool is_whole = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return split(name, '/').size() == split(names.front(), '/').size();
  });
  if (!is_whole || places > 1) {  // benchmarks with other arguments each: their whole names
    results.columns.push_back(table_column(table, "run_name", Role::parameter));
    results.columns.back().name = "benchmark";
    return;
  }
  add("benchmark", R"(^([^/]+))");
  for (const std::string& argument : arguments) add(argument, fmt::format(R"(/{}:([^/]+))", RE2::QuoteMeta(argument)));
  if (places == 1) add("arg", R"(/([^/:]+)$)");
}

}  // namespace

std::optional<ToolResults> read_google_benchmark(const ToolFiles& files) {
  const std::vector<std::string> found = json_files_with(files, {"context", "benchmarks"}, "/benchmarks/*/run_type");
  if (found.empty()) return std::nullopt;
  ToolTable table = rows_of_files(files, found, "/benchmarks/*");
  const std::size_t all = table.rows.size();
  table.keep_rows("run_type", {"iteration"});
  ToolResults results = results_of_rows(files, found, "/benchmarks/*", table);
  FlowYaml& entry = results.entries.front();
  entry.set("where", FlowYaml::map({{"run_type", "iteration"}}));
  if (all > table.rows.size()) {
    results.left_out.push_back(fmt::format("{} of run_type aggregate: hpcbench computes medians from the repetitions",
                                           counted(static_cast<long long>(all - table.rows.size()), "row", "rows")));
  }
  if (table.has("error_occurred"))
    entry.set("outcome", outcome_by("error_occurred", {{"true", "failed"}, {"false", "succeeded"}, {"", "succeeded"}}));
  entry.set("unit", FlowYaml::map({{"real_time", FlowYaml::map({{"column", "time_unit"}})},
                                   {"cpu_time", FlowYaml::map({{"column", "time_unit"}})}}));
  add_benchmark_arguments(table, results);
  const std::vector<std::string> units = table.column("time_unit");
  const std::string unit = units.empty() ? "ns" : units.front();
  add_number(table, "real_time", "real_time", unit, results);
  add_number(table, "cpu_time", "cpu_time", unit, results);
  static const std::set<std::string> kOwn = {"name",
                                             "run_name",
                                             "run_type",
                                             "family_index",
                                             "per_family_instance_index",
                                             "repetitions",
                                             "repetition_index",
                                             "threads",
                                             "iterations",
                                             "real_time",
                                             "cpu_time",
                                             "time_unit",
                                             "error_occurred",
                                             "error_message",
                                             "aggregate_name",
                                             "aggregate_unit",
                                             "label"};
  for (const std::string& heading : table.headings) {
    if (kOwn.contains(heading) || heading.find('/') != std::string::npos || !are_numbers(table.column(heading))) continue;
    if (RE2::FullMatch(heading,
                       "date|executable|num_cpus|mhz_per_cpu|cpu_scaling_enabled|library_build_type|json_schema_version"))
      continue;
    add_number(table, heading, heading, heading == "bytes_per_second" ? "bytes/s" : "", results);
  }
  return results;
}

std::optional<ToolResults> read_pytest_benchmark(const ToolFiles& files) {
  const std::vector<std::string> found = json_files_with(files, {"machine_info", "benchmarks"}, "/benchmarks/*/stats/median");
  if (found.empty()) return std::nullopt;
  const ToolTable table = rows_of_files(files, found, "/benchmarks/*");
  ToolResults results = results_of_rows(files, found, "/benchmarks/*", table);
  FlowYaml& entry = results.entries.front();
  entry.set("statistic", "median");
  entry.set("columns", FlowYaml::map({{"n", "stats/rounds"}}));
  std::vector<std::string> functions;
  for (const std::string& name : table.column("name")) functions.push_back(name.substr(0, name.find('[')));
  results.columns.push_back(
      {Role::parameter, "benchmark", FlowYaml::map({{"column", "name"}, {"pattern", R"(^([^\[]+))"}}), functions, ""});
  add_parameters(table, "params/", results);
  add_number(table, "stats/median", "median_s", "s", results);
  results.left_out.emplace_back(
      "mean, stddev, min, max and single rounds: a row shows the median of its rounds, which are no repeats");
  return results;
}

std::optional<ToolResults> read_nvbench(const ToolFiles& files) {
  const std::vector<std::string> found = json_files_with(files, {"devices", "benchmarks"}, "/benchmarks/*/states/*");
  if (found.empty()) return std::nullopt;
  const std::string rows = "/benchmarks/*/states/*";
  const ToolTable table = rows_of_files(files, found, rows, {"tag", "name"});
  ToolResults results = results_of_rows(files, found, rows, table);
  results.entries.front().set("outcome", outcome_by("is_skipped", {{"false", "succeeded"}, {"true", "failed"}}));
  for (const std::string& heading : table.headings) {
    std::string name;
    if (RE2::FullMatch(heading, R"(axis_values/\[name=(.*)\]/value)", &name)) {
      results.columns.push_back(table_column(table, heading, Role::parameter));
      results.columns.back().name = name;
    }
  }
  static const std::vector<std::tuple<const char*, const char*, const char*>> kNumbers = {
      {"nv~1cold~1time~1gpu~1mean", "gpu_time_s", "s"},
      {"nv~1cold~1time~1gpu~1median", "gpu_median_s", "s"},
      {"nv~1cold~1time~1cpu~1mean", "cpu_time_s", "s"},
      {"nv~1batch~1time~1gpu~1mean", "batch_gpu_time_s", "s"},
      {"nv~1cold~1bw~1global~1bytes_per_second", "global_bytes_per_s", "bytes/s"},
      {"nv~1cold~1bw~1item_rate", "items_per_s", "items/s"}};
  for (const auto& [tag, name, unit] : kNumbers)
    add_number(table, fmt::format("summaries/[tag={}]/data/[name=value]/value", tag), name, unit, results);
  results.columns.push_back(table_column(table, "device", Role::parameter));
  if (json_values_at(files.text(found.front()), "/benchmarks/*").size() > 1)
    results.left_out.emplace_back("names of benchmarks: this file has several, whose states need the same axes");
  return results;
}

std::optional<ToolResults> read_nccl_tests(const ToolFiles& files) {
  const std::vector<std::string> found = json_files_with(files, {"nccl_version", "results"}, "/results/*/size");
  if (found.empty()) return std::nullopt;
  const ToolTable table = rows_of_files(files, found, "/results/*");
  ToolResults results = results_of_rows(files, found, "/results/*", table);
  results.entries.front().set("outcome",
                              outcome_by("out_of_place/nwrong", {{"0", "succeeded"}, {"", "succeeded"}, {"*", "failed"}}));
  for (const char* const heading :
       {"config/ngpus", "config/nthreads", "experiment_name", "size", "type", "redop", "nccl_version", "config/graph"}) {
    if (!table.has(heading)) continue;
    results.columns.push_back(table_column(table, heading, Role::parameter));
    std::string& name = results.columns.back().name;
    name = name.substr(name.rfind('/') + 1);
  }
  add_number(table, "out_of_place/time", "time_us", "us", results);
  add_number(table, "out_of_place/alg_bw", "alg_bw", "GB/s", results);
  add_number(table, "out_of_place/bus_bw", "bus_bw", "GB/s", results);
  add_number(table, "in_place/time", "in_place_us", "us", results);
  add_number(table, "in_place/bus_bw", "in_place_bus_bw", "GB/s", results);
  return results;
}

std::optional<ToolResults> read_vllm(const ToolFiles& files) {
  const std::vector<std::string> found = json_files_with(files, {"request_throughput", "total_output_tokens"});
  if (found.empty()) return std::nullopt;
  const ToolTable table = rows_of_files(files, found, "");
  ToolResults results = results_of_rows(files, found, "", table);
  results.entries.front().set("outcome", outcome_by("completed", {{"0", "failed"}, {"*", "succeeded"}}));
  static const std::set<std::string> kResults = {"duration",
                                                 "completed",
                                                 "failed",
                                                 "total_input_tokens",
                                                 "total_output_tokens",
                                                 "request_goodput",
                                                 "date",
                                                 "max_output_tokens_per_s",
                                                 "max_concurrent_requests"};
  for (const std::string& heading : table.headings) {
    if (kResults.contains(heading) || heading.find('/') != std::string::npos) continue;
    if (heading.ends_with("_ms")) {
      if (!heading.starts_with("std_")) add_number(table, heading, heading, "ms", results);
    } else if (heading == "request_throughput") {
      add_number(table, heading, "requests_per_s", "requests/s", results);
    } else if (heading == "output_throughput") {
      add_number(table, heading, "output_tokens_per_s", "tokens/s", results);
    } else if (heading == "total_token_throughput") {
      add_number(table, heading, "tokens_per_s", "tokens/s", results);
    } else if (!heading.ends_with("_throughput")) {
      results.columns.push_back(table_column(table, heading, Role::parameter));
    }
  }
  add_number(table, "failed", "failed_requests", "", results);
  if (!results.columns.empty() && results.columns.back().name == "failed_requests") results.columns.back().better = "lower";
  results.left_out.emplace_back("duration, counts of tokens, standard deviations and lists of single requests");
  return results;
}

}  // namespace hpcbench

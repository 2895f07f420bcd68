// Experiment trackers: W&B, MLflow.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "recognise/known_tools.hpp"
#include "recognise/tool_tables.hpp"

namespace hpcbench {

namespace {

using Role = ToolColumn::Role;

/// Values of one column by run, from values by run and name.
using ValuesByName = std::map<std::string, std::map<std::size_t, std::string>>;

std::vector<std::string> in_order(const std::map<std::size_t, std::string>& values, std::size_t runs) {
  std::vector<std::string> texts(runs);
  for (const auto& [run, text] : values) texts[run] = text;
  return texts;
}

/// The unit of a number that W&B itself adds.
std::string unit_of_wandb(const std::string& name) {
  return name == "Runtime" || name == "_runtime" || name == "_wandb.runtime" ? "s" : "";
}

bool is_of_wandb(const std::string& name) {
  static const std::set<std::string> kNames = {"Name",   "State",    "Notes",     "User",     "Tags",       "Created",
                                               "Sweep",  "ID",       "Group",     "Job Type", "Hostname",   "Github",
                                               "Commit", "GPU Type", "GPU Count", "_step",    "_timestamp", "_wandb"};
  return kNames.contains(name);
}

}  // namespace

std::optional<ToolResults> read_wandb_export(const ToolFiles& files) {
  ToolResults results;
  for (const std::string& file : files.matching(R"((?i)[^/]*\.csv)")) {
    if (!RE2::PartialMatch(files.head(file), R"((?m)\A.*"?\bName\b"?.*"?\bState\b"?)")) continue;
    ToolTable table = read_csv_table(files, file);
    if (!table.has("Name") || !table.has("State")) continue;
    if (!results.entries.empty()) {
      results.left_out.push_back(fmt::format("{}: another export", file));
      continue;
    }
    FlowYaml entry = table_entry(files, {file});
    entry.set("outcome", outcome_by("State", {{"finished", "succeeded"},
                                              {"crashed", "failed"},
                                              {"failed", "failed"},
                                              {"killed", "cancelled"},
                                              {"preempted", "preempted"},
                                              {"preempting", "ignore"},
                                              {"running", "ignore"},
                                              {"pending", "ignore"}}));
    entry.set("columns", FlowYaml::map({{"run", table.has("ID") ? "ID" : "Name"}}));
    results.entries.push_back(entry);
    results.is_table = true;
    results.runs = table.rows.size();
    for (const std::string& heading : table.headings) {
      if (is_of_wandb(heading)) continue;
      ToolColumn column = table_column(table, heading, Role::either, unit_of_wandb(heading));
      if (heading == "Runtime" || heading == "_runtime") column.role = Role::number;
      results.columns.push_back(column);
    }
  }
  return results.entries.empty() ? std::nullopt : std::optional(results);
}

namespace {

/// Adds the scalars of an object that names a run's values: `optimizer.lr` by the pointer /config/optimizer/lr.
void add_scalars(std::string_view object, const std::string& name, const std::string& pointer, std::size_t run,
                 ValuesByName& values, std::map<std::string, std::string>& pointers) {
  JsonMembers members;
  if (!scan_object(object, members)) return;
  for (const JsonMember& member : members) {
    const std::string key = json_member_name(member);
    if (key == "_wandb") continue;
    const std::string way = pointer + '/' + json_pointer_token(key);
    const std::string longer = name.empty() ? key : name + '.' + key;
    if (const auto text = json_scalar_text(member.value)) {
      values[longer][run] = *text;
      pointers[longer] = way;
    } else {
      add_scalars(member.value, longer, way, run, values, pointers);
    }
  }
}

}  // namespace

std::optional<ToolResults> read_wandb_folder(const ToolFiles& files) {
  const std::vector<std::string> runs = files.matching(R"((.*/)?(offline-)?run-[^/]+/run-[^/]+\.wandb)");
  if (runs.empty()) return std::nullopt;
  ToolResults results;
  results.runs = runs.size();
  ValuesByName parameters, numbers;
  std::map<std::string, std::string> of_parameters, of_numbers;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const std::string& line : split(files.document(runs[run]), '\n')) {
      JsonMembers members;
      if (!scan_object(line, members)) continue;
      add_scalars(find_member(members, "config"), "", "/config", run, parameters, of_parameters);
      add_scalars(find_member(members, "history"), "", "/history", run, numbers, of_numbers);
    }
  }
  const std::string above = runs.front().substr(0, runs.front().rfind("run-", runs.front().rfind('/')));
  const std::string folder = above.substr(0, above.rfind('/') == std::string::npos ? 0 : above.rfind('/') + 1);
  results.entries = {FlowYaml::map(
      {{"files", files.named(folder + "*run-{run}/run-*.wandb")},
       {"outcome", FlowYaml::map({{"pointer", "/exit/exit_code"},
                                  {"is", FlowYaml::map({{"0", "succeeded"}, {"", "failed"}, {"*", "failed"}})}})}})};
  for (const auto& [name, values] : parameters) {
    results.columns.push_back(
        {Role::parameter, name, FlowYaml::map({{"pointer", of_parameters[name]}}), in_order(values, results.runs), ""});
  }
  for (const auto& [name, values] : numbers) {
    if (name.starts_with('_') && name != "_runtime") continue;
    const std::vector<std::string> texts = in_order(values, results.runs);
    if (!are_numbers(texts)) continue;
    results.columns.push_back(
        {Role::number, name,
         FlowYaml::map({{"file", "*.wandb"}, {"pointer", of_numbers[name]}, {"index", "_step"}, {"series", "step"}}), texts,
         unit_of_wandb(name)});
  }
  return results;
}

namespace {

/// Returns the folders of the experiment with most runs, and notes the others.
std::vector<std::string> find_mlflow_runs(const ToolFiles& files, ToolResults& results) {
  std::map<std::string, std::vector<std::string>> runs_of;  // by folder of the experiment
  for (const std::string& meta : files.matching(R"((.*/)?[^/]+/meta\.yaml)")) {
    if (!RE2::PartialMatch(files.text(meta), R"((?m)^run_(id|uuid):)")) continue;
    const std::string run = meta.substr(0, meta.rfind('/'));
    runs_of[run.substr(0, run.rfind('/') == std::string::npos ? 0 : run.rfind('/') + 1)].push_back(run);
  }
  if (runs_of.empty()) return {};
  const auto most = std::max_element(runs_of.begin(), runs_of.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (const auto& [folder, runs] : runs_of) {
    if (folder == most->first) continue;
    const std::string count = counted(static_cast<long long>(runs.size()), "run", "runs");
    results.left_out.push_back(fmt::format("the experiment {} with {}", folder, count));
  }
  return most->second;
}

}  // namespace

std::optional<ToolResults> read_mlflow_files(const ToolFiles& files) {
  ToolResults results;
  const std::vector<std::string> runs = find_mlflow_runs(files, results);
  if (runs.empty()) return std::nullopt;
  const std::string experiment =
      runs.front().substr(0, runs.front().rfind('/') == std::string::npos ? 0 : runs.front().rfind('/') + 1);
  results.runs = runs.size();
  ValuesByName parameters, numbers;
  std::map<std::string, std::size_t> run_of_folder;
  for (std::size_t run = 0; run < runs.size(); ++run) run_of_folder[runs[run]] = run;
  for (const std::string& file : files.all()) {
    for (const std::string_view kind : {"/params/", "/metrics/"}) {
      const std::size_t at = file.find(kind);
      const auto run = run_of_folder.find(file.substr(0, std::min(at, file.size())));
      if (at == std::string::npos || run == run_of_folder.end()) continue;
      const std::string name = file.substr(at + kind.size());
      const std::string text(trim(files.text(file)));
      if (kind == "/params/") {
        parameters[name][run->second] = text;
      } else {
        const std::vector<std::string> words = split(text, ' ');
        numbers[name][run->second] = words.size() >= 3 ? words[words.size() - 2] : "";
      }
    }
  }
  // A run without a metric is one, too: its meta.yaml is among its files.
  std::vector<FlowYaml> globs = {files.named(experiment + "{run}/meta.yaml")};
  std::set<std::size_t> depths;
  for (const auto& [name, values] : numbers) depths.insert(static_cast<std::size_t>(std::count(name.begin(), name.end(), '/')));
  for (const std::size_t depth : depths) {
    std::string glob = experiment + "{run}/metrics/*";
    for (std::size_t i = 0; i < depth; ++i) glob += "/*";
    globs.emplace_back(files.named(glob));
  }
  results.entries = {FlowYaml::map(
      {{"files", FlowYaml::list(globs)},
       {"outcome",
        FlowYaml::map(
            {{"file", "meta.yaml"},
             {"pointer", "/status"},
             {"is",
              FlowYaml::map({{"1", "ignore"}, {"2", "ignore"}, {"3", "succeeded"}, {"4", "failed"}, {"5", "cancelled"}})}})}})};
  for (const auto& [name, values] : parameters) {
    results.columns.push_back({Role::parameter, name, FlowYaml::map({{"file", "params/" + name}, {"pattern", ".+"}}),
                               in_order(values, results.runs), ""});
  }
  for (const auto& [name, values] : numbers) {
    results.columns.push_back({Role::number, name,
                               FlowYaml::map({{"file", "metrics/" + name},
                                              {"pattern", R"(^\d+ (\S+) (?P<step>-?\d+))"},
                                              {"index", "step"},
                                              {"series", "step"}}),
                               in_order(values, results.runs), ""});
  }
  return results;
}

namespace {

std::string sql_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + '\'';
}

std::string sql_name(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::vector<std::string> first_column(const ToolFiles& files, const std::string& file, const std::string& query) {
  const ToolTable table = read_query_table(files, file, query);
  return table.headings.empty() ? std::vector<std::string>() : table.column(table.headings.front());
}

}  // namespace

std::optional<ToolResults> read_mlflow_database(const ToolFiles& files) {
  for (const std::string& file : files.matching(R"(.*\.(db|sqlite3?))")) {
    const std::string runs_of =
        "SELECT experiment_id FROM runs WHERE lifecycle_stage = 'active' GROUP BY experiment_id ORDER BY count(*) DESC";
    const std::vector<std::string> experiments = first_column(files, file, runs_of);
    if (experiments.empty() || first_column(files, file, "SELECT count(*) FROM latest_metrics").empty()) continue;
    ToolResults results;
    for (std::size_t i = 1; i < experiments.size(); ++i)
      results.left_out.push_back(fmt::format("the experiment {}", experiments[i]));
    results.left_out.emplace_back("courses of metrics over steps: the database's table `metrics` has them");
    const std::string of_experiment = "FROM runs WHERE lifecycle_stage = 'active' AND experiment_id = " + experiments.front();
    std::string query = "SELECT run_uuid AS run, status";
    std::vector<std::pair<Role, std::string>> columns;
    for (const auto& [table, role] : {std::pair("params", Role::parameter), std::pair("latest_metrics", Role::number)}) {
      for (const std::string& key :
           first_column(files, file,
                        fmt::format("SELECT DISTINCT key FROM {} WHERE run_uuid IN (SELECT run_uuid {}) ORDER BY key", table,
                                    of_experiment))) {
        if (std::any_of(columns.begin(), columns.end(), [&](const auto& column) { return column.second == key; })) continue;
        const char* const value = role == Role::number ? "iif(is_nan, 'nan', value)" : "value";
        query += fmt::format(", (SELECT {} FROM {} v WHERE v.run_uuid = runs.run_uuid AND key = {}) AS {}", value, table,
                             sql_text(key), sql_name(key));
        columns.emplace_back(role, key);
      }
    }
    query += ' ' + of_experiment + " ORDER BY start_time";
    const ToolTable table = read_query_table(files, file, query);
    FlowYaml entry = table_entry(files, {file});
    entry.set("query", query);
    entry.set("outcome", outcome_by("status", {{"FINISHED", "succeeded"},
                                               {"FAILED", "failed"},
                                               {"KILLED", "cancelled"},
                                               {"RUNNING", "ignore"},
                                               {"SCHEDULED", "ignore"}}));
    entry.set("columns", FlowYaml::map({{"run", "run"}}));
    results.entries = {entry};
    results.is_table = true;
    results.runs = table.rows.size();
    for (const auto& [role, key] : columns) results.columns.push_back(table_column(table, key, role));
    return results;
  }
  return std::nullopt;
}

}  // namespace hpcbench

// Folders of trainings: Hydra, Lightning, TensorBoard, Hugging Face's Trainer, MLPerf's logging.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "base/glob.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "ingest/proto_fields.hpp"
#include "recognise/known_tools.hpp"
#include "recognise/log_metrics.hpp"
#include "recognise/path_names.hpp"
#include "recognise/tool_tables.hpp"

namespace hpcbench {

namespace {

using Role = ToolColumn::Role;

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
}
std::string in_folder(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + '/' + name;
}

std::vector<std::string> folders_of(const std::vector<std::string>& paths) {
  std::set<std::string> folders;
  for (const std::string& path : paths) folders.insert(folder_of(path));
  return {folders.begin(), folders.end()};
}

/// `optim.lr`: the scalars of a document, by pointer.
void add_scalars_at(std::string_view value, const std::string& pointer, std::map<std::string, std::string>& found) {
  JsonMembers members;
  if (!scan_object(value, members)) return;
  for (const JsonMember& member : members) {
    const std::string way = pointer + '/' + json_pointer_token(json_member_name(member));
    if (const auto text = json_scalar_text(member.value)) {
      found[way] = *text;
    } else {
      add_scalars_at(member.value, way, found);
    }
  }
}

std::string dotted(const std::string& pointer) {
  std::string name = pointer.substr(1);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

/// Parameters from a document in the folder of each run.
std::vector<ToolColumn> parameters_of(const ToolFiles& files, const std::vector<std::string>& folders,
                                      const std::string& name) {
  std::map<std::string, std::vector<std::string>> values;
  for (std::size_t run = 0; run < folders.size(); ++run) {
    std::map<std::string, std::string> scalars;
    const std::string document = in_folder(folders[run], name);
    if (files.has(document)) add_scalars_at(files.document(document), "", scalars);
    for (const auto& [pointer, text] : scalars) {
      values[pointer].resize(folders.size());
      values[pointer][run] = text;
    }
  }
  std::vector<ToolColumn> columns;
  for (const auto& [pointer, texts] : values)
    columns.push_back({Role::parameter, dotted(pointer), FlowYaml::map({{"file", name}, {"pointer", pointer}}), texts, ""});
  return columns;
}

/// Counts runs with fewer values than others as stopped early, where nothing else shows how they ended.
void require_all_values(ToolResults& results, const std::vector<long long>& counts, const std::vector<std::string>& names,
                        FlowYaml metric) {
  const long long most = *std::max_element(counts.begin(), counts.end());
  std::vector<std::string> short_ones;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < most) short_ones.push_back(fmt::format("{} ({})", names[i], counts[i]));
  }
  if (short_ones.empty()) return;
  metric.set("take", "count");
  ToolColumn count{Role::number, "logged", std::move(metric), {}, ""};
  for (const long long one : counts) count.values.push_back(std::to_string(one));
  results.columns.push_back(std::move(count));
  results.required.push_back(fmt::format("logged >= {}", most));
  constexpr std::size_t kShown = 5;
  const std::size_t more = short_ones.size() > kShown ? short_ones.size() - kShown : 0;
  short_ones.resize(short_ones.size() - more);
  results.left_out.push_back(
      fmt::format("runs with fewer than {} values count as failed, as nothing else tells how a run ended: {}{}. "
                  "Remove `success` if they are whole",
                  most, join(short_ones, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
}

/// The columns of names without those that number or name runs only.
bool has_values_in_names(const PathNames& names) {
  return std::any_of(names.columns.begin(), names.columns.end(),
                     [](const ToolColumn& column) { return column.name != "repeat" && column.name != "run"; });
}

}  // namespace

std::optional<ToolResults> read_hydra(const ToolFiles& files) {
  const std::vector<std::string> overrides = files.matching(R"((.*/)?\.hydra/overrides\.yaml)");
  if (overrides.empty()) return std::nullopt;
  std::vector<std::string> jobs;
  for (const std::string& file : overrides) jobs.push_back(folder_of(folder_of(file)));
  const PathNames runs = find_run_folders(jobs);
  ToolResults results;
  results.runs = runs.paths.size();
  results.left_out = runs.left_out;
  std::map<std::string, std::vector<std::string>> given;  // of overrides
  for (std::size_t run = 0; run < results.runs; ++run) {
    const std::string document = files.document(in_folder(runs.paths[run], ".hydra/overrides.yaml"));
    for (const std::string_view item : scan_array(document).value_or(std::vector<std::string_view>())) {
      std::string name, value;
      if (!RE2::FullMatch(json_scalar_text(item).value_or(""), R"(\+*([^=~]+)=(.*))", &name, &value)) continue;
      given[name].resize(results.runs);
      given[name][run] = value;
    }
  }
  std::set<std::string> of_config;
  for (ToolColumn& column : parameters_of(files, runs.paths, ".hydra/config.yaml")) {
    const bool varies = std::set<std::string>(column.values.begin(), column.values.end()).size() > 1;
    of_config.insert(column.name);
    if (varies && !given.contains(column.name)) continue;  // by the choice of a group
    results.columns.push_back(std::move(column));
  }
  for (const auto& [name, values] : given) {
    if (of_config.contains(name)) continue;
    results.columns.push_back({Role::parameter, name,
                               FlowYaml::map({{"file", ".hydra/overrides.yaml"},
                                              {"pattern", fmt::format(R"(^- '?\+*{}=(.*?)'?$)", RE2::QuoteMeta(name))}}),
                               values, ""});
  }
  std::vector<std::string> logs;
  for (const std::string& file : files.matching(R"(.*\.(log|out|txt|csv|jsonl?))")) {
    for (const std::string& job : runs.paths) {
      if (file.starts_with(job + '/') && file.find("/.hydra/") == std::string::npos) logs.push_back(file);
    }
  }
  add_log_metrics(files, runs.paths, logs, results);
  results.left_out.emplace_back(
      "how a run ended, unless its log shows it: `success: {pattern: ...}` names what a whole run prints last");
  results.entries = {FlowYaml::map(
      {{"files", FlowYaml::list({files.named(runs.pattern + "/*"), files.named(runs.pattern + "/.hydra/config.yaml")})}})};
  return results;
}

std::optional<ToolResults> read_lightning(const ToolFiles& files) {
  std::vector<std::string> tables;
  for (const std::string& file : files.matching(R"((.*/)?metrics\.csv)")) {
    if (RE2::PartialMatch(files.head(file), R"(\A[^\n]*\b(step|epoch)\b)")) tables.push_back(file);
  }
  if (tables.empty()) return std::nullopt;
  ToolResults results;
  std::vector<ToolColumn> parameters = parameters_of(files, folders_of(tables), "hparams.yaml");
  PathNames names = find_run_folders(folders_of(tables));
  if (parameters.empty()) {
    if (const PathNames by_name = find_path_names(folders_of(tables)); has_values_in_names(by_name)) {
      names = by_name;
      parameters = by_name.columns;
    }
  } else if (names.paths.size() != tables.size()) {
    parameters = parameters_of(files, names.paths, "hparams.yaml");
  }
  results.columns = std::move(parameters);
  results.left_out = names.left_out;
  results.runs = names.paths.size();
  results.entries = {FlowYaml::map({{"files", files.named(names.pattern + "/metrics.csv")}})};
  std::map<std::string, std::vector<std::string>> last;  // value of each run
  std::vector<long long> counts(results.runs);
  std::string index;
  for (std::size_t run = 0; run < results.runs; ++run) {
    const ToolTable table = read_csv_table(files, in_folder(names.paths[run], "metrics.csv"));
    index = table.has("step") ? "step" : "epoch";
    counts[run] = static_cast<long long>(table.rows.size());
    for (const std::string& heading : table.headings) {
      if (heading == "step" || heading == "epoch") continue;
      last[heading].resize(results.runs);
      for (const std::string& cell : table.column(heading)) {
        if (!cell.empty()) last[heading][run] = cell;
      }
    }
  }
  for (const auto& [heading, values] : last) {
    if (are_numbers(values)) {
      results.columns.push_back(
          {Role::number, heading,
           FlowYaml::map({{"file", "metrics.csv"}, {"column", heading}, {"index", index}, {"series", index}}), values, ""});
    }
  }
  require_all_values(results, counts, names.paths, FlowYaml::map({{"file", "metrics.csv"}, {"column", index}}));
  return results;
}

namespace {

/// The tags of scalars in an event file, and how many values each has. Damage ends the reading.
std::map<std::string, long long> tags_of_events(std::string_view bytes) {
  constexpr std::size_t kHead = 12, kTail = 4;
  std::map<std::string, long long> tags;
  while (bytes.size() >= kHead) {
    const auto size = little_endian<std::uint64_t>(bytes);
    if (size > bytes.size() || kHead + size + kTail > bytes.size()) break;
    for (ProtoFields event(bytes.substr(kHead, size)); event.next();) {
      if (event.number != 5 || event.wire != 2) continue;  // a summary
      for (ProtoFields value(event.bytes); value.next();) {
        std::string tag;
        bool is_scalar = false;
        for (ProtoFields field(value.bytes); value.number == 1 && value.wire == 2 && field.next();) {
          if (field.number == 1 && field.wire == 2) tag = field.bytes;
          is_scalar = is_scalar || (field.number == 2 && field.wire == 5) || (field.number == 8 && field.wire == 2);
        }
        if (is_scalar && !tag.empty() && !tag.starts_with("_hparams_")) ++tags[tag];
      }
    }
    bytes.remove_prefix(kHead + static_cast<std::size_t>(size) + kTail);
  }
  return tags;
}

}  // namespace

std::optional<ToolResults> read_tensorboard(const ToolFiles& files) {
  const std::vector<std::string> events = files.matching(R"((.*/)?[^/]*tfevents[^/]*)");
  if (events.empty()) return std::nullopt;
  const std::vector<std::string> folders = folders_of(events);
  PathNames names = find_path_names(folders);
  std::vector<ToolColumn> parameters = parameters_of(files, folders, "hparams.yaml");
  if (has_values_in_names(names)) {
    parameters = names.columns;
  } else {
    names = find_run_folders(folders);
  }
  ToolResults results;
  results.columns = std::move(parameters);
  results.left_out = names.left_out;
  results.runs = names.paths.size();
  results.entries = {FlowYaml::map({{"files", files.named(in_folder(names.pattern, "*tfevents*"))}})};
  std::map<std::string, std::vector<long long>> counts;
  for (const std::string& file : events) {
    const auto run = std::find(names.paths.begin(), names.paths.end(), folder_of(file));
    if (run == names.paths.end()) continue;
    for (const auto& [tag, count] : tags_of_events(files.text(file))) {
      counts[tag].resize(results.runs);
      counts[tag][static_cast<std::size_t>(run - names.paths.begin())] += count;
    }
  }
  std::string most;
  for (const auto& [tag, of_runs] : counts) {
    std::vector<std::string> values;
    for (const long long count : of_runs) values.push_back(count == 0 ? "" : std::to_string(count));
    results.columns.push_back(
        {Role::number, tag, FlowYaml::map({{"file", "*tfevents*"}, {"tag", tag}, {"series", "step"}}), values, ""});
    if (most.empty() ||
        *std::max_element(of_runs.begin(), of_runs.end()) > *std::max_element(counts[most].begin(), counts[most].end()))
      most = tag;
  }
  if (!most.empty())
    require_all_values(results, counts[most], names.paths, FlowYaml::map({{"file", "*tfevents*"}, {"tag", most}}));
  return results;
}

namespace {

std::string unit_of_trainer(const std::string& name) {
  if (name.ends_with("_runtime")) return "s";
  if (name.ends_with("_samples_per_second")) return "samples/s";
  return name.ends_with("_steps_per_second") ? "steps/s" : "";
}

constexpr std::string_view kLogged = "/log_history/*/";

/// Returns the values of a state by pointer; of its log the last value of each name.
std::map<std::string, std::string> values_of_state(const std::string& text) {
  std::map<std::string, std::string> values;
  for (const char* const pointer : {"/global_step", "/max_steps", "/train_batch_size", "/num_train_epochs"})
    values[pointer] = json_text_at(text, pointer).value_or("");
  for (const std::string_view entry : json_values_at(text, "/log_history/*")) {
    JsonMembers members;
    if (!scan_object(entry, members)) continue;
    for (const JsonMember& member : members) {
      const std::string name = json_member_name(member);
      if (name != "step" && name != "epoch") values[std::string(kLogged) + name] = json_scalar_text(member.value).value_or("");
    }
  }
  return values;
}

/// The state at the end of a run, or of its last checkpoint.
std::vector<std::string> last_states(const std::vector<std::string>& states) {
  std::map<std::string, std::pair<long long, std::string>> last;  // by the run's folder
  for (const std::string& state : states) {
    std::string run = folder_of(state);
    long long step = 1LL << 60;
    int number = 0;
    if (RE2::PartialMatch(run, R"((?:^|/)checkpoint-(\d+)$)", &number)) {
      step = number;
      run = folder_of(run);
    }
    auto& known = last[run];
    if (known.second.empty() || step > known.first) known = {step, state};
  }
  std::vector<std::string> kept;
  for (const auto& [run, state] : last) kept.push_back(state.second);
  return kept;
}

}  // namespace

std::optional<ToolResults> read_trainer_state(const ToolFiles& files) {
  const std::vector<std::string> states = last_states(files.matching(R"((.*/)?trainer_state\.json)"));
  if (states.empty()) return std::nullopt;
  std::vector<std::string> folders;
  for (const std::string& state : states) {
    const std::string folder = folder_of(state);
    folders.push_back(RE2::PartialMatch(folder, R"((^|/)checkpoint-\d+$)") ? folder_of(folder) : folder);
  }
  PathNames names = find_path_names(folders);
  if (!has_values_in_names(names)) names = find_run_folders(folders);
  ToolResults results;
  results.left_out = names.left_out;
  results.columns = names.columns;
  results.runs = names.paths.size();
  std::map<std::string, std::vector<std::string>> values;  // by pointer
  for (std::size_t run = 0; run < results.runs; ++run) {
    const auto of_run = std::find(folders.begin(), folders.end(), names.paths[run]);
    const std::string& state = states[static_cast<std::size_t>(of_run - folders.begin())];
    const std::string rest = state.substr(names.paths[run].empty() ? 0 : names.paths[run].size() + 1);
    if (rest == "trainer_state.json" && results.entries.empty()) {
      results.entries.push_back(FlowYaml::map({{"files", files.named(in_folder(names.pattern, rest))}}));
    } else if (rest != "trainer_state.json") {  // the last checkpoint of a run that did not end
      FlowYaml point = FlowYaml::map();
      for (const ToolColumn& column : names.columns) point.set(column.name, column.values[run]);
      if (names.columns.empty()) point.set("run", names.paths[run]);
      results.entries.push_back(FlowYaml::map({{"files", files.named(glob_escaped(state))}, {"run", point}}));
    }
    for (const auto& [pointer, text] : values_of_state(files.text(state))) {
      values[pointer].resize(results.runs);
      values[pointer][run] = text;
    }
  }
  for (const auto& [pointer, texts] : values) {
    const std::string name = pointer.substr(pointer.rfind('/') + 1);
    const bool is_logged = pointer.starts_with(kLogged);
    FlowYaml source = FlowYaml::map({{"pointer", pointer}});
    if (pointer == "/train_batch_size" || pointer == "/num_train_epochs") {
      results.columns.push_back({Role::parameter, name, source, texts, ""});
    } else if (are_numbers(texts)) {
      source = FlowYaml::map({{"file", "trainer_state.json"}, {"pointer", pointer}});
      if (is_logged) source.set("index", "step").set("series", "step");
      results.columns.push_back({Role::number, name, source, texts, unit_of_trainer(name)});
    }
  }
  results.required = {"global_step >= max_steps"};
  return results;
}

namespace {

/// The last value of each key in a log; of run_start and run_stop their times.
std::map<std::string, std::string> values_of_mllog(const std::string& text) {
  constexpr std::string_view kMark = ":::MLLOG ";
  std::map<std::string, std::string> values;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t begin = line.find(kMark);
    if (begin == std::string::npos) continue;
    const std::string_view event = trim(std::string_view(line).substr(begin + kMark.size()));
    const std::string key = json_text_at(event, "/key").value_or("");
    const bool is_border = key == "run_start" || key == "run_stop";
    const auto value = json_text_at(event, is_border ? "/time_ms" : "/value");
    if (!key.empty() && value) values[key] = *value;
  }
  return values;
}

}  // namespace

std::optional<ToolResults> read_mllog(const ToolFiles& files) {
  std::vector<std::string> logs;
  for (const std::string& file : files.matching(R"(.*\.(txt|log|out))")) {
    if (RE2::PartialMatch(files.head(file), R"((?m)^:::MLLOG )")) logs.push_back(file);
  }
  if (logs.empty()) return std::nullopt;
  const PathNames names = find_path_names(logs);
  ToolResults results;
  results.left_out = names.left_out;
  results.runs = names.paths.size();
  results.columns = names.columns;
  results.entries = {FlowYaml::map(
      {{"files", files.named(names.pattern)},
       {"outcome",
        FlowYaml::map({{"pattern", R"re("key": "run_stop".*"status": "(\w+)")re"},
                       {"is", FlowYaml::map({{"success", "succeeded"}, {"aborted", "failed"}, {"", "failed"}})}})}})};
  static const std::set<std::string> kResults = {"run_start",  "run_stop",      "eval_accuracy",
                                                 "eval_error", "tracked_stats", "throughput"};
  std::map<std::string, std::vector<std::string>> values;
  for (std::size_t run = 0; run < results.runs; ++run) {
    for (const auto& [key, value] : values_of_mllog(files.text(names.paths[run]))) {
      values[key].resize(results.runs);
      values[key][run] = value;
    }
  }
  std::string log = names.pattern.substr(names.pattern.rfind('/') == std::string::npos ? 0 : names.pattern.rfind('/') + 1);
  RE2::GlobalReplace(&log, R"(\{\w+\})", "*");
  for (const auto& [key, texts] : values) {
    if (key == "run_start" || key == "run_stop") {
      results.columns.push_back(
          {Role::number, key, FlowYaml::map({{"file", log}, {"pattern", fmt::format(R"("time_ms": (\d+).*"key": "{}")", key)}}),
           texts, "ms"});
    } else if (kResults.contains(key)) {
      results.columns.push_back(
          {Role::number, key,
           FlowYaml::map(
               {{"file", log}, {"pattern", fmt::format(R"("key": "{}", "value": ([^,}}]+))", key)}, {"series", "evaluation"}}),
           texts, ""});
    } else {
      results.columns.push_back(
          {Role::parameter, key,
           FlowYaml::map({{"pattern", fmt::format(R"re("key": "{}", "value": "?([^",}}]+))re", RE2::QuoteMeta(key))}}), texts,
           ""});
    }
  }
  if (values.contains("run_start") && values.contains("run_stop")) {
    ToolColumn time{Role::number, "time_to_train_s", FlowYaml::map({{"formula", "(run_stop - run_start) / 1000"}}), {}, "s"};
    time.values.assign(results.runs, "1");
    results.columns.push_back(std::move(time));
  }
  return results;
}

}  // namespace hpcbench

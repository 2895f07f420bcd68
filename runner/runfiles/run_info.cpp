#include "runfiles/run_info.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/json_text.hpp"
#include "base/take.hpp"
#include "base/text.hpp"
#include "runfiles/layout.hpp"

namespace hpcbench {

namespace {

constexpr int kHashDigits = 12;

std::optional<int> small_integer(std::string_view value) {
  const std::optional<long long> integer = json_integer(value);
  const bool fits = integer && *integer >= std::numeric_limits<int>::min() && *integer <= std::numeric_limits<int>::max();
  return fits ? std::optional(static_cast<int>(*integer)) : std::nullopt;
}

/// Durations, sizes and time stamps: a negative one is no value.
std::optional<double> amount(std::string_view value) {
  const std::optional<double> number = json_number(value);
  return number && *number >= 0 ? number : std::nullopt;
}

std::optional<std::string> line_of(std::string_view value) {
  const std::optional<std::string> text = json_string(value);
  return text && !text->empty() ? std::optional(printable(*text)) : std::nullopt;
}

bool scan_schema_1(std::string_view text, JsonMembers& members) {
  return scan_object(text, members) && json_integer(find_member(members, "schema")).value_or(1) == 1;
}

/// Files of a run, as facts `code:PATH`, and one short hash for all of them as `code`: equal if and only if these are the same
/// files with the same content. `kind` is `code` (what the command names), `deck` (what `files`
/// brings) or `inputs` (what preparations were made of).
void add_file_facts(std::string_view list, const std::string& kind, std::map<std::string, std::string>& facts) {
  std::vector<std::string> lines;
  JsonMembers file;
  for (const std::string_view item : scan_array(list).value_or(std::vector<std::string_view>())) {
    if (!scan_object(item, file)) continue;
    const std::optional<std::string> path = json_string(find_member(file, "path"));
    const std::optional<std::string> sha256 = json_string(find_member(file, "sha256"));
    if (!path || !sha256) continue;
    lines.push_back(*path + '\0' + *sha256 + '\n');
    facts[kind + ":" + printable(*path)] = printable(sha256->substr(0, kHashDigits));
  }
  if (lines.empty()) return;
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line;
  facts[kind] = sha256_hex(all, kHashDigits);
}

/// The program that was found on PATH, as the fact `program:NAME`: a short hash, a space, its path.
void add_program_fact(std::string_view object, std::map<std::string, std::string>& facts) {
  JsonMembers members;
  if (!scan_object(object, members)) return;
  const auto text = [&](std::string_view key) { return json_string(find_member(members, key)).value_or(""); };
  const std::string name = text("name");
  const std::string sha256 = text("sha256");
  if (name.empty() || sha256.empty()) return;
  facts["program:" + printable(name)] = printable(sha256.substr(0, kHashDigits) + " " + text("path"));
}

/// Absent values and members that are no lists of scalars are left out.
Condition read_where(std::string_view object) {
  Condition where;
  JsonMembers members;
  scan_object(object, members);
  for (const JsonMember& member : members) {
    std::vector<Value> values;
    for (const std::string_view value : scan_array(member.value).value_or(std::vector<std::string_view>())) {
      if (json_scalar_text(value)) values.push_back(Value::from_canonical(value));
    }
    if (!values.empty()) where.emplace_back(json_member_name(member), std::move(values));
  }
  return where;
}

std::vector<Metric> read_metrics_json(std::string_view list) {
  std::vector<Metric> metrics;
  JsonMembers members;
  for (const std::string_view item : scan_array(list).value_or(std::vector<std::string_view>())) {
    if (!scan_object(item, members)) continue;
    const auto text = [&](std::string_view key) { return json_string(find_member(members, key)).value_or(std::string()); };
    Metric metric{text("name"), text("file"), "", text("unit"), std::nullopt, "", text("index")};
    const std::string_view series = find_member(members, "series");
    // The rules of reading.json (ingest/reading.hpp) have `true` here: what numbers the points does not matter to readers.
    if (json_flag(series).value_or(false)) metric.series = "true";
    if (const std::string word = text("series"); !word.empty()) metric.series = word;
    for (const std::string& source : metric_source_keys()) {
      if (find_member(members, source).empty()) continue;
      metric.source = source;
      metric.selector = text(source);
    }
    if (const std::string formula = text("formula"); !formula.empty()) {
      metric.source = "formula";
      metric.selector = formula;
    }
    if (const std::string take = text("take"); parse_take(take)) metric.take = take;
    metric.skip = std::max(0LL, json_integer(find_member(members, "skip")).value_or(0));
    metric.header = text("header");
    metric.decimal = parse_decimal_mark(text("decimal"));
    metric.rank = json_string(find_member(members, "rank")).value_or("");
    for (const std::string_view context : scan_array(find_member(members, "context")).value_or(std::vector<std::string_view>()))
      metric.context.push_back(json_string(context).value_or(""));
    for (const std::string_view absent : scan_array(find_member(members, "absent")).value_or(std::vector<std::string_view>()))
      metric.absent.push_back(json_string(absent).value_or(""));
    metric.where = read_where(find_member(members, "where"));
    metric.header_line = std::max(0LL, json_integer(find_member(members, "header")).value_or(0));
    if (!metric.name.empty() && (!metric.file.empty() || metric.is_formula())) metrics.push_back(std::move(metric));
  }
  return metrics;
}

/// Absent for anything but a list of objects of which each names both.
std::optional<std::vector<OutsideGlob>> read_outside(std::string_view list) {
  const auto items = scan_array(list);
  if (!items) return std::nullopt;
  std::vector<OutsideGlob> globs;
  JsonMembers members;
  for (const std::string_view item : *items) {
    if (!scan_object(item, members)) continue;
    const std::optional<std::string> file = json_string(find_member(members, "file"));
    const std::optional<std::string> glob = json_string(find_member(members, "glob"));
    if (file && glob) globs.push_back({*file, *glob});
  }
  return globs;
}

/// Absent if it is no list, or one of its values is no string.
std::optional<std::vector<std::string>> read_words(std::string_view list) {
  const auto items = scan_array(list);
  if (!items) return std::nullopt;
  std::vector<std::string> words;
  for (const std::string_view item : *items) {
    std::optional<std::string> word = json_string(item);
    if (!word) return std::nullopt;
    words.push_back(std::move(*word));
  }
  return words;
}

std::optional<std::map<std::string, std::string>> read_texts(std::string_view object) {
  JsonMembers members;
  if (!scan_object(object, members)) return std::nullopt;
  std::map<std::string, std::string> texts;
  for (const JsonMember& member : members) {
    const std::optional<std::string> key = json_string('"' + std::string(member.key) + '"');
    const std::optional<std::string> value = json_string(member.value);
    if (!key || !value) return std::nullopt;
    texts[*key] = *value;
  }
  return texts;
}

std::optional<int> positive(std::string_view value) {
  const std::optional<int> number = small_integer(value);
  return number && *number > 0 ? number : std::nullopt;
}

/// Fields whose values must be right where they are there: nothing is started by others.
class StartFields {
 public:
  StartFields(const JsonMembers& members, std::vector<std::string>& wrong) : members_(members), wrong_(wrong) {}

  /// Gives `value` what `read` makes of the field; leaves it alone where there is none, or null.
  template <typename T, typename Read>
  void take(const std::string& name, T& value, Read read) {
    const std::string_view text = find_member(members_, name);
    if (text.empty() || text == "null") return;
    if (auto found = read(text)) {
      value = std::move(*found);
    } else {
      wrong_.push_back(name);
    }
  }

 private:
  const JsonMembers& members_;
  std::vector<std::string>& wrong_;
};

void read_start(const JsonMembers& members, RunInfo& info) {
  StartFields fields(members, info.wrong);
  fields.take("argv", info.argv, [](std::string_view text) {
    const std::optional<std::string> program = json_string(text);
    return program ? std::optional(std::vector{*program}) : read_words(text);
  });
  fields.take("shell", info.shell, json_flag);
  fields.take("environment", info.environment, read_texts);
  fields.take("workdir", info.workdir, json_string);
  fields.take("run_dir", info.run_dir, [](std::string_view text) {
    const std::optional<std::string> name = json_string(text);
    return name == kOutputFolder ? name : std::nullopt;
  });
  fields.take("nodes", info.nodes, positive);
  fields.take("processes", info.processes, positive);
  std::string output;
  fields.take("output", output, json_string);
  info.merged_output = output == "merged";
}

FormulaNames read_formula_names(std::string_view object) {
  FormulaNames names;
  JsonMembers members, derived;
  if (!scan_object(object, members)) return names;
  names.parameters = json_bindings(find_member(members, "parameters"));
  scan_object(find_member(members, "derived"), derived);
  for (const JsonMember& member : derived)
    names.derived.emplace_back(std::string(member.key), json_string(member.value).value_or(""));
  return names;
}

void add_processes(std::string_view list, Finished& finished) {
  JsonMembers process;
  for (const std::string_view item : scan_array(list).value_or(std::vector<std::string_view>())) {
    if (!scan_object(item, process)) continue;
    if (const auto rank = json_integer(find_member(process, "rank"))) {
      for (const auto& [name, key] :
           {std::pair("rank_real_s", "wall_s"), std::pair("rank_user_s", "user_s"), std::pair("rank_sys_s", "sys_s")}) {
        if (const auto seconds = amount(find_member(process, key))) finished.ranks.push_back({name, *rank, *seconds});
      }
    }
    if (const auto user_s = amount(find_member(process, "user_s"))) finished.user_s = finished.user_s.value_or(0) + *user_s;
    if (const auto sys_s = amount(find_member(process, "sys_s"))) finished.sys_s = finished.sys_s.value_or(0) + *sys_s;
    if (const auto bytes = amount(find_member(process, "max_rss_bytes"))) {
      finished.max_rss_bytes = std::max(finished.max_rss_bytes.value_or(0), *bytes);
    }
  }
}

/// Names that leave the attempt's folder are left out.
std::vector<std::string> read_decks(std::string_view list) {
  std::vector<std::string> names;
  JsonMembers file;
  for (const std::string_view item : scan_array(list).value_or(std::vector<std::string_view>())) {
    const std::string name = scan_object(item, file) ? json_string(find_member(file, "path")).value_or("") : "";
    const bool leaves = name.starts_with('/') || ("/" + name + "/").find("/../") != std::string::npos;
    if (!name.empty() && !leaves) names.push_back(name);
  }
  return names;
}

std::optional<Segment> read_segment(std::string_view object) {
  JsonMembers members;
  if (!scan_object(object, members)) return std::nullopt;
  Segment segment;
  for (const std::string_view item : scan_array(find_member(members, "before")).value_or(std::vector<std::string_view>()))
    segment.before.push_back(small_integer(item).value_or(0));
  segment.from = small_integer(find_member(members, "from")).value_or(0);
  segment.warn_s = amount(find_member(members, "warn_s"));
  return segment;
}

}  // namespace

RunInfo parse_run_json(std::string_view text) {
  RunInfo info;
  JsonMembers members;
  if (!scan_schema_1(text, members)) return info;
  const auto member = [&](std::string_view key) { return find_member(members, key); };
  info.readable = true;
  info.experiment = line_of(member("experiment")).value_or("");
  info.config_id = line_of(member("config_id")).value_or("");
  info.run = line_of(member("run")).value_or("");
  info.attempt = small_integer(member("attempt")).value_or(0);
  info.batch = line_of(member("batch"));
  info.executor = line_of(member("executor")).value_or("");
  info.axes = json_bindings(member("axes"));
  info.gpus = std::max(0, small_integer(member("gpus")).value_or(1));
  info.has_gpus = member("has_gpus") != "false";
  info.launched_once = json_string(member("launch")) == "once";
  info.estimated_s = amount(member("estimated_s"));
  info.side_by_side = std::max(1, small_integer(member("side_by_side")).value_or(1));
  info.shares_numa = json_string(member("numa")) == "shared";
  info.alone = member("alone") == "true";
  info.intended_unix_s = amount(member("intended_unix_s"));
  read_start(members, info);
  info.outside = read_outside(member("outside"));
  info.metrics = read_metrics_json(member("metrics"));
  info.formula_names = read_formula_names(member("formulas"));
  for (const char* name : {"commit", "dirty", "hpcbench", "seed", "omp_num_threads"}) {
    if (const auto fact = json_scalar_text(member(name))) info.facts[name] = printable(*fact);
  }
  if (const auto repeats = small_integer(member("repeats"))) info.facts["planned_repeats"] = std::to_string(*repeats);
  add_file_facts(member("code"), "code", info.facts);
  add_program_fact(member("program"), info.facts);
  add_file_facts(member("files"), "deck", info.facts);
  add_file_facts(member("inputs"), "inputs", info.facts);
  info.decks = read_decks(member("files"));
  info.segment = read_segment(member("segment"));
  info.inject = member("inject");
  if (json_string(member("container"))) info.container_runtime = json_string(member("container_runtime")).value_or("apptainer");
  JsonMembers inner;
  if (scan_object(member("resources"), inner)) {
    StartFields fields(inner, info.wrong);
    fields.take("time_s", info.time_limit_s, amount);
    if (info.time_limit_s == 0) info.time_limit_s.reset();
    fields.take("cpus_per_task", info.cpus_per_task, positive);
  }
  if (scan_object(member("success"), inner)) {
    StartFields(inner, info.wrong).take("exit_code", info.success_exit_code, small_integer);
    info.success_pattern = json_string(find_member(inner, "pattern"));
    for (const std::string_view text : scan_array(find_member(inner, "require")).value_or(std::vector<std::string_view>()))
      info.success_require.push_back(json_string(text).value_or(""));
  }
  return info;
}

namespace {

/// Why a run cannot be started by this run.json; empty: it can.
std::string find_obstacle(std::string_view text, const RunInfo& info) {
  if (const auto offset = json_error_offset(text)) return fmt::format("no JSON from byte {} on", *offset);
  if (!info.readable) return "no JSON object of schema 1";
  if (!info.wrong.empty()) return fmt::format("the value of `{}` is not one that it may have", info.wrong.front());
  if (info.argv.empty() || info.argv[0].empty()) return "`argv` names no program";
  const char* const retired = !info.inject.empty() ? "inject" : info.alone ? "allocation.calibrate" : nullptr;
  if (retired == nullptr) return "";
  return fmt::format("this run was planned with `{}`, which this version does not have: start it with the version that made it",
                     retired);
}

}  // namespace

RunInfo startable_run(const std::string& text, const std::string& path) {
  RunInfo info = parse_run_json(text);
  if (const std::string obstacle = find_obstacle(text, info); !obstacle.empty())
    throw InputError(fmt::format("error: {}: {}", path, obstacle));
  return info;
}

std::string run_json_field(std::string_view text, std::string_view name) {
  JsonMembers members;
  if (!scan_object(text, members)) return "";
  const std::string_view value = find_member(members, name);
  if (value == "null") return "";
  return json_string(value).value_or(std::string(value));
}

Started parse_started(std::string_view text) {
  Started started;
  JsonMembers members;
  if (!scan_schema_1(text, members)) return started;
  started.readable = true;
  started.host = line_of(find_member(members, "host")).value_or("");
  started.started_unix_s = amount(find_member(members, "started_unix_s"));
  started.job = line_of(find_member(members, "job"));
  started.cores = small_integer(find_member(members, "cores"));
  started.devices = line_of(find_member(members, "devices"));
  started.nodes = line_of(find_member(members, "nodes"));
  return started;
}

Finished parse_finished(std::string_view text) {
  Finished finished;
  JsonMembers members;
  if (!scan_schema_1(text, members)) return finished;
  const auto member = [&](std::string_view key) { return find_member(members, key); };
  finished.readable = true;
  finished.host = line_of(member("host")).value_or("");
  finished.finished_unix_s = amount(member("finished_unix_s"));
  finished.wall_s = amount(member("wall_s"));
  finished.time_limit_s = amount(member("time_limit_s"));
  finished.suspended_s = amount(member("suspended_s"));
  finished.exit_code = small_integer(member("exit_code"));
  finished.signal = small_integer(member("signal"));
  if (finished.signal == 0) finished.signal.reset();
  finished.first_failed_rank = small_integer(member("first_failed_rank"));
  finished.timed_out = json_flag(member("timed_out")).value_or(false);
  finished.cancelled = json_flag(member("cancelled")).value_or(false);
  finished.oom_kill = json_flag(member("oom_kill")).value_or(false);
  finished.warned = json_flag(member("warned")).value_or(false);
  finished.never_began = json_flag(member("never_began")).value_or(false);
  finished.error = line_of(member("error"));
  finished.bound = line_of(member("bound"));
  finished.shared = line_of(member("shared"));
  finished.tail = json_string(member("tail")).value_or("");
  add_processes(member("processes"), finished);
  JsonMembers files;
  scan_object(member("files"), files);
  for (const JsonMember& file : files) {
    if (const auto size = json_integer(file.value)) finished.files[std::string(file.key)] = *size;
  }
  return finished;
}

void write_success(JsonWriter& json, int exit_code, const std::optional<std::string>& pattern,
                   const std::vector<std::string>& require) {
  json.begin_object().member("exit_code", exit_code).member("pattern", pattern);
  if (!require.empty()) json.member("require", require);
  json.end();
}

}  // namespace hpcbench

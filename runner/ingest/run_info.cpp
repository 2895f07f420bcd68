#include "ingest/run_info.hpp"

#include <algorithm>
#include <limits>

#include "base/host.hpp"
#include "base/take.hpp"
#include "ingest/json_text.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/metric_reader.hpp"

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

/// The files that a command names, as facts `code:PATH`, and one short hash for all of them as `code`: equal if and only if
/// the command names the same files with the same content.
void add_code_facts(std::string_view list, std::map<std::string, std::string>& facts) {
  std::vector<std::string> lines;
  JsonMembers file;
  for (const std::string_view item : scan_array(list).value_or(std::vector<std::string_view>())) {
    if (!scan_object(item, file)) continue;
    const std::optional<std::string> path = json_string(find_member(file, "path"));
    const std::optional<std::string> sha256 = json_string(find_member(file, "sha256"));
    if (!path || !sha256) continue;
    lines.push_back(*path + '\0' + *sha256 + '\n');
    facts["code:" + printable(*path)] = printable(sha256->substr(0, kHashDigits));
  }
  if (lines.empty()) return;
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line;
  facts["code"] = sha256_hex(all, kHashDigits);
}

std::vector<MetricSpec> read_metric_specs(std::string_view list) {
  std::vector<MetricSpec> specs;
  JsonMembers members;
  for (const std::string_view item : scan_array(list).value_or(std::vector<std::string_view>())) {
    if (!scan_object(item, members)) continue;
    const auto text = [&](std::string_view key) { return json_string(find_member(members, key)).value_or(std::string()); };
    MetricSpec spec{text("name"), text("file"), "", text("unit"), false, "", text("index")};
    const std::string_view series = find_member(members, "series");
    spec.series = json_flag(series).value_or(!json_string(series).value_or("").empty());
    if (const std::string take = text("take"); parse_take(take)) spec.take = take;
    spec.skip = std::max(0LL, json_integer(find_member(members, "skip")).value_or(0));
    for (const MetricSource& source : metric_sources()) {
      if (find_member(members, source.key).empty()) continue;
      spec.source = source.key;
      spec.selector = text(source.key.c_str());
    }
    if (const std::string formula = text("formula"); !formula.empty()) {
      spec.source = "formula";
      spec.selector = formula;
    }
    if (!spec.name.empty() && (!spec.file.empty() || spec.is_formula())) specs.push_back(std::move(spec));
  }
  return specs;
}

NamesOfFormulas read_names_of_formulas(std::string_view object) {
  NamesOfFormulas names;
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
  info.gpus = std::max(1, small_integer(member("gpus")).value_or(1));
  info.nodes = std::max(1, small_integer(member("nodes")).value_or(1));
  info.processes = std::max(1, small_integer(member("processes")).value_or(1));
  info.launched_once = json_string(member("launch")) == "once";
  info.intended_unix_s = amount(member("intended_unix_s"));
  info.workdir = json_string(member("workdir")).value_or("");
  if (const auto outside = scan_array(member("outside"))) info.outside_globs = outside->size();
  info.metrics = read_metric_specs(member("metrics"));
  info.formula_names = read_names_of_formulas(member("formulas"));
  for (const char* name : {"commit", "dirty", "hpcbench", "seed"}) {
    if (const auto fact = json_scalar_text(member(name))) info.facts[name] = printable(*fact);
  }
  if (const auto repeats = small_integer(member("repeats"))) info.facts["planned_repeats"] = std::to_string(*repeats);
  add_code_facts(member("code"), info.facts);
  JsonMembers inner;
  if (scan_object(member("resources"), inner)) {
    info.time_limit_s = amount(find_member(inner, "time_s"));
    info.cpus_per_task = std::max(1, small_integer(find_member(inner, "cpus_per_task")).value_or(1));
  }
  if (scan_object(member("success"), inner)) {
    info.success_exit_code = small_integer(find_member(inner, "exit_code")).value_or(0);
    info.success_pattern = json_string(find_member(inner, "pattern"));
    for (const std::string_view text : scan_array(find_member(inner, "require")).value_or(std::vector<std::string_view>()))
      info.success_require.push_back(json_string(text).value_or(""));
  }
  return info;
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
  finished.exit_code = small_integer(member("exit_code"));
  finished.signal = small_integer(member("signal"));
  if (finished.signal == 0) finished.signal.reset();
  finished.first_failed_rank = small_integer(member("first_failed_rank"));
  finished.timed_out = json_flag(member("timed_out")).value_or(false);
  finished.cancelled = json_flag(member("cancelled")).value_or(false);
  finished.oom_kill = json_flag(member("oom_kill")).value_or(false);
  finished.never_began = json_flag(member("never_began")).value_or(false);
  finished.error = line_of(member("error"));
  finished.tail = json_string(member("tail")).value_or("");
  add_processes(member("processes"), finished);
  JsonMembers files;
  scan_object(member("files"), files);
  for (const JsonMember& file : files) {
    if (const auto size = json_integer(file.value)) finished.files[std::string(file.key)] = *size;
  }
  return finished;
}

}  // namespace hpcbench

#include "ingest/imported.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "base/json_text.hpp"
#include "base/measured_time.hpp"
#include "base/series_point.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

std::string numbers_object(const std::map<std::string, double>& numbers) {
  std::string out;
  for (const auto& [name, number] : numbers) {
    if (std::isfinite(number)) out += fmt::format("{}{}:{}", out.empty() ? "" : ",", json_quote(name), number);
  }
  return '{' + out + '}';
}

std::string series_object(const std::vector<SeriesPoint>& series) {
  std::string out;
  for (const auto& [name, points] : series_json(series))
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", json_quote(name), points);
  return '{' + out + '}';
}

std::vector<SeriesPoint> read_series_object(std::string_view object) {
  std::vector<SeriesPoint> series;
  JsonMembers members;
  scan_object(object, members);
  for (const JsonMember& member : members) read_points(json_member_name(member), member.value, series);
  return series;
}

std::string source_object(const ImportedSource& source) {
  return fmt::format(R"({{"path":{},"sha256":{},"bytes":{},"changed_ns":{},"file":{}{}}})", json_quote(source.path),
                     json_quote(source.sha256), source.size_bytes, source.changed_ns,
                     source.file ? json_quote(*source.file) : "null",
                     source.line ? fmt::format(",\"line\":{}", *source.line) : "");
}

std::vector<ImportedSource> read_source_list(std::string_view list) {
  std::vector<ImportedSource> sources;
  JsonMembers members;
  for (const std::string_view item : scan_array(list).value_or(std::vector<std::string_view>())) {
    if (!scan_object(item, members)) continue;
    const auto member = [&](std::string_view key) { return find_member(members, key); };
    sources.push_back({json_string(member("path")).value_or(""), json_string(member("sha256")).value_or(""),
                       json_integer(member("bytes")).value_or(0), json_integer(member("changed_ns")).value_or(0),
                       json_string(member("file")), json_integer(member("line"))});
  }
  return sources;
}

std::string text_or_null(const std::optional<std::string>& text) { return text ? json_quote(*text) : "null"; }

}  // namespace

std::string imported_json(const Imported& imported) {
  std::string sources, warnings;
  for (const ImportedSource& source : imported.sources) sources += (sources.empty() ? "" : ",\n    ") + source_object(source);
  for (const std::string& warning : imported.warnings) warnings += (warnings.empty() ? "" : ",") + json_quote(warning);
  return fmt::format(
      "{{\n  \"schema\": 1,\n  \"identity\": {},\n  \"request\": {},\n  \"by\": \"{}\",\n  \"sources\": [{}],\n"
      "  \"values\": {},\n  \"units\": {},\n  \"series\": {},\n  \"facts\": {},\n  \"places\": {},\n  \"warnings\": [{}],\n"
      "  \"outcome\": \"{}\",\n  \"reason\": {},\n  \"statistic\": {},\n  \"n\": {},\n  \"note\": {}{}\n}}\n",
      json_quote(imported.identity), json_quote(imported.request), imported.by_file ? "file" : "ingest", sources,
      numbers_object(imported.values), texts_object(imported.units), series_object(imported.series),
      texts_object(imported.facts), texts_object(imported.places), warnings, to_string(imported.outcome),
      text_or_null(imported.reason), text_or_null(imported.statistic), imported.n ? std::to_string(*imported.n) : "null",
      text_or_null(imported.note), imported.asked ? ",\n  \"asked\": " + *imported.asked : "");
}

std::optional<Imported> parse_imported(std::string_view text) {
  JsonMembers members;
  if (!scan_object(text, members)) return std::nullopt;
  const auto member = [&](std::string_view key) { return find_member(members, key); };
  const std::optional<State> outcome = parse_state(json_string(member("outcome")).value_or(""));
  if (json_integer(member("schema")) != 1 || !outcome || !is_outcome(*outcome)) return std::nullopt;
  Imported imported;
  imported.identity = json_string(member("identity")).value_or("");
  imported.request = json_string(member("request")).value_or("");
  imported.by_file = json_string(member("by")) == "file";
  imported.sources = read_source_list(member("sources"));
  JsonMembers values;
  scan_object(member("values"), values);
  for (const JsonMember& value : values) {
    if (const auto number = json_number(value.value)) imported.values[json_member_name(value)] = *number;
  }
  imported.units = read_texts_object(member("units"));
  imported.series = read_series_object(member("series"));
  imported.facts = read_texts_object(member("facts"));
  imported.places = read_texts_object(member("places"));
  for (const std::string_view item : scan_array(member("warnings")).value_or(std::vector<std::string_view>())) {
    if (auto warning = json_string(item)) imported.warnings.push_back(*std::move(warning));
  }
  imported.outcome = *outcome;
  imported.reason = json_string(member("reason"));
  imported.statistic = json_string(member("statistic"));
  imported.n = json_integer(member("n"));
  imported.note = json_string(member("note"));
  if (!member("asked").empty()) imported.asked = std::string(member("asked"));
  return imported;
}

std::vector<SeriesPoint> rank_series(const std::map<std::string, std::string>& facts) {
  std::vector<SeriesPoint> series;
  for (const char* name : {"rank_real_s", "rank_sys_s", "rank_train_s", "rank_user_s"}) {
    const auto fact = facts.find(name);
    if (fact == facts.end()) continue;
    long long rank = 0;
    for (const std::string& part : split(fact->second, ' ')) {
      if (part.empty()) continue;
      if (const auto number = parse_plain_number(part)) series.push_back({name, rank, *number, {}});
      ++rank;
    }
  }
  return series;
}

}  // namespace hpcbench

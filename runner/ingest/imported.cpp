#include "ingest/imported.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/json_text.hpp"
#include "base/json_writer.hpp"
#include "base/series_point.hpp"
#include "base/text.hpp"
#include "base/written_number.hpp"

namespace hpcbench {

namespace {

void write_source(JsonWriter& json, const ImportedSource& source) {
  json.begin_object().member("path", source.path).member("sha256", source.sha256).member("bytes", source.size_bytes);
  json.member("changed_ns", source.changed_ns).member("file", source.file);
  if (source.line) json.member("line", *source.line);
  json.end();
}

std::vector<SeriesPoint> read_series_object(std::string_view object) {
  std::vector<SeriesPoint> series;
  JsonMembers members;
  scan_object(object, members);
  for (const JsonMember& member : members) read_points(json_member_name(member), member.value, series);
  return series;
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

}  // namespace

std::string imported_json(const Imported& imported) {
  JsonWriter json;
  json.begin_object(JsonLayout::lines).member("schema", 1).member("identity", imported.identity);
  json.member("request", imported.request).member("by", imported.by_file ? "file" : "ingest").key("sources").begin_array();
  for (const ImportedSource& source : imported.sources) {
    if (&source != &imported.sources.front()) json.break_line(4);
    write_source(json, source);
  }
  json.end().key("values").begin_object();
  for (const auto& [name, number] : imported.values) {
    if (std::isfinite(number)) json.member(name, number);
  }
  json.end().member("units", imported.units).key("series").begin_object();
  for (auto& [name, points] : series_json(imported.series)) json.member(name, JsonText{points});
  json.end().member("facts", imported.facts).member("places", imported.places).member("warnings", imported.warnings);
  json.member("outcome", to_string(imported.outcome)).member("reason", imported.reason).member("statistic", imported.statistic);
  json.member("n", imported.n).member("note", imported.note);
  if (imported.asked) json.member("asked", JsonText{*imported.asked});
  return json.end().take() + "\n";
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

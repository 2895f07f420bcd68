#include "ingest/reading.hpp"

#include <fmt/format.h>

#include "base/host.hpp"
#include "base/json_text.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "ingest/line_reader.hpp"

namespace hpcbench {

namespace {

constexpr int kRulesDigits = 12;
constexpr int kReaderVersion = 5;  // another one reads all attempts again

void write_rules(JsonWriter& json, const ReadingRules& rules) {
  json.begin_object().key("metrics").begin_array();
  for (const Metric& metric : rules.metrics) write_metric(json, metric, false);
  json.end().key("success");
  write_success(json, rules.success_exit_code, rules.success_pattern, rules.success_require);
  if (!rules.formula_names.empty()) json.member("formulas", rules.formula_names);
  json.end();
}

/// The text of a key of an object: keys come as they stand in the file, without their quotes.
std::string key_text(std::string_view key) { return json_string('"' + std::string(key) + '"').value_or(""); }

}  // namespace

ReadingRules rules_of(const RunInfo& info) {
  return {info.metrics, info.success_exit_code, info.success_pattern, info.success_require, info.formula_names};
}

std::string rules_json(const ReadingRules& rules) {
  JsonWriter json;
  write_rules(json, rules);
  return json.take();
}

std::string rules_hash(const ReadingRules& rules) {
  return sha256_hex(fmt::format("{} {}", kReaderVersion, rules_json(rules)), kRulesDigits);
}

const std::string& Reading::hash_of(const std::string& config_id) const {
  const auto other = others.empty() ? others.end() : others.find(config_id);
  return other == others.end() ? usual : other->second;
}

const ReadingRules* Reading::find(const std::string& config_id) const {
  const auto found = rules.find(hash_of(config_id));
  return found == rules.end() ? nullptr : &found->second;
}

std::string reading_json(const Reading& reading) {
  JsonWriter json;
  json.begin_object(JsonLayout::lines).member("schema", 1).member("usual", text_or_null(reading.usual));
  json.key("rules").begin_object(JsonLayout::spaced);
  for (const auto& [hash, rules] : reading.rules) write_rules(json.break_line(4).key(hash), rules);
  json.end().key("configurations").begin_object(JsonLayout::spaced);
  for (const auto& [id, hash] : reading.others) json.break_line(4).member(id, text_or_null(hash));
  return json.end().end().take() + "\n";
}

Reading parse_reading(std::string_view text) {
  JsonMembers members;
  if (!scan_object(text, members) || json_integer(find_member(members, "schema")) != 1) return {};
  Reading reading;
  std::map<std::string, std::string> hashes;  // by the name that they have in the file
  JsonMembers inner;
  scan_object(find_member(members, "rules"), inner);
  for (const JsonMember& member : inner) {
    // What they say counts, not their name: somebody may have changed them by hand, or another version named them.
    ReadingRules rules = rules_of(parse_run_json(member.value));
    std::string hash = rules_hash(rules);
    reading.rules.emplace(hash, std::move(rules));
    const std::string name = key_text(member.key);
    if (name != hash) reading.renamed[name] = hash;
    hashes[name] = std::move(hash);
  }
  const auto known = [&](std::string_view value) {
    const auto hash = hashes.find(json_string(value).value_or(""));
    return hash == hashes.end() ? std::string() : hash->second;
  };
  reading.usual = known(find_member(members, "usual"));
  scan_object(find_member(members, "configurations"), inner);
  for (const JsonMember& member : inner) reading.others[key_text(member.key)] = known(member.value);
  return reading;
}

Reading read_reading(const std::string& results) {
  std::string problem;
  return parse_reading(read_small_file(results + '/' + kReadingFile, problem).value_or(""));
}

}  // namespace hpcbench

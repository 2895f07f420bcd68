#include "ingest/reading.hpp"

#include <fmt/format.h>

#include "base/host.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "ingest/line_reader.hpp"

namespace hpcbench {

namespace {

constexpr int kRulesDigits = 12;
constexpr int kReaderVersion = 3;  // another one reads all attempts again

std::string metric_rule_json(const Metric& metric) {
  return fmt::format(R"({{"name":{},"file":{},"{}":{},"unit":{},"series":{}{}}})", json_quote(metric.name),
                     json_quote(metric.file), metric.source, json_quote(metric.selector), json_quote(metric.unit),
                     metric.series ? "true" : "false", optional_metric_json(metric));
}

std::string require_json(const std::vector<std::string>& require) {
  std::string list;
  for (const std::string& each : require) list += (list.empty() ? "" : ",") + json_quote(each);
  return list.empty() ? "" : ",\"require\":[" + list + ']';
}

std::string names_json(const NamesOfFormulas& names) {
  if (names.empty()) return "";
  std::string derived;
  for (const auto& [name, text] : names.derived)
    derived += fmt::format("{}{}:{}", derived.empty() ? "" : ",", json_quote(name), json_quote(text));
  return fmt::format(R"(,"formulas":{{"parameters":{},"derived":{{{}}}}})", bindings_json(names.parameters), derived);
}

std::string hash_or_null(const std::string& hash) { return hash.empty() ? "null" : json_quote(hash); }

/// The text of a key of an object: keys come as they stand in the file, without their quotes.
std::string key_text(std::string_view key) { return json_string('"' + std::string(key) + '"').value_or(""); }

}  // namespace

ReadingRules rules_of(const RunInfo& info) {
  return {info.metrics, info.success_exit_code, info.success_pattern, info.success_require, info.formula_names};
}

std::string rules_json(const ReadingRules& rules) {
  std::string metrics;
  for (const Metric& metric : rules.metrics) metrics += (metrics.empty() ? "" : ",") + metric_rule_json(metric);
  return fmt::format(R"({{"metrics":[{}],"success":{{"exit_code":{},"pattern":{}{}}}{}}})", metrics, rules.success_exit_code,
                     rules.success_pattern ? json_quote(*rules.success_pattern) : "null", require_json(rules.success_require),
                     names_json(rules.formula_names));
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
  std::string rules, others;
  for (const auto& [hash, each] : reading.rules)
    rules += fmt::format("{}    {}: {}", rules.empty() ? "\n" : ",\n", json_quote(hash), rules_json(each));
  for (const auto& [id, hash] : reading.others)
    others += fmt::format("{}    {}: {}", others.empty() ? "\n" : ",\n", json_quote(id), hash_or_null(hash));
  return fmt::format("{{\n  \"schema\": 1,\n  \"usual\": {},\n  \"rules\": {{{}}},\n  \"configurations\": {{{}}}\n}}\n",
                     hash_or_null(reading.usual), rules, others);
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

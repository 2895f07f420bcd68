#include "base/metric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace hpcbench {

const std::vector<std::string>& metric_source_keys() {
  static const std::vector<std::string> kKeys = {"pattern", "column", "pointer", "tag", "time", "accounting"};
  return kKeys;
}

bool is_one_of(std::string_view cell, const std::vector<Value>& values) {
  const Value found = Value::from_plain(cell);
  return std::any_of(values.begin(), values.end(), [&](const Value& value) { return value == found || value.text() == cell; });
}

std::string describe_where(const Condition& where) {
  std::vector<std::string> clauses;
  for (const auto& [name, values] : where) {
    std::vector<std::string> texts;
    for (const Value& value : values) texts.push_back(value.text());
    clauses.push_back(name + " is " + join(texts, " or "));
  }
  return join(clauses, ", ");
}

namespace {

std::string where_json(const Condition& where) {
  std::vector<std::string> members;
  for (const auto& [name, values] : where) {
    std::vector<std::string> texts;
    for (const Value& value : values) texts.push_back(value.canonical());
    members.push_back(json_quote(name) + ":[" + join(texts, ",") + "]");
  }
  return "{" + join(members, ",") + "}";
}

}  // namespace

std::string optional_metric_json(const Metric& metric) {
  std::string json;
  if (!metric.index.empty()) json += ",\"index\":" + json_quote(metric.index);
  if (metric.take != "last") json += ",\"take\":" + json_quote(metric.take);
  if (metric.skip > 0) json += fmt::format(",\"skip\":{}", metric.skip);
  if (!metric.header.empty()) json += ",\"header\":" + json_quote(metric.header);
  if (metric.header_line > 0) json += fmt::format(",\"header\":{}", metric.header_line);
  if (!metric.where.empty()) json += ",\"where\":" + where_json(metric.where);
  return json;
}

}  // namespace hpcbench

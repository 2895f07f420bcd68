#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "base/value.hpp"
#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

/// A number above 0.
std::optional<double> read_positive(MapReader& reader, const YamlNode& node, std::string_view key, std::string_view advice,
                                    Diagnostics& diagnostics) {
  const auto number = reader.number(key);
  if (!number || (*number > 0 && std::isfinite(*number))) return number;
  diagnostics.add(node.find(key)->location, fmt::format("`report.{}` must be more than 0, not {}", key, *number),
                  std::string(advice));
  return std::nullopt;
}

constexpr const char* kReferenceForm = "{when: {nodes: 2}, metric: tokens_per_s, value: 88620, low: -5 %}";

/// `-5 %` as -0.05: how far a value may lie from its reference, on the side of `sign`.
std::optional<double> read_share(MapReader& reader, std::string_view key, int sign, Diagnostics& diagnostics) {
  constexpr double kLeast = -100, kMost = 1e6;
  const std::optional<std::string> text = reader.filled_text(key);
  if (!text) return std::nullopt;
  const std::optional<double> percent = parse_percent(*text);
  if (percent && *percent * sign >= 0 && *percent >= kLeast && *percent <= kMost) return *percent / 100;
  diagnostics.add(reader.location_of(key),
                  fmt::format("{} says how far {} `value` a row may be, and {} does not", cite(key),
                              sign < 0 ? "below" : "above", cite(*text)),
                  sign < 0 ? "in percent of `value`, from 0 % down to -100 %: low: -5 %" : "in percent of `value`: high: 5 %");
  return std::nullopt;
}

std::optional<ParsedReference> read_reference(const YamlNode& node, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.made();
  MapReader reader(node, "report.references", reference_keys(), diagnostics);
  ParsedReference parsed;
  MetricReference& reference = parsed.reference;
  reference.place = place_of(node.location);
  if (const YamlNode* when = reader.take("when")) parsed.when = read_point_condition(*when, "`when`", diagnostics);
  reference.metric = reader.filled_text("metric");
  if (const auto value = reader.number("value")) {
    reference.value = *value;
    if (!(*value > 0) || !std::isfinite(*value)) {
      diagnostics.add(node.find("value")->location,
                      "`value` of a reference must be more than 0, as `low` and `high` are shares of it");
    }
  }
  reference.low = read_share(reader, "low", -1, diagnostics);
  reference.high = read_share(reader, "high", 1, diagnostics);
  if (node.is_map() && !reader.has("value")) diagnostics.add(node.location, "a reference needs `value`", kReferenceForm);
  if (node.is_map() && !reader.has("low") && !reader.has("high")) {
    diagnostics.add(node.location, "a reference needs `low`, `high` or both: without them no row could miss it",
                    kReferenceForm);
  }
  reader.finish();
  return diagnostics.made() == before ? std::optional(std::move(parsed)) : std::nullopt;
}

void read_references(const YamlNode& list, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  if (!expect_list(list, "`report.references`", diagnostics)) return;
  for (const YamlNode& item : list.items) {
    if (diagnostics.full()) return;
    if (auto reference = read_reference(item, diagnostics)) parsed.references.push_back(*std::move(reference));
  }
}

/// A whole number or a word, as a series has them.
std::optional<Value> read_inner_value(MapReader& reader, Diagnostics& diagnostics) {
  constexpr long long kMost = 9'000'000'000'000'000;  // doubles are whole numbers up to here
  const YamlNode* node = reader.take("at");
  if (node == nullptr) return std::nullopt;
  const std::optional<Value> value = read_value(*node, "`report.at`", diagnostics);
  if (!value) return std::nullopt;
  if (value->is_number()) {
    const std::optional<long long> number = read_integer(*node, "`report.at`", -kMost, kMost, diagnostics);
    return number ? std::optional(Value::from_integer(*number)) : std::nullopt;
  }
  if (value->text().empty()) diagnostics.add(node->location, "`report.at` is empty", "report: {rows: kernel, at: Triad}");
  const Value plain = Value::from_plain(value->text());
  return plain.integer() ? plain : Value::from_text(value->text());
}

/// The series that has a table of its own.
void read_inner_axis(MapReader& reader, ReportSettings& report, Diagnostics& diagnostics) {
  const std::optional<std::string> rows = reader.filled_text("rows");
  const std::optional<Value> at = read_inner_value(reader, diagnostics);
  if (reader.has("rows") != reader.has("at")) {
    const bool lacks_at = reader.has("rows");
    diagnostics.add(reader.location_of(lacks_at ? "rows" : "at"),
                    lacks_at ? "`report.rows` needs `at`: which of its values the main table shows"
                             : "`report.at` says which value of `report.rows` the main table shows, and there is no `rows`",
                    "report: {rows: size, at: 1048576}");
  }
  if (rows && at) report.inner = InnerAxis{*rows, *at};
}

}  // namespace

void read_report(const YamlNode& node, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  constexpr double kLeastConfidence = 0.5;
  constexpr double kMostConfidence = 0.999;
  MapReader reader(node, "report", report_keys(), diagnostics);
  ReportSettings& report = parsed.experiment.report;
  report.metric = reader.filled_text("metric");
  assign(report.time_unit,
         reader.choice<std::string>("time_unit", {{"s", "s"}, {"min", "min"}, {"h", "h"}, {"h:mm:ss", "h:mm:ss"}}));
  assign(report.speedup_style, reader.choice<std::string>("speedup_style", {{"plain", ""}, {"x", "x"}}));
  if (const auto confidence = reader.number("confidence")) {
    report.confidence = *confidence;
    if (*confidence < kLeastConfidence || *confidence > kMostConfidence) {
      diagnostics.add(
          node.find("confidence")->location,
          fmt::format("`report.confidence` must be between {} and {}, not {}", kLeastConfidence, kMostConfidence, *confidence),
          "95 % is 0.95");
    }
  }
  assign(report.paired, reader.flag("paired"));
  assign(report.scaling, reader.choice<Scaling>("scaling", {{"fixed_work", Scaling::fixed_work}, {"weak", Scaling::weak}}));
  report.scale_by = reader.choice<ScaleBy>(
      "scale_by", {{"gpus", ScaleBy::gpus}, {"ranks", ScaleBy::ranks}, {"nodes", ScaleBy::nodes}, {"cores", ScaleBy::cores}});
  assign(report.columns, reader.texts("columns"));
  assign(report.group_by, reader.texts("group_by"));
  assign(report.sort, reader.texts("sort"));
  report.peak_tflops =
      read_positive(reader, node, "peak_tflops", "that of one gpu at this precision: an A100 has 312 in bf16", diagnostics);
  report.target_loss =
      read_positive(reader, node, "target_loss", "a loss that training passes on its way, as in 1.2", diagnostics);
  if (const YamlNode* where = reader.take("where")) parsed.where = read_point_condition(*where, "`report.where`", diagnostics);
  if (parsed.where) report.where = parsed.where->condition;
  if (parsed.where) report.where_if = parsed.where->expression;
  read_inner_axis(reader, report, diagnostics);
  if (const YamlNode* references = reader.take("references")) read_references(*references, parsed, diagnostics);
  reader.finish();
}

}  // namespace hpcbench

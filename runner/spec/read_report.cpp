#include <fmt/format.h>

#include <cmath>

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

}  // namespace

void read_report(const YamlNode& node, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  constexpr double kLeastConfidence = 0.5;
  constexpr double kMostConfidence = 0.999;
  MapReader reader(node, "report", diagnostics);
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
  reader.finish();
}

}  // namespace hpcbench

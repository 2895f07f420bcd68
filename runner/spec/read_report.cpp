#include <fmt/format.h>

#include <cmath>

#include "spec/draft.hpp"
#include "spec/fields.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

/// A number above 0.
std::optional<double> read_positive(MapReader& reader, const YamlNode& node, std::string_view key, std::string_view advice,
                                    Complaints& complaints) {
  const auto number = reader.number(key);
  if (!number || (*number > 0 && std::isfinite(*number))) return number;
  complaints.add(node.find(key)->spot, fmt::format("`report.{}` must be more than 0, not {}", key, *number),
                 std::string(advice));
  return std::nullopt;
}

}  // namespace

void read_report(const YamlNode& node, Draft& draft, Complaints& complaints) {
  constexpr double kLeastConfidence = 0.5;
  constexpr double kMostConfidence = 0.999;
  MapReader reader(node, "report", complaints);
  ReportSettings& report = draft.experiment.report;
  report.metric = reader.filled_text("metric");
  assign(report.time_unit,
         reader.choice<std::string>("time_unit", {{"s", "s"}, {"min", "min"}, {"h", "h"}, {"h:mm:ss", "h:mm:ss"}}));
  assign(report.speedup_style, reader.choice<std::string>("speedup_style", {{"plain", ""}, {"x", "x"}}));
  if (const auto confidence = reader.number("confidence")) {
    report.confidence = *confidence;
    if (*confidence < kLeastConfidence || *confidence > kMostConfidence) {
      complaints.add(
          node.find("confidence")->spot,
          fmt::format("`report.confidence` must be between {} and {}, not {}", kLeastConfidence, kMostConfidence, *confidence),
          "95 % is 0.95");
    }
  }
  assign(report.paired, reader.flag("paired"));
  assign(report.scaling, reader.choice<Scaling>("scaling", {{"fixed_work", Scaling::fixed_work}, {"weak", Scaling::weak}}));
  assign(report.columns, reader.texts("columns"));
  assign(report.group_by, reader.texts("group_by"));
  assign(report.sort, reader.texts("sort"));
  report.peak_tflops =
      read_positive(reader, node, "peak_tflops", "that of one gpu at this precision: an A100 has 312 in bf16", complaints);
  report.target_loss =
      read_positive(reader, node, "target_loss", "a loss that training passes on its way, as in 1.2", complaints);
  if (const YamlNode* where = reader.take("where")) draft.where = read_point_condition(*where, "`report.where`", complaints);
  if (draft.where) report.where = draft.where->condition;
  if (draft.where) report.where_if = draft.where->expression;
  reader.finish();
}

}  // namespace hpcbench

#include <fmt/format.h>

#include "spec/draft.hpp"
#include "spec/fields.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

void read_report(const YamlNode& node, Draft& draft, Complaints& complaints) {
  constexpr double kLeastConfidence = 0.5;
  constexpr double kMostConfidence = 0.999;
  MapReader reader(node, "report", complaints);
  ReportSettings& report = draft.experiment.report;
  report.metric = reader.filled_text("metric");
  assign(report.time_unit, reader.choice<std::string>("time_unit", {{"s", "s"}, {"min", "min"}, {"h", "h"}}));
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
  if (const YamlNode* where = reader.take("where")) draft.where = read_condition(*where, "`report.where`", true, complaints);
  if (draft.where) report.where = draft.where->condition;
  reader.finish();
}

}  // namespace hpcbench

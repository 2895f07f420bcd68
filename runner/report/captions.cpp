#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "report/cells.hpp"
#include "report/columns.hpp"
#include "report/digits.hpp"
#include "report/methods.hpp"
#include "report/samples.hpp"
#include "report/table.hpp"

namespace hpcbench {
namespace {

bool has_intervals(const Table& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const Row& row) { return row.summary && row.summary->interval; });
}

bool has_speedup_intervals(const Table& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const Row& row) { return row.speedup && row.speedup->interval; });
}

std::string looks_text(const std::vector<int>& looks) {
  std::vector<std::string> texts;
  for (const int look : looks) texts.push_back(std::to_string(look));
  return join(texts, ", ");
}

std::string metric_sentence(const Table& table) {
  const std::string unit = table.unit == "s" ? table.time_unit : table.unit;
  std::vector<std::string> about;
  if (!unit.empty()) about.push_back(unit);
  if (table.kind.better) about.push_back(to_string(*table.kind.better) + " is better");
  const std::string metric = table.metric + (about.empty() ? "" : " (" + join(about, ", ") + ")");
  const std::string word = value_word(table);
  if (word != "median" && word != "value")
    return fmt::format("{}: the published {} of n runs, without an interval.", metric, word);
  const std::string begin = metric + ": n independent runs";
  const std::string center =
      word == "value" ? "their median (in other rows the published value that the column `statistic` names)" : "their median";
  if (!has_intervals(table)) return fmt::format("{} and {}; no row has enough runs for an interval.", begin, center);
  if (!table.looks.empty()) {
    return fmt::format(
        "{}; {}, and its exact interval from order statistics at the last look that the row has reached. Looks were "
        "fixed at {} runs; intervals of all of them hold together with {:g} %.",
        begin, center, looks_text(table.looks), 100 * table.confidence);
  }
  return fmt::format(
      "{}; {}, and its exact interval from order statistics with the coverage that it reaches ({:g} % was "
      "requested).",
      begin, center, 100 * table.confidence);
}

/// Returns the direction of the ratios.
std::string direction_of_ratio(const Table& table) {
  return table.kind.better == Better::higher ? "row / baseline" : "baseline / row";
}

/// For values per GPU: speedup and efficiency are not per GPU.
std::string per_unit_sentence(const Table& table) {
  const std::string one = table.kind.per.substr(0, table.kind.per.size() - 1);
  return fmt::format("A value is that of one {0}: speedup compares values x {1}, those of whole runs.", one, table.kind.per);
}

std::string baseline_text(const Condition& baseline) {
  std::vector<std::string> parts;
  for (const auto& [name, values] : baseline) {
    std::vector<std::string> texts;
    for (const Value& value : values) texts.push_back(value.text());
    parts.push_back(name + "=" + join(texts, "|"));
  }
  return join(parts, ", ");
}

std::string fit_line(const Table& table, const Fit& fit) {
  std::string line = fmt::format("{}, {}: serial fraction {}, residuals {} (root mean square, {} degree{} of freedom)", fit.law,
                                 fit.label, three_digits(fit.serial_fraction), three_digits(fit.residual_rms),
                                 fit.degrees_of_freedom, fit.degrees_of_freedom == 1 ? "" : "s");
  std::vector<std::string> parts;
  for (const FitPoint& point : fit.points) {
    if (!point.speedup) continue;
    parts.push_back(fmt::format("{} {} (fit {})", counted_size(table.scale_by, point.size), three_digits(point.speedup),
                                three_digits(point.fitted)));
  }
  for (const FitPoint& point : fit.extrapolated) {
    parts.push_back(fmt::format("{} {} extrapolated {}", point.size, table.scale_by, three_digits(point.fitted)));
  }
  return line + (parts.empty() ? "" : ": " + join(parts, ", "));
}

std::string verdict_text(RuleVerdict verdict) {
  return verdict == RuleVerdict::met ? "met" : verdict == RuleVerdict::not_met ? "not met" : "not applicable";
}

}  // namespace

std::string counted_size(const std::string& unit, int count) {
  return fmt::format("{} {}", count, count == 1 ? unit.substr(0, unit.size() - 1) : unit);
}

std::string table_title(const Table& table) { return table.experiment + (table.simulated_nodes ? " (simulated nodes)" : ""); }

std::string shown_metric(const Table& table) {
  return table.metric + (table.inner ? fmt::format(" at {} = {}", table.inner->name, table.inner->at.text()) : "");
}

std::vector<std::string> caption(const Table& table) {
  std::vector<std::string> lines = {table_title(table) + (table.description.empty() ? "" : ": " + table.description)};
  if (has_warning(table, kNoSuccess)) {
    lines.push_back(
        fmt::format("No run succeeded: there is no value of {}. The warning below gives the reason.", table.metric));
    return lines;
  }
  lines.push_back(metric_sentence(table));
  if (table.inner) {
    lines.push_back(fmt::format("Each value is that at {0} = {1}{2}", table.inner->name, table.inner->at.text(),
                                table.inner_rows.empty() ? std::string(".")
                                                         : fmt::format("; a table by {} follows, whose intervals hold for one "
                                                                       "{} each.",
                                                                       table.inner->name, table.inner->name)));
  }
  if (table.has_speedup && !table.kind.per.empty()) lines.push_back(per_unit_sentence(table));
  if (table.has_speedup) {
    lines.push_back(fmt::format("Speedup over {} ({}): Hodges-Lehmann estimate of the log ratio{}.",
                                baseline_text(table.baseline), direction_of_ratio(table),
                                !has_speedup_intervals(table) ? std::string(table.paired ? " by blocks" : "")
                                : table.paired                ? " by blocks, with its exact signed-rank interval"
                                                              : ", with its exact rank-sum interval"));
    if (has_other_ratio(table)) {
      lines.back() += " It is not the ratio of the medians: that is the column `ratio_of_medians`.";
    }
    if (has_efficiency(table)) {
      lines.push_back(table.is_flat ? fmt::format("Efficiency: the same ratio, as the work grows with the {} (weak scaling).",
                                                  table.scale_by)
                                    : fmt::format("Efficiency: speedup / ({0} / the baseline's {0}).", table.scale_by));
    }
  }
  if (std::any_of(table.rows.begin(), table.rows.end(), [](const Row& row) { return !row.statistic.empty(); })) {
    lines.emplace_back(
        "Published statistics are shown unchanged, with the published n: they have no interval, and "
        "their speedup is the ratio of the two values.");
  }
  const bool intervals = has_intervals(table) || has_speedup_intervals(table);
  lines.push_back(std::string(intervals ? "Each interval holds for its row alone, not for all rows at once. " : "") +
                  "\"-\" means no value.");
  return lines;
}

std::vector<Section> sections(const Table& table, const PrintSettings& settings) {
  std::vector<Section> result;
  if (!table.fits.empty()) {
    result.push_back({"Fits", {}});
    for (const Fit& fit : table.fits) result.back().lines.push_back(fit_line(table, fit));
  }
  if (settings.methods) {
    result.push_back({"Methods", {table.methods.empty() ? "-" : table.methods}});
    if (!table.rules.empty()) result.push_back({"The twelve rules of Hoefler and Belli (2015)", {}});
    for (const ReportingRule& rule : table.rules) {
      result.back().lines.push_back(
          fmt::format("{}. {}: {}. {}", rule.number, verdict_text(rule.verdict), rule.rule, rule.reason));
    }
  }
  if (settings.provenance) {
    result.push_back({"Provenance", {}});
    for (const ProvenanceRow& row : table.provenance) result.back().lines.push_back(row.name + ": " + join(row.values, ", "));
    if (result.back().lines.empty()) result.back().lines.emplace_back("-");
  }
  return result;
}

std::string tracing_hint(const Table& table) {
  if (table.rows.empty()) return "";
  const Row& row = table.rows.front();
  return fmt::format("Trace a row to its files: hpcbench show {}/CONFIG_ID, for example hpcbench show {}/{} ({})",
                     table.experiment, table.experiment, row.config_id, row_label(table.columns, row));
}

}  // namespace hpcbench

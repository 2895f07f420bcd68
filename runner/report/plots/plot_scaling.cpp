#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "report/escapes.hpp"
#include "report/plots/plot_labels.hpp"
#include "report/plots/plot_parts.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

struct PlottedPoint {
  int size = 1;
  double value = 0, low = 0, high = 0;  // low = high = value without an interval
  std::string label;
};

struct PlottedSeries {
  const Row* first = nullptr;
  std::string full_name;  // the axes that its points share
  std::string name;       // the part of it that distinguishes the series
  std::vector<PlottedPoint> points;
};

/// Returns the axes that distinguish series: all columns but those of the size.
std::vector<std::string> series_axes(const Table& table) {
  std::vector<std::string> axes;
  std::copy_if(table.columns.begin(), table.columns.end(), std::back_inserter(axes), [&](const std::string& axis) {
    return std::find(table.size_axes.begin(), table.size_axes.end(), axis) == table.size_axes.end();
  });
  return axes;
}

/// Returns series in the order of the rows, their points by size. An efficiency has its speedup's interval, converted.
std::vector<PlottedSeries> scaling_series(const Table& table, bool efficiency, std::size_t& without) {
  std::vector<PlottedSeries> series;
  const std::vector<std::string> axes = series_axes(table);
  std::map<std::string, std::size_t> by_name;
  for (const Row& row : table.rows) {
    if (!row.speedup || row.size == 0 || (efficiency && !row.efficiency)) {
      ++without;
      continue;
    }
    const double factor = efficiency ? (row.speedup->value > 0 ? *row.efficiency / row.speedup->value : 0) : 1;
    PlottedPoint point{row.size, row.speedup->value * factor, 0, 0, row_label(table.columns, row)};
    const std::optional<Interval>& interval = row.speedup->interval;
    point.low = interval ? interval->low * factor : point.value;
    point.high = interval ? interval->high * factor : point.value;
    const std::string name = axes.empty() ? table.experiment : row_label(axes, row);
    const auto [found, is_new] = by_name.emplace(name, series.size());
    if (is_new) series.push_back({&row, name, name, {}});
    series[found->second].points.push_back(std::move(point));
  }
  for (PlottedSeries& one : series) {
    std::stable_sort(one.points.begin(), one.points.end(),
                     [](const PlottedPoint& a, const PlottedPoint& b) { return a.size < b.size; });
  }
  return series;
}

/// Names the series by the axes that distinguish them, and returns these axes.
std::string name_series(const Table& table, std::vector<PlottedSeries>& series) {
  const std::vector<std::string> axes = series_axes(table);
  if (axes.empty()) return "";
  std::vector<const Row*> rows;
  for (const PlottedSeries& one : series) rows.push_back(one.first);
  const PlotLabels labels = plot_labels(axes, rows);
  for (std::size_t i = 0; i < series.size(); ++i) series[i].name = labels.texts[i];
  return labels.heading;
}

/// Returns the baseline's size if all rows have the same.
std::optional<double> baseline_size(const Table& table) {
  std::optional<double> found;
  for (const Row& row : table.rows) {
    if (!row.is_baseline) continue;
    if (found && *found != row.size) return std::nullopt;
    found = row.size;
  }
  if (found) return found;
  for (const Row& row : table.rows) {
    if (table.is_flat || !row.speedup || !row.efficiency || !(row.speedup->value > 0)) continue;
    const double size = std::round(row.size * *row.efficiency / row.speedup->value);
    if (found && *found != size) return std::nullopt;
    found = size;
  }
  return found;
}

std::string scaling_data(const std::vector<PlottedSeries>& series, const std::string& unit, const std::string& measure) {
  std::string out = fmt::format(
      "# {1}\tx ({1}, moved a little apart)\t{0}\tlow\thigh (of the interval; both {0} where there is none)"
      "\tconfiguration\n",
      measure, unit);
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (i > 0) out += "\n\n";
    out += "# " + plot_field(series[i].full_name) + "\n";
    // Intervals of several series at one size are drawn side by side.
    const double shift = series.size() < 2 ? 0 : 0.08 * (static_cast<double>(i) / static_cast<double>(series.size() - 1) - 0.5);
    for (const PlottedPoint& point : series[i].points) {
      out += fmt::format("{}\t{:.4f}\t{}\t{}\t{}\t{}\n", point.size, point.size * std::exp2(shift), plot_number(point.value),
                         plot_number(point.low), plot_number(point.high), plot_field(point.label));
    }
  }
  return out;
}

/// Returns tics at each measured size; if there are many, at powers of two.
std::string size_axis(const std::vector<PlottedSeries>& series, const std::string& unit) {
  std::map<int, bool> sizes;
  for (const PlottedSeries& one : series) {
    for (const PlottedPoint& point : one.points) sizes[point.size] = true;
  }
  std::string tics;
  double before = 0;
  for (const auto& [count, there] : sizes) {
    if (before > 0 && count < before * 1.19) continue;  // its label would touch the one before
    tics += fmt::format("{}'{}' {}", tics.empty() ? "" : ", ", count, count);
    before = count;
  }
  return fmt::format("set xlabel '{}'\nset logscale x 2\nset xrange [{:.4f}:{:.4f}]\nset xtics ({})\n", unit,
                     sizes.begin()->first * 0.8, sizes.rbegin()->first * 1.25, tics);
}

/// Returns the axis of values: speedups as powers of two, like the sizes, so that the ideal is a straight line; efficiencies
/// from 0.
std::string value_axis(const std::vector<PlottedSeries>& series, bool efficiency, const std::optional<double>& base) {
  double least = 1;
  double most = 1;
  for (const PlottedSeries& one : series) {
    for (const PlottedPoint& point : one.points) {
      most = std::max({most, point.value, std::isfinite(point.high) ? point.high : 0});
      for (const double value : {point.value, point.low}) least = value > 0 ? std::min(least, value) : least;
      if (!efficiency && base) most = std::max(most, point.size / *base);
    }
  }
  if (efficiency) return fmt::format("set ylabel 'efficiency'\nset yrange [0:{:.4g}]\n", most * 1.1);
  return fmt::format("set ylabel 'speedup'\nset logscale y 2\nset yrange [{:.4g}:{:.4g}]\n", std::max(least * 0.8, most / 1024),
                     most * 1.2);
}

std::string plot_commands(const std::string& name, const std::vector<PlottedSeries>& series, const std::string& ideal) {
  std::string out = "plot \\\n";
  if (!ideal.empty()) {
    out += fmt::format("  {} title 'ideal' with lines linecolor '#888888' dashtype 2 linewidth 1.5, \\\n", ideal);
  }
  for (std::size_t i = 0; i < series.size(); ++i) {
    out += fmt::format(
        "  '{}.tsv' index {} using 2:3:4:5 title {} noenhanced with yerrorlines linecolor '{}' dashtype {} pointtype {} "
        "pointsize 0.8 linewidth 1.5{}\n",
        name, i, gnuplot_string(series[i].name), plot_color(i), i / 7 + 1, plot_point(i), i + 1 < series.size() ? ", \\" : "");
  }
  return out;
}

std::optional<Plot> draw_scaling(const Table& table, bool efficiency) {
  std::size_t without = 0;
  std::vector<PlottedSeries> series = scaling_series(table, efficiency, without);
  if (series.empty()) return std::nullopt;
  PlotFrame frame;
  frame.name = efficiency ? "efficiency" : "speedup";
  frame.title = fmt::format("{}: {} in {}", table_title(table), frame.name, shown_metric(table));
  if (without > 0) {
    frame.notes.push_back(
        fmt::format("{} configuration{} without a speedup: see the table.", without, without == 1 ? "" : "s"));
  }
  if (series.size() > kMostSeries) {
    frame.notes.push_back(
        fmt::format("The first {} of {} series; choose others with --only or --sort.", kMostSeries, series.size()));
    series.resize(kMostSeries);
  }
  const std::string heading = name_series(table, series);
  std::vector<std::string> names = {"ideal", heading};
  for (const PlottedSeries& one : series) names.push_back(one.name);
  frame.width = 620 + text_width(longest(names)) + 60;
  frame.height = std::max(440, 90 + 18 * static_cast<int>(names.size()));
  const std::optional<double> base = baseline_size(table);
  const bool flat = efficiency || table.is_flat;
  const std::string ideal = flat ? "1" : base ? fmt::format("x/{:g}", *base) : "";
  std::string script = plot_head(frame);
  script += "set key outside right top vertical Left reverse samplen 2\n";
  if (!heading.empty()) script += fmt::format("set key title {} noenhanced\n", gnuplot_string(heading));
  script += size_axis(series, table.scale_by);
  script += value_axis(series, efficiency, flat ? std::nullopt : base);
  script += plot_commands(frame.name, series, ideal);
  return Plot{frame.name, frame.title, scaling_data(series, table.scale_by, frame.name), script};
}

}  // namespace

std::optional<Plot> draw_speedup(const Table& table) { return draw_scaling(table, false); }
std::optional<Plot> draw_efficiency(const Table& table) { return draw_scaling(table, true); }

}  // namespace hpcbench

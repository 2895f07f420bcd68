#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "report/cells.hpp"
#include "report/escapes.hpp"
#include "report/plots/plot_labels.hpp"
#include "report/plots/plot_parts.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

/// The rows of one configuration that have a median, by the value of the inner axis.
using InnerCurve = std::vector<const Row*>;

const Value& inner_value(const Row& row) { return row.axes.back().second; }

/// Returns whether there are words: they are placed behind the numbers.
bool has_words(const std::map<Value, long long>& places) { return places.rbegin()->first.is_text(); }

/// Returns the position of each value: a number at itself; if there are words, one after the other in the table's order.
std::map<Value, long long> inner_places(const std::vector<InnerCurve>& curves) {
  std::map<Value, long long> places;
  for (const InnerCurve& curve : curves) {
    for (const Row* row : curve) places.try_emplace(inner_value(*row), static_cast<long long>(places.size()) + 1);
  }
  if (has_words(places)) return places;
  for (auto& [value, place] : places) place = value.integer().value_or(place);
  return places;
}

std::vector<InnerCurve> inner_curves(const Table& table) {
  std::vector<InnerCurve> curves;
  for (const Row& row : table.inner_rows) {
    if (!row.summary) continue;
    if (curves.empty() || curves.back().front()->config_id != row.config_id) curves.emplace_back();
    curves.back().push_back(&row);
  }
  return curves;
}

Interval inner_interval(const Row& row) {
  return row.summary->interval.value_or(Interval{row.summary->median, row.summary->median, 0});
}

std::string inner_data(const Table& table, const std::vector<InnerCurve>& curves, const std::map<Value, long long>& places) {
  std::string out = fmt::format("# {}\t{} (median)\tlow\thigh (of the interval; the median where there is none)\truns\n",
                                plot_field(table.inner->name), plot_field(table.metric));
  const double scale = seconds_per_unit(table);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    out += fmt::format("{}# {}\n", i == 0 ? "" : "\n\n", plot_field(row_label(table.columns, *curves[i].front())));
    for (const Row* row : curves[i]) {
      const Interval interval = inner_interval(*row);
      out += fmt::format("{}\t{}\t{}\t{}\t{}\n", places.at(inner_value(*row)), plot_number(row->summary->median / scale),
                         plot_number(interval.low / scale), plot_number(interval.high / scale), row->counts.n);
    }
  }
  return out;
}

/// Returns whether values span more than a few doublings, so that a logarithmic axis fits.
bool is_wide(double least, double most) { return least > 0 && most >= 16 * least; }

/// Returns tics at measured values: at most a dozen for numbers.
std::string inner_tics(const std::map<Value, long long>& places) {
  constexpr std::size_t kMostTics = 12;
  const std::size_t step = has_words(places) ? 1 : (places.size() + kMostTics - 1) / kMostTics;
  std::string tics;
  std::size_t number = 0;
  for (const auto& [value, place] : places) {
    if (number++ % step == 0) tics += fmt::format("{}{} {}", tics.empty() ? "" : ", ", gnuplot_string(value.text()), place);
  }
  return tics;
}

std::string inner_axis_script(const Table& table, const std::vector<InnerCurve>& curves,
                              const std::map<Value, long long>& places) {
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (const InnerCurve& curve : curves) {
    for (const Row* row : curve) {
      least = std::min({least, row->summary->median, inner_interval(*row).low});
      most = std::max(most, row->summary->median);
    }
  }
  const std::string unit = table.unit == "s" && table.time_unit != "h:mm:ss" ? table.time_unit : table.unit;
  std::string script =
      fmt::format("set xlabel {} noenhanced\nset ylabel {} noenhanced\nset xtics rotate by -30 noenhanced ({})\n",
                  gnuplot_string(table.inner->name), gnuplot_string(table.metric + (unit.empty() ? "" : " (" + unit + ")")),
                  inner_tics(places));
  if (has_words(places)) {
    script += fmt::format("set xrange [0.5:{}.5]\n", places.size());
  } else if (is_wide(static_cast<double>(places.begin()->second), static_cast<double>(places.rbegin()->second))) {
    script += "set logscale x 2\n";
  }
  return script + (is_wide(least, most) ? "set logscale y 10\n" : "set yrange [0:*]\n");
}

}  // namespace

std::optional<Plot> draw_rows(const Table& table) {
  std::vector<InnerCurve> curves = inner_curves(table);
  if (curves.empty()) return std::nullopt;
  PlotFrame frame;
  frame.name = "rows";
  frame.title = fmt::format("{}: {} by {}", table_title(table), table.metric, table.inner->name);
  std::vector<const Row*> firsts;
  for (const InnerCurve& curve : curves) firsts.push_back(curve.front());
  firsts = first_rows(firsts, kMostSeries, frame.notes);
  curves.resize(firsts.size());
  const PlotLabels labels = plot_labels(table.columns, firsts);
  std::vector<std::string> names = labels.texts;
  names.push_back(labels.heading);
  frame.width = 620 + text_width(longest(names)) + 60;
  frame.height = std::max(440, 90 + 18 * static_cast<int>(names.size()));
  std::string script = plot_head(frame) + "set key outside right top vertical Left reverse samplen 2\n";
  if (!labels.heading.empty()) script += fmt::format("set key title {} noenhanced\n", gnuplot_string(labels.heading));
  const std::map<Value, long long> places = inner_places(curves);
  const std::string style = has_words(places) ? "yerrorbars" : "yerrorlines";  // nothing lies between two words
  script += inner_axis_script(table, curves, places) + "plot \\\n";
  for (std::size_t i = 0; i < curves.size(); ++i) {
    script += fmt::format(
        "  'rows.tsv' index {} using 1:2:3:4 title {} noenhanced with {} linecolor '{}' dashtype {} pointtype {} "
        "pointsize 0.6 linewidth 1.5{}\n",
        i, gnuplot_string(labels.texts[i]), style, plot_color(i), i / 7 + 1, plot_point(i),
        i + 1 < curves.size() ? ", \\" : "");
  }
  return Plot{frame.name, frame.title, inner_data(table, curves, places), script};
}

}  // namespace hpcbench

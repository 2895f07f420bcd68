#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/escapes.hpp"
#include "report/plots/plot_parts.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

/// Returns different colours for success, failures, and faults of the machine.
std::string_view outcome_color(State state) {
  switch (state) {
    case State::succeeded:
      return plot_color(0);
    case State::failed:
      return plot_color(1);
    case State::timeout:
      return plot_color(4);
    case State::out_of_memory:
      return plot_color(3);
    case State::cancelled:
      return "#999999";
    default:
      return plot_color(6);
  }
}

struct TimelineBar {
  double from = 0, to = 0;
  std::size_t row = 0, lane = 0;
  State outcome = State::succeeded;
  std::string name;
};

/// Gives overlapping runs of one row separate lanes.
void choose_lanes(std::vector<TimelineBar>& bars, std::vector<std::size_t>& lanes_of_row) {
  std::stable_sort(bars.begin(), bars.end(),
                   [](const TimelineBar& a, const TimelineBar& b) { return a.row != b.row ? a.row < b.row : a.from < b.from; });
  std::map<std::size_t, std::vector<double>> ends;
  for (TimelineBar& bar : bars) {
    std::vector<double>& busy = ends[bar.row];
    bar.lane = static_cast<std::size_t>(std::find_if(busy.begin(), busy.end(), [&](double end) { return end <= bar.from; }) -
                                        busy.begin());
    if (bar.lane == busy.size()) busy.push_back(0);
    busy[bar.lane] = bar.to;
    lanes_of_row[bar.row] = std::max(lanes_of_row[bar.row], bar.lane + 1);
  }
}

std::vector<TimelineBar> timeline_bars(const std::vector<const Row*>& rows) {
  std::vector<TimelineBar> bars;
  double first = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const RunValue& run : rows[i]->runs) {
      if (!run.started_unix_s || !run.finished_unix_s) continue;
      if (bars.empty() || *run.started_unix_s < first) first = *run.started_unix_s;
      bars.push_back(
          {*run.started_unix_s, std::max(*run.started_unix_s, *run.finished_unix_s), i, 0, run.outcome, to_string(run.run)});
    }
  }
  for (TimelineBar& bar : bars) {
    bar.from -= first;
    bar.to -= first;
  }
  return bars;
}

/// Returns the unit in which a span is easiest to read.
std::pair<double, const char*> span_unit(double seconds) {
  if (seconds > 3 * 86400) return {86400, "days"};
  if (seconds > 3 * 3600) return {3600, "hours"};
  return seconds > 300 ? std::pair(60.0, "minutes") : std::pair(1.0, "seconds");
}

std::optional<double> rank_time(const RankTimes& times, int which) {
  return which == 0 ? times.user_s : which == 1 ? times.real_s : times.train_s;
}

/// Prefers processor time: ranks that wait for each other take the same time by the clock.
std::optional<int> rank_measure(const Row& row) {
  for (int which = 0; which < 3; ++which) {
    const bool all = std::all_of(row.times.ranks.begin(), row.times.ranks.end(),
                                 [&](const RankTimes& times) { return rank_time(times, which).has_value(); });
    if (all && row.times.ranks.size() > 1) return which;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Plot> draw_timeline(const Table& table) {
  const std::vector<const Row*> started = rows_that(table, [](const Row& row) {
    return std::any_of(row.runs.begin(), row.runs.end(),
                       [](const RunValue& run) { return run.started_unix_s && run.finished_unix_s; });
  });
  if (started.empty()) return std::nullopt;
  PlotFrame frame;
  frame.name = "timeline";
  frame.title = fmt::format("{}: when each run ran", table_title(table));
  const std::vector<const Row*> rows = first_rows(started, kMostBars, frame.notes);
  std::vector<TimelineBar> bars = timeline_bars(rows);
  std::vector<std::size_t> lanes(rows.size(), 1);
  choose_lanes(bars, lanes);
  double end = 0;
  std::map<State, std::string> blocks;
  for (const TimelineBar& bar : bars) end = std::max(end, bar.to);
  const auto [unit, unit_name] = span_unit(end);
  for (const TimelineBar& bar : bars) {
    const double height = 0.8 / static_cast<double>(lanes[bar.row]);
    const double top = static_cast<double>(bar.row) - 0.4 + height * static_cast<double>(bar.lane);
    // A run that ended at once must still be visible.
    const double to = std::max(bar.to, bar.from + end / 300);
    blocks[bar.outcome] += fmt::format("{:.6g}\t{:.6g}\t{:.4f}\t{:.4f}\t{}\t{}\n", bar.from / unit, to / unit, top,
                                       top + height * 0.92, bar.name, plot_field(row_label(table.columns, *rows[bar.row])));
  }
  const BarRows labels = label_rows(table, rows);
  frame.width = 640 + labels_width(labels) + text_width(14) + 60;
  frame.height = std::max(bars_height(rows.size()), 200);
  std::string data =
      fmt::format("# from\tto ({} since the first start)\tupper edge\tlower edge\trun\tconfiguration\n", unit_name);
  std::string script = plot_head(frame) + bar_axis(labels);
  script += fmt::format("set xlabel '{} since the first start'\nset xrange [0:{:.6g}]\n", unit_name,
                        std::max(end / unit * 1.01, 1e-6));
  script +=
      "set key outside right top vertical Left reverse samplen 2\nset style fill solid 0.85 noborder\nplot "
      "\\\n";
  std::size_t index = 0;
  for (const auto& [outcome, block] : blocks) {
    data += fmt::format("{}# {}\n{}", index == 0 ? "" : "\n\n", to_string(outcome), block);
    script +=
        fmt::format("  'timeline.tsv' index {} using 1:3:1:2:3:4 title '{}' noenhanced with boxxyerror linecolor '{}'{}\n",
                    index, to_string(outcome), outcome_color(outcome), index + 1 < blocks.size() ? ", \\" : "");
    ++index;
  }
  return Plot{frame.name, frame.title, data, script};
}

std::optional<Plot> draw_imbalance(const Table& table) {
  const std::vector<const Row*> with_ranks = rows_that(table, [](const Row& row) { return rank_measure(row).has_value(); });
  if (with_ranks.empty()) return std::nullopt;
  PlotFrame frame;
  frame.name = "imbalance";
  frame.title = fmt::format("{}: time of each rank against the mean of all ranks", table_title(table));
  const std::vector<const Row*> rows = first_rows(with_ranks, kMostBars, frame.notes);
  constexpr const char* kMeasures[] = {"user_s", "real_s", "train_s"};
  BarRows labels = label_rows(table, rows);
  std::string data = "# row\ttime of the rank / mean of all ranks\trank\tmeasure\tconfiguration\n";
  double least = 1;
  double most = 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int which = *rank_measure(*rows[i]);
    double sum = 0;
    for (const RankTimes& times : rows[i]->times.ranks) sum += *rank_time(times, which);
    const double mean = sum / static_cast<double>(rows[i]->times.ranks.size());
    double worst = 0;
    for (std::size_t k = 0; k < rows[i]->times.ranks.size(); ++k) {
      const double share = mean > 0 ? *rank_time(rows[i]->times.ranks[k], which) / mean : 1;
      least = std::min(least, share);
      most = std::max(most, share);
      worst = std::max(worst, share);
      const double offset = 0.5 * (static_cast<double>(k) / static_cast<double>(rows[i]->times.ranks.size() - 1) - 0.5);
      data += fmt::format("{:.4f}\t{:.6g}\t{}\t{}\t{}\n", static_cast<double>(i) + offset, share, rows[i]->times.ranks[k].rank,
                          kMeasures[which], plot_field(row_label(table.columns, *rows[i])));
    }
    labels.remarks[i] = fmt::format("{}, {} ranks, worst {:.3f}", kMeasures[which], rows[i]->times.ranks.size(), worst);
  }
  const int right = text_width(longest(labels.remarks)) + 24;
  frame.width = 520 + labels_width(labels) + right;
  frame.height = bars_height(rows.size());
  const double reach = std::max(0.02, std::max(most - 1, 1 - least)) * 1.15;
  std::string script = plot_head(frame) + bar_axis(labels);
  script += fmt::format("set rmargin at screen {:.4f}\n", 1 - static_cast<double>(right) / frame.width);
  script += fmt::format("set xlabel 'time of a rank / mean of all ranks'\nset xrange [{:.4f}:{:.4f}]\nunset key\n",
                        std::max(0.0, 1 - reach), 1 + reach);
  script += "set arrow 1 from first 1, graph 0 to first 1, graph 1 nohead linecolor '#888888' dashtype 2\n";
  script += fmt::format("plot 'imbalance.tsv' using 2:1 with points linecolor '{}' pointtype 7 pointsize 0.6\n", plot_color(0));
  return Plot{frame.name, frame.title, data, script};
}

}  // namespace hpcbench

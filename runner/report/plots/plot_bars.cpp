#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"
#include "report/cells.hpp"
#include "report/escapes.hpp"
#include "report/plots/plot_parts.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

/// Returns the text beside a bar: the number of runs, the outcomes of the others, a time limit that was reached.
std::string bar_remark(const Table& table, const Row& row) {
  std::vector<std::string> parts = {fmt::format("n={}", row.counts.n)};
  if (!row.summary && row.censored_at_s) parts.push_back(median_cell(table, row, cell_style(table)));
  for (const auto& [state, count] : row.counts.outcomes) {
    if (state != State::succeeded) parts.push_back(fmt::format("{} {}", count, shown_name(state)));
  }
  return join(parts, ", ");
}

std::string time_label(const Table& table) {
  if (table.unit == "s" && table.time_unit != "h:mm:ss") return fmt::format("{} ({})", table.metric, table.time_unit);
  return table.unit.empty() ? table.metric : fmt::format("{} ({})", table.metric, table.unit);
}

/// Spreads the dots of one row around its middle, in the order of the runs, so that equal values stay apart.
double dot_offset(std::size_t index, std::size_t count) {
  return count < 2 ? 0 : 0.44 * (static_cast<double>(index) / static_cast<double>(count - 1) - 0.5);
}

std::string time_data(const Table& table, const std::vector<const Row*>& rows) {
  const double unit = seconds_per_unit(table);
  const auto scaled = [&](double value) { return plot_number(value / unit); };
  std::string out = "# row\tmedian\tlow\thigh (of its interval; both the median where there is none)\tconfiguration\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& summary = rows[i]->summary;
    const std::string median = summary ? scaled(summary->median) : "-";
    const bool has_interval = summary && summary->interval;
    out += fmt::format("{}\t{}\t{}\t{}\t{}\n", i, median, has_interval ? scaled(summary->interval->low) : median,
                       has_interval ? scaled(summary->interval->high) : median, plot_field(row_label(table.columns, *rows[i])));
  }
  out += "\n\n# row\tvalue of a run\trun\n";
  std::size_t dots = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < rows[i]->runs.size(); ++k) {
      const RunValue& run = rows[i]->runs[k];
      if (!run.value) continue;
      out += fmt::format("{:.4f}\t{}\t{}\n", static_cast<double>(i) + dot_offset(k, rows[i]->runs.size()), scaled(*run.value),
                         to_string(run.run));
      ++dots;
    }
  }
  return dots > 0 ? out : out + "-\t-\t-\n";
}

/// Returns the range from 0, or from below it for negative values, to somewhat beyond the farthest value.
std::string time_range(const Table& table, const std::vector<const Row*>& rows) {
  double least = 0;
  double most = 0;
  const auto include = [&](double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  };
  for (const Row* row : rows) {
    if (row->summary) include(row->summary->max);
    if (row->summary && row->summary->interval) include(row->summary->interval->high);
    for (const RunValue& run : row->runs) include(run.value.value_or(0));
  }
  constexpr double kFarthest = 1e300;  // gnuplot computes with doubles, too
  const double scale = 1.06 / seconds_per_unit(table);
  if (least == 0 && most == 0) most = 1e-9;
  return fmt::format("[{:.6g}:{:.6g}]", std::max(least * scale, -kFarthest), std::min(most * scale, kFarthest));
}

struct Phase {
  const char* name;
  std::optional<double> Phases::*member;
};
// Communication is part of training and drawn inside it, so it is no separate phase here.
constexpr std::array<Phase, 5> kPhases = {Phase{"setup", &Phases::setup_s}, Phase{"data", &Phases::data_s},
                                          Phase{"train", &Phases::train_s}, Phase{"eval", &Phases::eval_s},
                                          Phase{"checkpoint", &Phases::checkpoint_s}};

/// Returns whether the row has several phases: one part alone does not show the rest.
bool has_phases(const Row& row) {
  const auto known = [&](const Phase& phase) { return (row.times.phases.*phase.member).has_value(); };
  return std::count_if(kPhases.begin(), kPhases.end(), known) >= 2;
}

std::string phases_data(const Table& table, const std::vector<const Row*>& rows, double& longest_s) {
  std::string out = "# row";
  for (const Phase& phase : kPhases) out += fmt::format("\t{0} from\t{0} to", phase.name);
  out += "\tcommunication from\tcommunication to (inside train)\tconfiguration; seconds from the start\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Phases& phases = rows[i]->times.phases;
    double at = 0;
    double train_from = 0;
    out += fmt::format("{}", i);
    for (const Phase& phase : kPhases) {
      const double seconds = std::max(0.0, (phases.*phase.member).value_or(0));
      if (phase.member == &Phases::train_s) train_from = at;
      out += fmt::format("\t{:.6g}\t{:.6g}", at, at + seconds);
      at += seconds;
    }
    const double communication = std::clamp(phases.communication_s.value_or(0), 0.0, std::max(0.0, phases.train_s.value_or(0)));
    out += fmt::format("\t{:.6g}\t{:.6g}\t{}\n", train_from, train_from + communication,
                       plot_field(row_label(table.columns, *rows[i])));
    longest_s = std::max(longest_s, at);
  }
  return out;
}

}  // namespace

std::optional<Plot> draw_time(const Table& table) {
  std::vector<const Row*> all;
  bool any = false;
  for (const Row& row : table.rows) {
    all.push_back(&row);
    any = any || row.summary ||
          std::any_of(row.runs.begin(), row.runs.end(), [](const RunValue& run) { return run.value.has_value(); });
  }
  if (!any) return std::nullopt;
  PlotFrame frame;
  frame.name = "time";
  frame.title =
      fmt::format("{}: {} of {}, its interval, and every run", table_title(table), value_word(table), shown_metric(table));
  const std::vector<const Row*> rows = first_rows(all, kMostBars, frame.notes);
  BarRows labels = label_rows(table, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) labels.remarks[i] = bar_remark(table, *rows[i]);
  const int right = text_width(longest(labels.remarks)) + 24;
  frame.width = 560 + labels_width(labels) + right;
  frame.height = bars_height(rows.size());
  std::string script = plot_head(frame) + bar_axis(labels);
  script += fmt::format("set rmargin at screen {:.4f}\n", 1 - static_cast<double>(right) / frame.width);
  script +=
      fmt::format("set xlabel {} noenhanced\nset xrange {}\n", gnuplot_string(time_label(table)), time_range(table, rows));
  script += "unset key\nset style fill solid 0.35 noborder\n";
  script += fmt::format(
      "plot \\\n"
      "  'time.tsv' index 0 using (0):1:(0):2:($1-0.32):($1+0.32) with boxxyerror linecolor '{0}', \\\n"
      "  'time.tsv' index 0 using 2:1:3:4 with xerrorbars linecolor '#000000' pointtype 2 pointsize 0.5 linewidth 1.4, \\\n"
      "  'time.tsv' index 1 using 2:1 with points linecolor '{1}' pointtype 7 pointsize 0.45\n",
      plot_color(0), plot_color(1));
  return Plot{frame.name, frame.title, time_data(table, rows), script};
}

std::optional<Plot> draw_phases(const Table& table) {
  const std::vector<const Row*> with_phases = rows_that(table, has_phases);
  if (with_phases.empty()) return std::nullopt;
  PlotFrame frame;
  frame.name = "phases";
  frame.title = fmt::format("{}: what the time is spent on (medians)", table_title(table));
  if (with_phases.size() < table.rows.size()) {
    frame.notes.push_back(fmt::format("{} of {} configurations report their phases.", with_phases.size(), table.rows.size()));
  }
  const std::vector<const Row*> rows = first_rows(with_phases, kMostBars, frame.notes);
  const BarRows labels = label_rows(table, rows);
  frame.width = 560 + labels_width(labels) + text_width(15) + 60;
  frame.height = std::max(bars_height(rows.size()), 230);
  double longest_s = 0;
  const std::string data = phases_data(table, rows, longest_s);
  std::string script = plot_head(frame) + bar_axis(labels);
  script += fmt::format("set xlabel 'seconds'\nset xrange [0:{:.6g}]\n", std::max(longest_s * 1.03, 1e-9));
  script += "set key outside right top vertical Left reverse samplen 2\nset style fill solid 0.8 noborder\nplot \\\n";
  constexpr std::array<std::size_t, kPhases.size()> kColorOf = {4, 5, 0, 2, 3};
  for (std::size_t i = 0; i < kPhases.size(); ++i) {
    script +=
        fmt::format("  'phases.tsv' using (0):1:{}:{}:($1-0.34):($1+0.34) title '{}' with boxxyerror linecolor '{}', \\\n",
                    2 * i + 2, 2 * i + 3, kPhases[i].name, plot_color(kColorOf[i]));
  }
  script +=
      fmt::format("  'phases.tsv' using (0):1:12:13:($1-0.12):($1+0.12) title 'communication' with boxxyerror linecolor '{}'\n",
                  plot_color(1));
  return Plot{frame.name, frame.title, data, script};
}

}  // namespace hpcbench

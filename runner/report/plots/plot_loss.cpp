#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/escapes.hpp"
#include "report/plots/plot_labels.hpp"
#include "report/plots/plot_parts.hpp"
#include "report/samples.hpp"

namespace hpcbench {
namespace {

bool has_losses(const Row& row) {
  return std::any_of(row.losses.curve.begin(), row.losses.curve.end(),
                     [](const EpochPoint& point) { return point.train_loss.has_value() || point.val_loss.has_value(); });
}

bool has_validation(const Row& row) {
  return std::any_of(row.losses.curve.begin(), row.losses.curve.end(),
                     [](const EpochPoint& point) { return point.val_loss.has_value(); });
}

bool has_training(const Row& row) {
  return std::any_of(row.losses.curve.begin(), row.losses.curve.end(),
                     [](const EpochPoint& point) { return point.train_loss.has_value(); });
}

std::string loss_data(const Table& table, const std::vector<const Row*>& rows) {
  std::string out = "# epoch\ttrain_loss\tval_loss (medians over the runs)\truns\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += fmt::format("{}# {}\n", i == 0 ? "" : "\n\n", plot_field(row_label(table.columns, *rows[i])));
    for (const EpochPoint& point : rows[i]->losses.curve) {
      out += fmt::format("{}\t{}\t{}\t{}\n", point.epoch, plot_number(point.train_loss), plot_number(point.val_loss), point.n);
    }
  }
  return out;
}

}  // namespace

std::optional<Plot> draw_loss(const Table& table) {
  const std::vector<const Row*> with_losses = rows_that(table, has_losses);
  if (with_losses.empty()) return std::nullopt;
  PlotFrame frame;
  frame.name = "loss";
  frame.title = fmt::format("{}: loss of each epoch (solid: training, dashed: validation)", table_title(table));
  const std::vector<const Row*> rows = first_rows(with_losses, kMostSeries / 2, frame.notes);
  const PlotLabels labels = plot_labels(table.columns, rows);
  std::vector<std::string> names = {labels.heading};
  long long first = 1, last = 1;
  for (const std::string& label : labels.texts) names.push_back(label + ", validation");
  for (const Row* row : rows) {
    for (const EpochPoint& point : row->losses.curve) {
      first = std::min(first, point.epoch);
      last = std::max(last, point.epoch);
    }
  }
  frame.width = 620 + text_width(longest(names)) + 60;
  frame.height = std::max(440, 90 + 36 * static_cast<int>(rows.size()));
  std::string script = plot_head(frame) + "set key outside right top vertical Left reverse samplen 2\n";
  if (!labels.heading.empty()) script += fmt::format("set key title {} noenhanced\n", gnuplot_string(labels.heading));
  const long long step = std::max(1LL, static_cast<long long>(std::ceil(static_cast<double>(last - first) / 12)));
  script +=
      fmt::format("set xlabel 'epoch'\nset ylabel 'loss'\nset xrange [{:.2f}:{:.2f}]\nset xtics {}\n",
                  static_cast<double>(first) - 0.03 * static_cast<double>(last), static_cast<double>(last) * 1.03 + 0.02, step);
  script += "plot \\\n";
  std::string lines;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string& label = labels.texts[i];
    const auto add = [&](int column, const std::string& title, int dash, int point) {
      lines += fmt::format(
          "{}  'loss.tsv' index {} using 1:{} title {} noenhanced with linespoints linecolor '{}' dashtype {} pointtype {} "
          "pointsize "
          "0.6 linewidth 1.6",
          lines.empty() ? "" : ", \\\n", i, column, gnuplot_string(title), plot_color(i), dash, point);
    };
    if (has_training(*rows[i])) add(2, label + ", training", 1, 7);
    if (has_validation(*rows[i])) add(3, label + ", validation", 2, 6);
  }
  return Plot{frame.name, frame.title, loss_data(table, rows), script + lines + "\n"};
}

}  // namespace hpcbench

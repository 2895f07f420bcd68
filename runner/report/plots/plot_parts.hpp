#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/plots/plot.hpp"

namespace hpcbench {

// What the plots share.

/// The colours of Okabe and Ito (2008), which the colour-blind can tell apart; yellow, weak on white, is left out.
std::string_view plot_color(std::size_t index);
/// gnuplot's sign of a series, of ten: no other of kMostSeries has both its colour and its sign, for points have no dashes.
int plot_point(std::size_t index);

/// A number of a data file: the shortest digits that read back the same; absent is `-`, which the scripts call missing.
std::string plot_number(const std::optional<double>& value);
/// A text of a data file, one column: no tabs, quotes or line ends.
std::string plot_field(std::string_view text);

/// What a script begins with: terminals, size, title, the notes at its lower edge.
struct PlotFrame {
  std::string name, title;
  int width = 720, height = 460;
  std::vector<std::string> notes;
};
std::string plot_head(const PlotFrame& frame);

/// The height that rows of bars take, and the width that texts of so many characters take.
int bars_height(std::size_t rows);
int text_width(std::size_t characters);

/// Rows of bars from top to bottom: their labels on the left, texts on the right beside the plot.
struct BarRows {
  std::string heading;  // of the labels: `strategy, nodes`
  std::vector<std::string> labels;
  std::vector<std::string> remarks;  // as many; may be empty texts
};
std::string bar_axis(const BarRows& rows);
/// Rows with the labels that tell them apart (plot_labels.hpp), and no remarks.
BarRows label_rows(const Table& table, const std::vector<const Row*>& rows);
/// The width that the labels take.
int labels_width(const BarRows& rows);
std::size_t longest(const std::vector<std::string>& texts);

/// The rows that have what is to be drawn.
template <class Predicate>
std::vector<const Row*> rows_that(const Table& table, const Predicate& has) {
  std::vector<const Row*> rows;
  for (const Row& row : table.rows) {
    if (has(row)) rows.push_back(&row);
  }
  return rows;
}
/// The rows that a plot draws, and the note that says what is left out.
std::vector<const Row*> first_rows(const std::vector<const Row*>& rows, std::size_t most, std::vector<std::string>& notes);

std::optional<Plot> draw_speedup(const Table& table);
std::optional<Plot> draw_efficiency(const Table& table);
std::optional<Plot> draw_time(const Table& table);
std::optional<Plot> draw_rows(const Table& table);
std::optional<Plot> draw_loss(const Table& table);
std::optional<Plot> draw_phases(const Table& table);
std::optional<Plot> draw_timeline(const Table& table);
std::optional<Plot> draw_imbalance(const Table& table);

}  // namespace hpcbench

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/plots/plot.hpp"

namespace hpcbench {

// Parts that the plots share.

/// Returns a colour of Okabe and Ito (2008), which colour-blind people can distinguish, without yellow, which is weak on white.
std::string_view plot_color(std::size_t index);
/// Returns gnuplot's symbol of a series, one of ten: no two of kMostSeries share colour and symbol, as points have no dashes.
int plot_point(std::size_t index);

/// Returns a number for a data file: the shortest digits that read back the same; `-`, which the scripts skip, if absent.
std::string plot_number(const std::optional<double>& value);
/// Returns a text for a data file, one column: no tabs, quotes or line ends.
std::string plot_field(std::string_view text);

/// The beginning of a script: terminals, size, title, the notes at its lower edge.
struct PlotFrame {
  std::string name, title;
  int width = 720, height = 460;
  std::vector<std::string> notes;
};
std::string plot_head(const PlotFrame& frame);

/// Return the height of this many rows of bars, and the width of texts with this many characters.
int bars_height(std::size_t rows);
int text_width(std::size_t characters);

/// Rows of bars from top to bottom: their labels on the left, texts on the right beside the plot.
struct BarRows {
  std::string heading;  // of the labels: `strategy, nodes`
  std::vector<std::string> labels;
  std::vector<std::string> remarks;  // one per row; may be empty texts
};
std::string bar_axis(const BarRows& rows);
/// Returns rows with labels that distinguish them (plot_labels.hpp), and no remarks.
BarRows label_rows(const Table& table, const std::vector<const Row*>& rows);
/// Returns the width of the labels.
int labels_width(const BarRows& rows);
std::size_t longest(const std::vector<std::string>& texts);

/// Returns the rows that have the data to draw.
template <class Predicate>
std::vector<const Row*> rows_that(const Table& table, const Predicate& has) {
  std::vector<const Row*> rows;
  for (const Row& row : table.rows) {
    if (has(row)) rows.push_back(&row);
  }
  return rows;
}
/// Returns the rows that a plot draws, and the note about omitted rows.
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

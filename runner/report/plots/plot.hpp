#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/table.hpp"

namespace hpcbench {

/// One plot as what gnuplot needs: data that a person can read (tab-separated, `#` comments) and a script that draws it as
/// SVG, or as PNG, PDF or EPS where the variable `png`, `pdf` or `eps` is set. SVG and PNG have the same bytes for the same
/// table.
struct Plot {
  std::string name;   // of its files: NAME.gp, NAME.tsv, NAME.svg, NAME.png
  std::string title;  // what it shows
  std::string data;
  std::string script;  // reads NAME.tsv of the folder that it runs in
};

struct PlotKind {
  std::string name;
  std::string description;
  /// Absent where the table has nothing to draw: `needs` says what it would take.
  std::optional<Plot> (*draw)(const Table& table);
  std::string needs;
};
/// One row a kind, in the order in which a report shows them.
const std::vector<PlotKind>& plot_kinds();

/// Where more rows are to be drawn than a picture can hold: the first so many, which the picture says.
inline constexpr std::size_t kMostBars = 60;
inline constexpr std::size_t kMostSeries = 14;

}  // namespace hpcbench

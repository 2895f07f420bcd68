#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/table.hpp"

namespace hpcbench {

/// One plot as input for gnuplot: readable data (tab-separated, `#` comments) and a script that draws it as SVG, or
/// as PNG, PDF or EPS if the variable `png`, `pdf` or `eps` is set. SVG and PNG have the same bytes for the same
/// table.
struct Plot {
  std::string name;   // of its files: NAME.gp, NAME.tsv, NAME.svg, NAME.png
  std::string title;  // what it shows
  std::string data;
  std::string script;  // reads NAME.tsv in its working directory
};

struct PlotKind {
  std::string name;
  std::string description;
  /// Returns nullopt if the table has nothing to draw; `needs` names the required data.
  std::optional<Plot> (*draw)(const Table& table);
  std::string needs;
};
/// Returns one row per kind, in the order in which a report shows them.
const std::vector<PlotKind>& plot_kinds();

/// Maximum number of rows in a picture: it shows the first ones and states how many it omits.
inline constexpr std::size_t kMostBars = 60;
inline constexpr std::size_t kMostSeries = 14;

}  // namespace hpcbench

#pragma once

#include <string>
#include <vector>

#include "base/tool_runner.hpp"
#include "report/plots/plot.hpp"

namespace hpcbench {

/// Returns whether a gnuplot that can draw SVG exists; if not, `advice` states what to do.
bool find_gnuplot(ToolRunner& tools, std::string& advice);

/// Draws NAME.KIND of each plot in `folder`, which contains NAME.gp and NAME.tsv, with one start of gnuplot. UnavailableError
/// with gnuplot's own message.
void draw_pictures(ToolRunner& tools, const std::vector<Plot>& plots, const std::string& folder, const std::string& kind);

/// Returns all plots for which the table has data, drawn in a temporary folder: for HTML.
std::vector<PlotPicture> draw_all(ToolRunner& tools, const Table& table);

/// Writes NAME.gp and NAME.tsv.
void write_plot_files(const Plot& plot, const std::string& folder);

}  // namespace hpcbench

#pragma once

#include <string>
#include <vector>

#include "base/tool_runner.hpp"
#include "report/plots/plot.hpp"

namespace hpcbench {

/// Whether there is a gnuplot that can draw SVG; else what to do about it.
bool find_gnuplot(ToolRunner& tools, std::string& advice);

/// Draws NAME.KIND of each plot in `folder`, where NAME.gp and NAME.tsv are, with one start of gnuplot.
/// UnavailableError with gnuplot's own words.
void draw_pictures(ToolRunner& tools, const std::vector<Plot>& plots, const std::string& folder, const std::string& kind);

/// All plots that the table has something for, drawn in a folder of its own that is removed: for HTML.
std::vector<PlotPicture> draw_all(ToolRunner& tools, const Table& table);

/// Writes NAME.gp and NAME.tsv.
void write_plot_files(const Plot& plot, const std::string& folder);

}  // namespace hpcbench

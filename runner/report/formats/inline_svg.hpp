#pragma once

#include <string>

#include "report/table.hpp"

namespace hpcbench {

/// A picture as part of a page.
struct InlinePicture {
  std::string svg;   // empty if it could not be drawn
  double width = 0;  // as drawn, in pixels
};

/// Returns an SVG of gnuplot for a page with several pictures: with its own ids, and with a variable of the page for each
/// colour, `#0072b2` as `var(--plot-0072b2,#0072b2)`, so that the page can replace colours in dark mode.
InlinePicture inline_svg(const PlotPicture& plot);

}  // namespace hpcbench

#pragma once

#include <string>

#include "report/table.hpp"

namespace hpcbench {

/// A picture as part of a page.
struct InlinePicture {
  std::string svg;   // empty if there is none
  double width = 0;  // as it was drawn, in pixels
};

/// An SVG of gnuplot for a page that holds several: ids of its own, and of each colour a variable of the page, `#0072b2`
/// being `var(--plot-0072b2,#0072b2)`: the page says what stands for it in the dark.
InlinePicture inline_svg(const PlotPicture& plot);

}  // namespace hpcbench

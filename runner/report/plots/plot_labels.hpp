#pragma once

#include <string>
#include <vector>

#include "report/table.hpp"

namespace hpcbench {

/// Labels that distinguish the rows of one plot.
struct PlotLabels {
  std::string heading;             // the columns in the labels: `strategy, nodes`
  std::vector<std::string> texts;  // one per row, each different: `ddp, 2`
};

/// Labels rows by the `columns` in which they differ, or by all columns if they differ in none. Long values lose their common
/// part, then their middle; texts that would then be equal are numbered.
PlotLabels plot_labels(const std::vector<std::string>& columns, const std::vector<const Row*>& rows);

}  // namespace hpcbench

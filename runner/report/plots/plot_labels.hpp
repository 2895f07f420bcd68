#pragma once

#include <string>
#include <vector>

#include "report/table.hpp"

namespace hpcbench {

/// What tells the rows of one plot apart.
struct PlotLabels {
  std::string heading;             // `strategy, nodes`: whose values the labels hold
  std::vector<std::string> texts;  // one a row, each different: `ddp, 2`
};

/// Of `columns` those in which `rows` differ, all of them where they differ in none. Long values lose what all of them share,
/// then their middle; texts that would be equal then are numbered.
PlotLabels plot_labels(const std::vector<std::string>& columns, const std::vector<const Row*>& rows);

}  // namespace hpcbench

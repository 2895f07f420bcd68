#pragma once

#include <string>
#include <vector>

#include "report/table.hpp"

namespace hpcbench {

/// Returns the comment with the packages that a document needs for these tables.
std::string latex_packages(const LatexStyle& style);

/// Returns one table with booktabs: a `table`, or a `longtable` if the rows need more than a page. `alignment`: a letter for
/// each column. Escapes the caption and the cells; the label is `style.label`. InputError if `style.width` is given for a
/// `longtable`.
std::string latex_table(const std::string& alignment, const std::string& caption, const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows, const LatexStyle& style);

}  // namespace hpcbench

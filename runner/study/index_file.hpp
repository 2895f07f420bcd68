#pragma once

#include <vector>

#include "store/store.hpp"
#include "study/study.hpp"

namespace hpcbench {

/// Writes results/EXPERIMENT/index.tsv: a line per configuration with its axes and the outcomes of its runs (counting_states),
/// for a person who browses.
void write_index_file(const std::vector<AttemptState>& runs, const Study& study);

}  // namespace hpcbench

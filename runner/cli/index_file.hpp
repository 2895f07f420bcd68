#pragma once

#include "cli/study.hpp"
#include "store/store.hpp"

namespace hpcbench {

/// Writes results/EXPERIMENT/index.tsv: a line per configuration with its axes and outcomes, for a person who browses.
void write_index_file(const Store& store, const Study& study);

}  // namespace hpcbench

#pragma once

#include <vector>

#include "jube/draft.hpp"
#include "jube/jube_tree.hpp"
#include "jube/parameters.hpp"
#include "jube/sets.hpp"

namespace hpcbench {

/// Writes `metrics` and `report`: the patterns of the analysers for the steps of a chain, and the columns of the first table.
void write_results(const JubeNode& benchmark, const std::vector<const JubeNode*>& chain, const JubeParameters& parameters,
                   JubeSets& sets, Draft& draft);

}  // namespace hpcbench

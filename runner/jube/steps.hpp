#pragma once

#include <string>
#include <vector>

#include "jube/draft.hpp"
#include "jube/jube_tree.hpp"
#include "jube/parameters.hpp"
#include "jube/sets.hpp"
#include "jube/translate.hpp"

namespace hpcbench {

/// The chosen step and all that it depends on, those first that others need; what is left out is a note.
std::vector<const JubeNode*> chain_of_steps(const JubeNode& benchmark, const JubeRequest& request, Draft& draft);

/// `command`, `prepare`, `repeats` and what goes with them. The last step is the run; each before it a preparation, whose
/// folder the run finds under the step's name, as with JUBE.
void write_steps(const std::vector<const JubeNode*>& chain, const JubeParameters& parameters, Draft& draft);

/// `files` from filesets and substitutesets, and the decks to write.
void write_files(const std::vector<const JubeNode*>& sets, const JubeParameters& parameters, const JubeRequest& request,
                 const JubeFiles& files, Draft& draft, std::vector<std::pair<std::string, std::string>>& decks);

}  // namespace hpcbench

#pragma once

#include <string>
#include <vector>

#include "jube/decks.hpp"
#include "jube/draft.hpp"
#include "jube/jube_tree.hpp"
#include "jube/parameters.hpp"
#include "jube/sets.hpp"
#include "jube/translate.hpp"

namespace hpcbench {

/// The chosen step and all that it depends on, those first that others need; what is left out is a note.
std::vector<const JubeNode*> chain_of_steps(const JubeNode& benchmark, const JubeRequest& request, Draft& draft);

/// Lines of a preparation's script that bring what its step's filesets and substitutesets ask for: from the folder of the call,
/// then in the preparation's own.
struct StepFiles {
  std::string before;
  std::string inside;
};

/// `files` from the run's filesets and substitutesets, and lines of its command for what these cannot bring.
StepFiles write_files(const std::vector<const JubeNode*>& sets, const JubeParameters& parameters, const JubeRequest& request,
                      const JubeFiles& files, Draft& draft, JubeDecks& decks);

/// The same for a step that becomes a preparation, which has no `files`.
StepFiles files_of_preparation(const JubeNode& step, const std::vector<const JubeNode*>& sets, const JubeParameters& parameters,
                               const JubeRequest& request, const JubeFiles& files, Draft& draft, JubeDecks& decks);

/// Lines that do what a fileset's `prepare` says, and end in the step's folder.
std::string script_of_prepare(const JubeNode& prepare, const std::string& folder, const JubeParameters& parameters,
                              const std::string& key, Draft& draft);

/// False where the node is off for good. A condition is a note.
bool is_active(const JubeNode& node, const JubeParameters& parameters, std::string_view key, Draft& draft);

/// As the names of preparations and of placeholders are.
std::string preparation_name(const JubeNode& step);

/// `command`, `prepare`, `repeats` and what goes with them. The last step is the run; each before it a preparation with its
/// files, whose folder the run finds under the step's name, as with JUBE.
void write_steps(const std::vector<const JubeNode*>& chain, const std::vector<StepFiles>& files,
                 const JubeParameters& parameters, Draft& draft);

}  // namespace hpcbench

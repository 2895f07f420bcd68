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

/// Returns the chosen step and all that it depends on, dependencies first; each omitted step is a note.
std::vector<const JubeNode*> chain_of_steps(const JubeNode& benchmark, const JubeRequest& request, Draft& draft);

/// Lines of a preparation's script that bring the files of its step's filesets and substitutesets: from the folder of the call,
/// then in the preparation's own folder.
struct StepFiles {
  std::string before;
  std::string inside;
};

/// Writes `files` from the run's filesets and substitutesets. Returns lines of its command for files that these cannot bring.
StepFiles write_files(const std::vector<const JubeNode*>& sets, const JubeParameters& parameters, const JubeRequest& request,
                      const JubeFiles& files, Draft& draft, JubeDecks& decks);

/// Does the same for a step that becomes a preparation, which has no `files`.
StepFiles files_of_preparation(const JubeNode& step, const std::vector<const JubeNode*>& sets, const JubeParameters& parameters,
                               const JubeRequest& request, const JubeFiles& files, Draft& draft, JubeDecks& decks);

/// Returns lines that carry out a fileset's `prepare` and end in the step's folder.
std::string script_of_prepare(const JubeNode& prepare, const std::string& folder, const JubeParameters& parameters,
                              const std::string& key, Draft& draft);

/// Returns false if the node is disabled unconditionally. A condition is a note.
bool is_active(const JubeNode& node, const JubeParameters& parameters, std::string_view key, Draft& draft);

/// Returns a valid name of a preparation and of its placeholder.
std::string preparation_name(const JubeNode& step);

/// Writes `command`, `prepare`, `repeats` and related keys. The last step is the run; each step before it is a preparation with
/// its files, whose folder the run finds under the step's name, as in JUBE.
void write_steps(const std::vector<const JubeNode*>& chain, const std::vector<StepFiles>& files,
                 const JubeParameters& parameters, Draft& draft);

}  // namespace hpcbench

#pragma once

#include <string>
#include <vector>

#include "base/named_glob.hpp"
#include "imports/import_request.hpp"

namespace hpcbench {

/// A file that an entry of `import` names, and what the names in its path stand for.
struct ImportedFile {
  std::string path;  // absolute
  NamedGlob::Reading reading;
};

/// The files of an entry. Notes globs without files; a path that can be read in several ways is a problem.
std::vector<ImportedFile> find_imported_files(const Study& study, const Import& import, ImportPlan& plan);

/// The runs of an entry `files`. `inherited`: their points may be missing.
void plan_files(const Study& study, const Import& import, const std::vector<ImportedFile>& files, bool inherited,
                ImportPlan& plan);

/// Adds values that the path of a file gives: to `run` those of axes and sizes, to `facts` all others.
void add_names(const Plan& plan, const NamedGlob::Reading& reading, Import& import);

/// The outcome that a program's word stands for, by `outcome: {is: ...}`; kIgnoredOutcome for a run that is left out. Absent,
/// and `why`, for a word that it does not name. An empty word is that of a run without one.
std::optional<std::string> outcome_of_word(const Import& import, const std::string& word, std::string& why);

}  // namespace hpcbench

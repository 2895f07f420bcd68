#pragma once

#include <map>
#include <string>
#include <vector>

#include "imports/import_request.hpp"

namespace hpcbench {

struct ImportResult {
  std::size_t taken = 0;    // new runs
  std::size_t again = 0;    // read again, as the next attempt: the request has changed
  std::size_t known = 0;    // there already: nothing was done
  std::size_t revoked = 0;  // no longer asked for
  std::vector<std::string> problems;
  std::vector<std::string> notes;  // files that were named twice, or have the same contents
  /// Files that no longer exist, although runs imported from them still count: how many runs by path.
  std::map<std::string, int> gone;
  std::vector<std::string> known_runs;  // CONFIG_ID/RUN of those that are there already; of imports by `ingest` only
  std::vector<std::string> paths;       // of what was taken in or read again, relative to results/EXPERIMENT
};

/// Exit code of a command that printed the rest of a study with broken imports: the input is wrong.
inline constexpr int kBrokenImports = 2;

enum class ImportOrigin { experiment_file, command };

/// Imports what is new: attempt folders CONFIG_ID/iNN/aN, each whole or absent (imported.json is written last, the
/// folder renamed when all of it is durable). UnavailableError if the results cannot be written, or another process imports for
/// over 30 s.
///
/// `withdraw`: runs that the experiment file asked for earlier, and that are not among the requests, are revoked: all of them
/// where the plan is whole, else those that come only from files that were read without a problem. A file with a problem keeps
/// the runs that it gave earlier, and gives no others beside them.
ImportResult import_runs(const Study& study, const ImportPlan& plan, ImportOrigin origin, bool withdraw);

/// Imports what `import:` asks for, and reports on stderr what was done and what is wrong. Never throws for what is wrong with
/// the imports or for results that cannot be written: the report is still printed. Fills in `broken_imports` where something is
/// wrong with the imports.
void take_in_imports(Study& study);

/// InputError with all that is wrong with `import:`; notes are said.
void check_imports(const Study& study);

}  // namespace hpcbench

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/run_name.hpp"
#include "imports/import_request.hpp"
#include "ingest/imported.hpp"
#include "ingest/outcome.hpp"

namespace hpcbench {

/// The name of an imported run's folder until all of it is durable.
inline constexpr const char* kUnfinishedPrefix = ".importing-";

/// The attempt folder of an unfinished import.
class ImportFolder {
 public:
  ImportFolder(const Study& study, const ImportRequest& request, AttemptKey key, std::vector<ImportedSource> sources,
               const std::string& identity, const std::string& wanted, bool by_file);

  /// Reads the sources, copies them and writes run.json. What makes this no run (two files that both give a metric) or cannot
  /// be read; then the folder is gone again.
  std::vector<std::string> prepare();
  /// Writes imported.json, last of all.
  void finish();
  /// Gives the folder its name.
  void publish();

 private:
  void copy_sources();
  void read();
  /// Values that were read become values in the unit that the experiment's `metrics` declare.
  void convert_units();
  void decide_outcome_of_import(const std::optional<Outcome>& said, std::optional<bool> pattern_found);
  std::string run_json() const;
  bool computes() const;  // the experiment has metrics that are formulas
  const Configuration& configuration() const { return study_->plan.configurations[request_->configuration]; }

  const Study* study_;
  const ImportRequest* request_;
  AttemptKey key_;
  std::string folder_;
  Imported imported_;
  std::vector<std::string> problems_;
};

/// First 64 hex digits: of experiment, axes, contents of the sources and the line of a table; without sources of `ordinal`.
std::string import_identity(const Study& study, const ImportRequest& request, const std::vector<ImportedSource>& sources,
                            int ordinal);
/// Of the whole request: a new one means that the run is read again.
std::string request_hash(const Study& study, const ImportRequest& request);

}  // namespace hpcbench

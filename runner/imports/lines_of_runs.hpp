#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "imports/import_request.hpp"

namespace hpcbench {

/// The lines of a table in which each run has several, one for each step for example.
class LinesOfRuns {
 public:
  /// `request.id` names the run.
  void add(ImportRequest request);
  /// Makes one request of the lines of a run: of the values of each metric, in their order, `take` chooses one. Lines that
  /// differ in anything else are a problem.
  void finish(const std::string& take, ImportPlan& plan);

 private:
  std::vector<std::vector<ImportRequest>> runs_;
  std::map<std::pair<std::string, std::size_t>, std::size_t> known_;  // id and, for `run`, configuration
};

/// The scope in which an id names one run: everywhere for `id`; in its configuration for `run`, which may number the repeats.
std::pair<std::string, std::size_t> scope_of_id(const ImportRequest& request);

}  // namespace hpcbench

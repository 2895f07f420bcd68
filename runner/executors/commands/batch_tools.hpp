#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "spec/batch_system.hpp"
#include "submit/job_state.hpp"

namespace re2 {
class RE2;
}

namespace hpcbench {

/// One job of a list.
struct BatchJob {
  std::string id, name, state;
  JobState phase = JobState::unknown;  // as the site's words say
};

/// Reads what the commands of a described batch system print.
class BatchTools {
 public:
  explicit BatchTools(const BatchSystem& system);
  ~BatchTools();
  BatchTools(const BatchTools&) = delete;
  BatchTools& operator=(const BatchTools&) = delete;

  /// The id that `submit` printed; absent without one.
  std::optional<std::string> id_in(const ToolResult& result) const;
  /// Whether `submit` takes no more jobs for now.
  bool says_later(const ToolResult& result) const;
  /// The jobs of a list; absent if the list failed.
  std::optional<std::vector<BatchJob>> jobs_in(const ToolResult& result) const;

 private:
  std::unique_ptr<re2::RE2> id_, later_, job_, empty_;
  std::map<std::string, JobState> phases_;
};

/// A command with its placeholders filled in. A word that is one placeholder becomes all of its values; another takes the
/// first.
std::vector<std::string> fill_command(const std::vector<std::string>& command,
                                      const std::map<std::string, std::vector<std::string>>& values);
/// A script with its placeholders filled in.
std::string fill_script(std::string text, const std::map<std::string, std::string>& values);

}  // namespace hpcbench

#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// What `check` says of a file, one message of it.
struct CheckMessage {
  enum class Level { error, warning, note };
  Level level = Level::error;
  std::string message;
  std::string file = {};  // empty where it has no place
  long long line = 0, column = 0;
  std::string advice = {};
};

/// The messages in a text of ours: `file:line:column: error: ...` with its line, caret and `  = advice`, `warning: ...`,
/// `note: ...`. Text that begins like none of these is one error without a place.
std::vector<CheckMessage> read_messages(const std::string& text);

/// What `check` found of `file`, and how much the study is where nothing is wrong.
struct CheckResult {
  std::string file;
  std::vector<CheckMessage> messages;
  std::optional<long long> configurations, runs;
};

/// For programs; for a log of GitHub Actions (workflow commands); and SARIF 2.1.0 (OASIS), which code hosts show in the lines.
std::string json_of_check(const CheckResult& result);
std::string github_of_check(const CheckResult& result);
std::string sarif_of_check(const CheckResult& result);

}  // namespace hpcbench

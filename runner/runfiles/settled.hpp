#pragma once

#include <optional>
#include <string>

#include "base/state.hpp"

namespace hpcbench {

/// What hpcbench concluded of an attempt whose job ended without finished.json: settled.json.
struct Settled {
  State outcome = State::lost;
  std::optional<std::string> reason;
  std::optional<std::string> tail;              // last lines of stderr.log, else stdout.log, as they were then
  std::optional<double> unix_s = std::nullopt;  // when: the job had ended by then
};

/// With the time of now.
void write_settled(const std::string& attempt_folder, const Settled& settled);
/// Absent if there is none, or it names no outcome.
std::optional<Settled> read_settled(const std::string& attempt_folder);

}  // namespace hpcbench

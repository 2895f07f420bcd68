#pragma once

#include <string>

namespace hpcbench {

/// Whether a person asked for the end of an attempt: its own end then counts as cancelled. `folder`: the attempt's.
bool is_cancel_requested(const std::string& folder);
/// Leaves that request. UnavailableError if it cannot be written.
void request_cancel(const std::string& folder);

}  // namespace hpcbench

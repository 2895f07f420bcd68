#pragma once

#include <optional>
#include <string>

namespace hpcbench {

/// Returns the failing rank's own last words if `output` ends with the failure of torchrun or accelerate: they end with the
/// rank's exception, `ValueError: no data`. Their source is torchrun's summary (the rank's error file), the rank's lines in
/// `output`, or the rank's log in the attempt's folder (`--log-dir`). Without any of these, one line states which rank failed.
/// nullopt if `output` ends otherwise.
std::optional<std::string> failure_below_launcher(const std::string& output, const std::string& attempt_folder);

}  // namespace hpcbench

#pragma once

#include <optional>
#include <string>

#include "store/store.hpp"

namespace hpcbench {

/// What `[EXPERIMENT/](CONFIG_ID prefix | axis=value,... | value,...)[/rNN[/aN]]` stands for. A value alone is of the one
/// axis that has it.
struct FoundRun {
  std::string experiment;
  AttemptRecord record;  // the attempt named, else the one that counts, else the last that was set aside
};

/// InputError with what there is when nothing, or more than one run, matches.
FoundRun find_run(const std::string& results_root, const std::string& reference);

}  // namespace hpcbench

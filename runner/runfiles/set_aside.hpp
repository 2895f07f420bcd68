#pragma once

#include <optional>
#include <string>

#include "base/state.hpp"

namespace hpcbench {

/// A person's decision that an attempt does not count: aside.json in the attempt's folder.
struct SetAside {
  std::string why;
  bool again = false;                           // its run gets a new attempt
  std::string by;                               // the user's name; empty: unknown
  std::optional<double> unix_s = std::nullopt;  // attempts of a run that were set aside together have the same

  Standing standing() const { return again ? Standing::measure_again : Standing::set_aside; }
};

/// A decision of the calling user at the present time.
SetAside decide_to_set_aside(const std::string& why, bool again);
/// Writes the decision durably.
void write_set_aside(const std::string& attempt_folder, const SetAside& aside);
/// nullopt: the attempt is not set aside. A damaged file still sets it aside.
std::optional<SetAside> read_set_aside(const std::string& attempt_folder);
/// Withdraws the decision. False if there is none.
bool remove_set_aside(const std::string& attempt_folder);

}  // namespace hpcbench

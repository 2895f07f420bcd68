#pragma once

#include <string>
#include <string_view>

namespace hpcbench {

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Returns the message of the `Error` that `action` ends with; empty if it succeeds. Other exceptions pass.
template <class Error, class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace hpcbench

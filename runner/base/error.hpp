#pragma once

#include <stdexcept>
#include <string>

namespace hpcbench {

/// The user's text or request is wrong. `what()` is the whole text to print; the program exits with 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An executor, a lock or a file is currently unavailable. `what()` states the next step; the program exits with 3.
class UnavailableError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Exceptions of std::filesystem are handled like UnavailableError (base/files.hpp, describe). Any other exception that reaches
// main is an internal error: exit code 4.

}  // namespace hpcbench

#pragma once

#include <stdexcept>
#include <string>

namespace hpcbench {

/// What a user wrote or asked for is wrong. `what()` is the whole text to print; the program exits with 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An executor, a lock or a file is not available just now. `what()` says what to do next; the program exits with 3.
class UnavailableError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// std::filesystem's exceptions end as UnavailableError does (base/files.hpp, describe). Every other one that reaches main is an
// internal error: exit code 4.

}  // namespace hpcbench

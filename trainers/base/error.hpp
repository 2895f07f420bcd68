#pragma once

#include <stdexcept>
#include <string>

namespace hpcbench::train {

/// What a user asked for is wrong. `what()` begins with "error: "; the program exits with 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The same of what all ranks have told each other: each of them finds it, at the same point, and needs no other's word.
class SharedInputError : public InputError {
 public:
  using InputError::InputError;
};

/// A file that is needed cannot be read, or does not hold what it should. `what()` begins with "error: "; exit code 3.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Another rank failed first; `what()` is the root cause in that rank's words. Exit code 1.
class PeerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A loss that is not a number. Exit code 1, error event with the code `nan_loss`.
class Diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// SIGTERM came, and the loop stopped at a step boundary. Exit code 143.
class Terminated : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr int kExitFailed = 1;
inline constexpr int kExitInput = 2;
inline constexpr int kExitData = 3;
inline constexpr int kExitTerminated = 143;

}  // namespace hpcbench::train

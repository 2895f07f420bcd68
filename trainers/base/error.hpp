#pragma once

#include <stdexcept>
#include <string>

namespace hpcbench::train {

/// The user's request is wrong. `what()` begins with "error: "; the program exits with 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An InputError about facts that all ranks have exchanged: each rank finds it at the same point, without a message from
/// another.
class SharedInputError : public InputError {
 public:
  using InputError::InputError;
};

/// A required file cannot be read or has wrong content. `what()` begins with "error: "; exit code 3.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Another rank failed first; `what()` is that rank's message with the root cause. Exit code 1.
class PeerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A loss that is not a number. Exit code 1, error event with the code `nan_loss`.
class Diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// SIGTERM was received, and the loop stopped at a step boundary. Exit code 143.
class Terminated : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr int kExitFailed = 1;
inline constexpr int kExitInput = 2;
inline constexpr int kExitData = 3;
inline constexpr int kExitTerminated = 143;

}  // namespace hpcbench::train

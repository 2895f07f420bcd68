#pragma once

#include <memory>
#include <optional>
#include <string>

namespace hpcbench {

/// One owner per experiment: an fcntl lock on results/EXPERIMENT/lock; where the file system has none, an O_EXCL file with
/// the owner's host, boot id, pid and start time.
class ExperimentLock {
 public:
  /// Absent if another process owns it; `owner` then says who, as far as that is known.
  static std::optional<ExperimentLock> try_acquire(const std::string& results, std::string* owner);
  ~ExperimentLock();
  ExperimentLock(ExperimentLock&&) noexcept;
  ExperimentLock& operator=(ExperimentLock&&) noexcept;

 private:
  struct Impl;
  explicit ExperimentLock(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The owner of the experiment now, in words; absent without one. Only looks: it never blocks the lock.
std::optional<std::string> experiment_owner(const std::string& results);

/// Removes the lock of an owner of another host that is known to be gone (`db unlock`). False if there is none.
bool break_lock(const std::string& results);

}  // namespace hpcbench

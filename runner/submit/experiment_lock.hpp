#pragma once

#include <memory>
#include <optional>
#include <string>

namespace hpcbench {

/// One owner per experiment: an fcntl lock on results/EXPERIMENT/lock, which only that user can open. Beside it lock.owner,
/// made with O_EXCL, has the owner's host, boot id, pid and start time, and changes every two seconds: hosts that the lock does
/// not reach see by it that the owner lives. Where the file system has no locks it is the lock.
class ExperimentLock {
 public:
  /// Absent if another process owns it; `owner` then says who, as far as that is known. UnavailableError if that process is on
  /// another host, which this host's lock does not reach.
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

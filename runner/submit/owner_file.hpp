#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/host.hpp"

namespace hpcbench {

/// `process 123 on node7`, from the text of a lock; `another process` where it cannot be read.
std::string describe_owner(const std::string& text);
std::string owner_text(const ProcessIdentity& process);
std::optional<ProcessIdentity> parse_owner(const std::string& text);

/// The lock of file systems without locks: a file created with O_EXCL that names its owner. A dead owner of this host is
/// replaced; of another host nothing is known, so such a file stays until break_lock.
class OwnerFile {
 public:
  /// Absent if it has another owner; `owner` then gets the file's text.
  static std::optional<OwnerFile> try_acquire(const std::string& path, const ProcessIdentity& self, std::string* owner);
  /// The same beside a lock that we hold: an owner of this host is gone. One of another host, which the lock may not reach, is
  /// gone unless its file changes within `patience_s`.
  static std::optional<OwnerFile> try_follow_lock(const std::string& path, const ProcessIdentity& self, double patience_s,
                                                  std::string* owner);
  ~OwnerFile();
  OwnerFile(OwnerFile&& other) noexcept;
  OwnerFile& operator=(OwnerFile&& other) noexcept;

 private:
  explicit OwnerFile(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {}
  void release();

  std::string path_;  // empty: released
  std::string text_;
};

/// Renews the time of change of a file every kHeartbeatS, for as long as this lives: the sign of life of its owner.
inline constexpr double kHeartbeatS = 2;
class Heartbeat {
 public:
  explicit Heartbeat(std::string path);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void beat() const;

  std::string path_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace hpcbench

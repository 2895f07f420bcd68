#include "submit/owner_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr int kAcquireTries = 3;  // breaking a dead owner's file and losing the race for the next takes one each

/// Removes the file of a dead owner, and only that: what was moved aside is looked at, and put back if it is another's.
void remove_dead_owner(const std::string& path, const std::string& dead_text) {
  const std::string aside = path + "." + random_hex(8);
  if (std::rename(path.c_str(), aside.c_str()) != 0) return;
  if (read_file_if_there(aside).value_or("") != dead_text) {
    if (::link(aside.c_str(), path.c_str()) != 0) return;
  }
  ::unlink(aside.c_str());
}

/// What of a file changes with each sign of life; absent: it does not exist. Opened each time: then NFS asks the server.
std::optional<std::string> state_of(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0) return std::nullopt;
  return fmt::format("{} {} {}", status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

/// Whether the owner gives a sign of life within so many seconds.
bool changes_within(const std::string& path, double seconds) {
  constexpr double kLookS = 0.1;
  const std::optional<std::string> before = state_of(path);
  for (const double end = monotonic_s() + seconds; before && monotonic_s() < end;) {
    system_clock().sleep(kLookS);
    const std::optional<std::string> now = state_of(path);
    if (!now) return false;
    if (now != before) return true;
  }
  return false;
}

}  // namespace

std::string owner_text(const ProcessIdentity& process) {
  return fmt::format("host {}\nboot_id {}\npid {}\nstart_ticks {}\n", process.host, process.boot_id, process.pid,
                     process.start_ticks);
}

std::optional<ProcessIdentity> parse_owner(const std::string& text) {
  ProcessIdentity process;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) continue;
    const std::string name = line.substr(0, blank);
    const std::string value = line.substr(blank + 1);
    const char* const end = value.data() + value.size();
    if (name == "host") process.host = value;
    if (name == "boot_id") process.boot_id = value;
    if (name == "pid" && std::from_chars(value.data(), end, process.pid).ptr != end) return std::nullopt;
    if (name == "start_ticks" && std::from_chars(value.data(), end, process.start_ticks).ptr != end) return std::nullopt;
  }
  if (process.host.empty() || process.boot_id.empty() || process.pid <= 0) return std::nullopt;
  return process;
}

std::string describe_owner(const std::string& text) {
  const auto process = parse_owner(text);
  return process ? fmt::format("process {} on {}", process->pid, process->host) : "another process";
}

std::optional<OwnerFile> OwnerFile::try_acquire(const std::string& path, const ProcessIdentity& self, std::string* owner) {
  const std::string own = owner_text(self);
  for (int i = 0; i < kAcquireTries; ++i) {
    if (create_exclusively(path, own)) return OwnerFile(path, own);
    const std::optional<std::string> text = read_file_if_there(path);
    if (!text) continue;
    if (owner != nullptr) *owner = *text;
    const auto process = parse_owner(*text);
    if (!process || is_alive(*process).value_or(true)) return std::nullopt;
    remove_dead_owner(path, *text);
  }
  return std::nullopt;
}

std::optional<OwnerFile> OwnerFile::try_follow_lock(const std::string& path, const ProcessIdentity& self, double patience_s,
                                                    std::string* owner) {
  const std::string own = owner_text(self);
  for (int i = 0; i < kAcquireTries; ++i) {
    if (create_exclusively(path, own)) return OwnerFile(path, own);
    const std::optional<std::string> text = read_file_if_there(path);
    if (!text) continue;
    const auto process = parse_owner(*text);
    const bool elsewhere = process && (process->host != self.host || process->boot_id != self.boot_id);
    if (elsewhere && changes_within(path, patience_s)) {
      *owner = *text;
      return std::nullopt;
    }
    remove_dead_owner(path, *text);
  }
  return std::nullopt;
}

Heartbeat::Heartbeat(std::string path) : path_(std::move(path)) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the thread that does the work
  thread_ = std::thread([this] {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::duration<double>(kHeartbeatS), [this] { return ended_; })) beat();
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Heartbeat::beat() const { ::utimensat(AT_FDCWD, path_.c_str(), nullptr, AT_SYMLINK_NOFOLLOW); }

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void OwnerFile::release() {
  if (path_.empty()) return;
  // Somebody may have broken the lock: then the file is not ours to remove.
  try {
    if (read_file_if_there(path_).value_or("") == text_) ::unlink(path_.c_str());
  } catch (...) {  // NOLINT(bugprone-empty-catch): a lock that cannot be removed is broken by whoever finds its owner gone
  }
  path_.clear();
}

OwnerFile::~OwnerFile() { release(); }

OwnerFile::OwnerFile(OwnerFile&& other) noexcept : path_(std::exchange(other.path_, {})), text_(std::move(other.text_)) {}

OwnerFile& OwnerFile::operator=(OwnerFile&& other) noexcept {
  if (this != &other) {
    release();
    path_ = std::exchange(other.path_, {});
    text_ = std::move(other.text_);
  }
  return *this;
}

}  // namespace hpcbench

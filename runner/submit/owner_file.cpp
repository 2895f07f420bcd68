#include "submit/owner_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <utility>
#include <vector>

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

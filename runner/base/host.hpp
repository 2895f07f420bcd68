#pragma once

#include <optional>
#include <string>

namespace hpcbench {

/// Identifies one process of one host permanently: hosts reuse pids.
struct ProcessIdentity {
  std::string host;
  std::string boot_id;  // /proc/sys/kernel/random/boot_id
  int pid = 0;
  unsigned long long start_ticks = 0;  // field 22 of /proc/PID/stat: clock ticks since boot

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

std::string host_name();
std::string boot_id();
/// Returns the identity of a process of this host that is alive (a zombie is not); nullopt if there is none.
std::optional<ProcessIdentity> identify_process(int pid);
ProcessIdentity this_process();
/// Returns a file of /proc/PID (`comm`, `cmdline`, `environ`); empty for an ended process, or one of another user.
std::string process_text(int pid, const char* file);
/// Returns whether this very process still runs; nullopt if it belongs to another host, or to an earlier boot of it.
std::optional<bool> is_alive(const ProcessIdentity& process);

/// Returns `count` hex digits from the kernel's random source.
std::string random_hex(int count);

/// Returns the first `hex_digits` hex digits of the SHA-256 (FIPS 180-4) of `bytes`.
std::string sha256_hex(const std::string& bytes, int hex_digits = 64);
/// Returns the whole SHA-256 of a file of any size; nullopt if it cannot be read.
std::optional<std::string> sha256_of_file(const std::string& path);

/// Returns the folder that holds this program's executable.
std::string program_folder();

/// Returns the path of the built-in trainer, beside this program; the file may not exist.
std::string trainer_program();

/// Returns the seconds since the epoch, for time stamps only.
double unix_time_s();
/// Returns the seconds of the monotonic clock, for durations only.
double monotonic_s();

}  // namespace hpcbench

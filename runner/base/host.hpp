#pragma once

#include <optional>
#include <string>

namespace hpcbench {

/// One process of one host for all time: hosts reuse pids.
struct ProcessIdentity {
  std::string host;
  std::string boot_id;  // /proc/sys/kernel/random/boot_id
  int pid = 0;
  unsigned long long start_ticks = 0;  // field 22 of /proc/PID/stat: clock ticks since boot

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

std::string host_name();
std::string boot_id();
/// The identity of a process of this host that is alive (a zombie is not); absent if there is none.
std::optional<ProcessIdentity> identify_process(int pid);
ProcessIdentity this_process();
/// A file of /proc/PID (`comm`, `cmdline`, `environ`); empty if it cannot be read: the process is gone, or another user's.
std::string process_text(int pid, const char* file);
/// Whether that very process still runs. Absent if it belongs to another host, or to an earlier boot seen from elsewhere.
std::optional<bool> is_alive(const ProcessIdentity& process);

/// `count` hex digits from the kernel's random source.
std::string random_hex(int count);

/// First `hex_digits` hex digits of the SHA-256 (FIPS 180-4) of `bytes`.
std::string sha256_hex(const std::string& bytes, int hex_digits = 64);
/// The same, all of it, of a file of any size; absent if it cannot be read.
std::optional<std::string> sha256_of_file(const std::string& path);

/// The folder that holds this program's executable.
std::string program_folder();

/// The built-in trainer, which lies beside this program; it may not be there.
std::string trainer_program();

/// Seconds since the epoch, for time stamps only.
double unix_time_s();
/// Seconds of the monotonic clock, for durations only.
double monotonic_s();

}  // namespace hpcbench

#include "base/host.hpp"

#include <fmt/format.h>
#include <nettle/sha2.h>
#include <nettle/version.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

std::string hex(const std::uint8_t* bytes, std::size_t count) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(2 * count, '0');
  for (std::size_t i = 0; i < count; ++i) {
    out[2 * i] = kDigits[bytes[i] >> 4U];
    out[2 * i + 1] = kDigits[bytes[i] & 0xFU];
  }
  return out;
}

class Sha256 {
 public:
  Sha256() { sha256_init(&context_); }
  void add(std::string_view bytes) {
    sha256_update(&context_, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  }
  std::string digest_hex() {
    std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
#if NETTLE_VERSION_MAJOR >= 4
    sha256_digest(&context_, digest.data());
#else
    sha256_digest(&context_, digest.size(), digest.data());
#endif
    return hex(digest.data(), digest.size());
  }

 private:
  sha256_ctx context_{};
};

double clock_s(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string boot_id() { return std::string(trim(read_file_if_there("/proc/sys/kernel/random/boot_id").value_or("unknown"))); }

std::string process_text(int pid, const char* file) {
  try {
    return read_file_if_there(fmt::format("/proc/{}/{}", pid, file)).value_or("");
  } catch (const UnavailableError&) {
    return "";  // ESRCH: the process ended during the read
  }
}

std::optional<ProcessIdentity> identify_process(int pid) {
  const std::string stat = process_text(pid, "stat");
  // The name, in brackets, may contain anything. Fields are counted from the last bracket: the state is the third.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return std::nullopt;
  const std::vector<std::string> fields = split(std::string_view(stat).substr(name_end + 2), ' ');
  if (fields.size() < 20 || fields[0] == "Z" || fields[0] == "X") return std::nullopt;
  return ProcessIdentity{host_name(), boot_id(), pid, std::stoull(fields[19])};
}

ProcessIdentity this_process() {
  const std::optional<ProcessIdentity> self = identify_process(::getpid());
  return self ? *self : ProcessIdentity{host_name(), boot_id(), ::getpid(), 0};
}

std::optional<bool> is_alive(const ProcessIdentity& process) {
  if (process.host != host_name()) return std::nullopt;
  if (process.boot_id != boot_id()) return false;
  const std::optional<ProcessIdentity> now = identify_process(process.pid);
  return now && now->start_ticks == process.start_ticks;
}

std::string random_hex(int count) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count + 1) / 2);
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw UnavailableError("error: the kernel gives no random numbers");
  }
  return hex(bytes.data(), bytes.size()).substr(0, static_cast<std::size_t>(count));
}

std::string sha256_hex(const std::string& bytes, int hex_digits) {
  Sha256 hash;
  hash.add(bytes);
  return hash.digest_hex().substr(0, static_cast<std::size_t>(hex_digits));
}

std::optional<std::string> sha256_of_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return std::nullopt;
  Sha256 hash;
  std::string chunk(1 << 20, '\0');
  while (stream.read(chunk.data(), std::ssize(chunk)) || stream.gcount() > 0) {
    hash.add(std::string_view(chunk).substr(0, static_cast<std::size_t>(stream.gcount())));
  }
  if (stream.bad()) return std::nullopt;
  return hash.digest_hex();
}

std::string program_folder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path().string(); }

std::string trainer_program() { return program_folder() + "/hpcbench-train"; }

double unix_time_s() { return clock_s(CLOCK_REALTIME); }

double monotonic_s() { return clock_s(CLOCK_MONOTONIC); }

}  // namespace hpcbench

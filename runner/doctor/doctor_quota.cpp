#include "doctor/doctor_quota.hpp"

#include <fcntl.h>
#include <sys/quota.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>

#include "base/files.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "doctor/doctor_machine.hpp"

namespace hpcbench {

namespace {

constexpr double kBlockBytes = 1024;  // unit of `quota`, `lfs quota` and the kernel's limits
constexpr double kQuotaPatience = 10;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

/// Parses `123`, `123*`, `[123]`, `[123]*`.
std::optional<double> quota_number(std::string_view word) {
  if (word.ends_with('*')) word.remove_suffix(1);
  if (word.starts_with('[') && word.ends_with(']')) word = word.substr(1, word.size() - 2);
  unsigned long long number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return static_cast<double>(number);
}

/// Returns the lower of two limits; 0 means no limit.
std::optional<double> lower_limit(double soft, double hard) {
  if (soft == 0 && hard == 0) return std::nullopt;
  if (soft == 0 || hard == 0) return soft + hard;
  return std::min(soft, hard);
}

/// Reads blocks used, soft, hard, grace, files used, soft, hard, from `words[first]` on.
std::optional<DiskQuota> quota_of_words(const std::vector<std::string>& words, std::size_t first) {
  if (words.size() < first + 7) return std::nullopt;
  std::vector<double> numbers;
  for (const std::size_t i : {0, 1, 2, 4, 5, 6}) {
    const std::optional<double> number = quota_number(words[first + i]);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  DiskQuota quota{numbers[0] * kBlockBytes, numbers[3], lower_limit(numbers[1], numbers[2]),
                  lower_limit(numbers[4], numbers[5])};
  if (quota.limit_bytes) *quota.limit_bytes *= kBlockBytes;
  return quota;
}

/// Asks the kernel for the quota of the file system that holds `folder`. quotactl_fd(2) needs Linux 5.14 but no device name.
std::optional<DiskQuota> kernel_quota(const std::string& folder) {
#ifdef SYS_quotactl_fd
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_CLOEXEC));
  struct dqblk limits {};
  if (fd.get() < 0 || ::syscall(SYS_quotactl_fd, fd.get(), QCMD(Q_GETQUOTA, USRQUOTA), ::geteuid(), &limits) != 0)
    return std::nullopt;
  DiskQuota quota{static_cast<double>(limits.dqb_curspace), static_cast<double>(limits.dqb_curinodes),
                  lower_limit(static_cast<double>(limits.dqb_bsoftlimit), static_cast<double>(limits.dqb_bhardlimit)),
                  lower_limit(static_cast<double>(limits.dqb_isoftlimit), static_cast<double>(limits.dqb_ihardlimit))};
  if (quota.limit_bytes) *quota.limit_bytes *= kBlockBytes;
  return quota;
#else
  static_cast<void>(folder);
  return std::nullopt;
#endif
}

/// mountinfo writes blanks as `\040`.
std::string unescape_mount(std::string_view field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    int code = 0;
    const auto digits = field.substr(i + 1, 3);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 8);
    if (field[i] == '\\' && digits.size() == 3 && error == std::errc() && end == digits.data() + 3) {
      text += static_cast<char>(code);
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

}  // namespace

std::optional<DiskQuota> parse_quota(std::string_view output, std::string_view source) {
  for (const std::string& line : split(output, '\n')) {
    const std::vector<std::string> words = words_of(line);
    if (!words.empty() && words.front() == source) return quota_of_words(words, 1);
  }
  return std::nullopt;
}

std::optional<DiskQuota> parse_lustre_quota(std::string_view output) {
  // The folder's name may have several words: the values begin at the first numbers.
  const std::vector<std::string> words = words_of(output);
  for (std::size_t first = 1; first + 7 <= words.size(); ++first) {
    if (const auto quota = quota_of_words(words, first)) return quota;
  }
  return std::nullopt;
}

std::string mount_source(std::string_view mountinfo, const std::string& folder) {
  std::string source;
  std::size_t longest = 0;
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::vector<std::string> words = words_of(line);
    std::size_t dash = 6;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 2 >= words.size()) continue;
    const std::string point = unescape_mount(words[4]);
    const bool holds = point == "/" || folder == point || folder.starts_with(point + "/");
    if (!holds || point.size() < longest) continue;  // of two mounts on one point the later one covers the other
    longest = point.size();
    source = unescape_mount(words[dash + 2]);
  }
  return source;
}

std::optional<DiskQuota> ask_quota(const std::string& folder, ToolRunner& tools) {
  const std::string there = existing_folder(folder);
  if (const auto quota = kernel_quota(there)) return quota;
  if (find_program("lfs")) {
    const ToolResult answer = tools.run({{"lfs", "quota", "-q", "-u", user_name(), there}, "", kQuotaPatience});
    if (answer.succeeded()) {
      if (const auto quota = parse_lustre_quota(answer.output)) return quota;
    }
  }
  if (find_program("quota")) {
    // It exits with 1 above a limit: its output counts.
    const ToolResult answer = tools.run({{"quota", "-w", "-p"}, "", kQuotaPatience});
    const std::string mounts = read_file_if_there("/proc/self/mountinfo").value_or("");
    return parse_quota(answer.output, mount_source(mounts, there));
  }
  return std::nullopt;
}

std::vector<std::string> parse_backends(std::string_view version) {
  std::vector<std::string> backends;
  const std::size_t open = version.find('(');
  const std::size_t close = version.find(')', open);
  if (open == version.npos || close == version.npos) return backends;
  const std::vector<std::string> parts = split(version.substr(open + 1, close - open - 1), ',');
  for (std::size_t i = 1; i < parts.size(); ++i) backends.emplace_back(trim(parts[i]));
  return backends;
}

}  // namespace hpcbench

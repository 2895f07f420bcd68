#include "launch/oom_count.hpp"

#include <charconv>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

std::optional<std::string> read_quietly(const std::string& path) {
  try {
    return read_file_if_there(path);
  } catch (const UnavailableError&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<long long> parse_oom_kill_count(const std::string& text) {
  constexpr std::string_view kKey = "oom_kill ";
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with(kKey)) continue;
    long long count = 0;
    const auto [end, error] = std::from_chars(line.data() + kKey.size(), line.data() + line.size(), count);
    if (error == std::errc() && end == line.data() + line.size()) return count;
  }
  return std::nullopt;
}

std::optional<std::string> parse_cgroup_path(const std::string& text, const std::string& controller) {
  for (const std::string& line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    for (const std::string& name : split(line.substr(first + 1, second - first - 1), ',')) {
      if (name == controller) return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

std::optional<long long> read_oom_kill_count() {
  const std::string cgroups = read_quietly("/proc/self/cgroup").value_or("");
  std::vector<std::string> candidates;
  // In a container the path may be the host's, of which only the last part is mounted: then the mount itself is ours.
  if (const auto path = parse_cgroup_path(cgroups, "memory")) {
    candidates.push_back("/sys/fs/cgroup/memory" + *path + "/memory.oom_control");
    candidates.emplace_back("/sys/fs/cgroup/memory/memory.oom_control");
  }
  if (const auto path = parse_cgroup_path(cgroups, "")) {
    candidates.push_back("/sys/fs/cgroup" + *path + "/memory.events");
    candidates.emplace_back("/sys/fs/cgroup/memory.events");
  }
  for (const std::string& candidate : candidates) {
    const std::optional<std::string> text = read_quietly(candidate);
    if (!text) continue;
    if (const std::optional<long long> count = parse_oom_kill_count(*text)) return count;
  }
  return std::nullopt;
}

}  // namespace hpcbench

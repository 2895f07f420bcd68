#include "launch/descendants.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>

#include "base/files.hpp"

namespace hpcbench {

namespace {

/// One line of /proc/PID/stat, as far as it matters here.
struct ProcessLine {
  char state = 'X';
  pid_t parent = 0;
  Descendant process = {};
};

/// Absent state 'X' if the process is gone.
ProcessLine read_process_line(int proc, const char* pid) {
  ProcessLine line;
  const Descriptor fd(::openat(proc, (std::string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  if (fd.get() < 0 || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return line;
  // The name in brackets may hold anything; the fields start behind the last bracket.
  const char* const name_end = std::strrchr(text.data(), ')');
  std::array<unsigned long long, 4> ticks{};
  long long pages = 0;
  constexpr const char* kFields = " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %*d %*d %*u %*u %lld";
  if (name_end == nullptr || std::sscanf(name_end + 1, kFields, &line.state, &line.parent, &line.process.group, &ticks[0],
                                         &ticks[1], &ticks[2], &ticks[3], &pages) < 3)
    return {};
  const unsigned long long used = std::accumulate(ticks.begin(), ticks.end(), 0ULL);
  line.process.cpu_s = static_cast<double>(used) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  line.process.rss_bytes = pages * ::sysconf(_SC_PAGESIZE);
  return line;
}

}  // namespace

std::vector<Descendant> find_descendants() { return find_descendants(::getpid()); }

std::vector<Descendant> find_descendants(pid_t ancestor) {
  std::vector<Descendant> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return found;
  std::unordered_multimap<pid_t, Descendant> children;
  while (const dirent* entry = ::readdir(proc.get())) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    ProcessLine line = read_process_line(::dirfd(proc.get()), entry->d_name);
    line.process.pid = pid;
    if (line.state != 'X' && line.state != 'Z') children.emplace(line.parent, line.process);
  }
  const auto append_children_of = [&](pid_t parent) {
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
    children.erase(first, last);
  };
  append_children_of(ancestor);
  for (std::size_t i = 0; i < found.size(); ++i) append_children_of(found[i].pid);
  return found;
}

}  // namespace hpcbench

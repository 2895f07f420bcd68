#include "launch/descendants.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/files.hpp"

namespace hpcbench {

namespace {

/// One line of /proc/PID/stat, as far as it matters here.
struct ProcessLine {
  char state = 'X';
  pid_t parent = 0;
  pid_t group = 0;
};

/// Absent state 'X' if the process is gone.
ProcessLine read_process_line(int proc, const char* pid) {
  ProcessLine line;
  const Descriptor fd(::openat(proc, (std::string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  if (fd.get() < 0 || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return line;
  // The name in brackets may hold anything; the fields start behind the last bracket.
  const char* const name_end = std::strrchr(text.data(), ')');
  if (name_end == nullptr || std::sscanf(name_end + 1, " %c %d %d", &line.state, &line.parent, &line.group) != 3) return {};
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
    const ProcessLine line = read_process_line(::dirfd(proc.get()), entry->d_name);
    if (line.state != 'X' && line.state != 'Z') children.emplace(line.parent, Descendant{pid, line.group});
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

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

using OptionNames = std::vector<std::string_view>;

/// An option that says how many there are of something.
struct CountOption {
  OptionNames names;     // with `-` for `_`
  std::string_view now;  // the placeholder that it gets
};

struct Launcher {
  OptionNames programs;
  std::string_view subcommand;
  std::vector<CountOption> counts;
  OptionNames cpus;                // options that set the cores of a process
  std::string_view own;            // inserted where no option but that of nodes is given
  bool values_by_default = false;  // an option takes the next word as its value, unless it is one of `exceptions`
  OptionNames exceptions;
  std::string_view meeting;   // sent to the launcher of each node, where there are several
  OptionNames meeting_names;  // options that say so already
  std::string_view launch;
  std::string_view why;
};

bool has_option(const OptionNames& names, std::string_view name);
/// `--nproc_per_node=2` and `-nproc-per-node` as `-nproc-per-node`.
std::string plain_option(std::string_view word);

struct FoundLauncher {
  const Launcher* launcher = nullptr;
  std::size_t options = 0;  // the index of the word after the launcher's own
};

/// The launcher that a command line starts, from `from` on. Assignments, and programs that start the rest of their line
/// (`taskset`, `time`, `nice`), may precede it. In a shell's line, it may also follow an operator.
FoundLauncher find_launcher(const std::vector<std::string>& words, bool shell, std::size_t from = 0);
/// Whether the word ends a command of a shell's line.
bool is_shell_operator(std::string_view word);

}  // namespace hpcbench

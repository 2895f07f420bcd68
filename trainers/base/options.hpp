#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/settings.hpp"

namespace hpcbench::train {

/// What the command line asks for: a text to print (help, version), or a run.
struct Command {
  std::optional<std::string> text;
  Settings settings;
};

/// A command beside `run`, of one task: it reads its own arguments, those behind its name, and returns the exit code.
struct TaskCommand {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>& arguments);
};

/// Reads `arguments` (without the program's name) over the settings of the run.json that HPCBENCH_RUN names: the command line
/// wins. `version` is what --version prints; --help names `others`, too. InputError says what is wrong and what was probably
/// meant.
Command read_command(const std::vector<std::string>& arguments, const Environment& environment, const std::string& version,
                     const std::vector<TaskCommand>& others = {});

}  // namespace hpcbench::train

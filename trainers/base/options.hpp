#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/settings.hpp"

namespace hpcbench::train {

/// The request of a command line: a text to print (help, version), or a run.
struct Command {
  std::optional<std::string> text;
  Settings settings;
};

/// A command beside `run`, for one task: it parses the arguments behind its name, and returns the exit code.
struct TaskCommand {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>& arguments);
};

/// Parses `arguments` (without the program's name), which override the settings of the run.json that HPCBENCH_RUN names.
/// `version` is the text of --version; --help names `others`, too. InputError states the mistake and the probable intention.
Command read_command(const std::vector<std::string>& arguments, const Environment& environment, const std::string& version,
                     const std::vector<TaskCommand>& others = {});

}  // namespace hpcbench::train

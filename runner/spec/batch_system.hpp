#pragma once

#include <optional>
#include <string>
#include <vector>

#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// A batch system that a site file describes under `commands`; docs/other-schedulers.md explains each key.
struct BatchSystem {
  std::string name;                              // for messages: `Grid Engine`
  std::vector<std::string> submit;               // a command; the words with {{script}} name the job's script
  std::string id;                                // pattern of what `submit` prints: group 1 is the job's id
  std::optional<std::string> later;              // pattern of what `submit` prints when it takes no more jobs for now
  std::vector<std::string> list;                 // a command that lists the user's jobs
  std::string job;                               // pattern of one job of that list, with the groups id, name and state
  std::optional<std::string> empty;              // pattern of what `list` prints when it fails only for lack of jobs
  std::vector<std::string> waiting, running;     // states
  std::vector<std::string> stuck, ended;         // states that need the user; states of jobs that have ended
  std::vector<std::string> cancel;               // a command; {{ids}} stands for the ids
  std::vector<std::string> directives;           // lines of the script; one without a value for a placeholder is left out
  std::optional<std::string> job_variable = {};  // the variable in which a job finds its id
};

/// The placeholders that lines of `directives` may have.
const std::vector<std::string>& directive_names();

/// Reads `commands` of a site file.
BatchSystem read_batch_system(const YamlNode& node, Diagnostics& diagnostics);

}  // namespace hpcbench

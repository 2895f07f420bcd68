#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/experiment.hpp"

namespace hpcbench {

/// What the command line says beside the file. Precedence: defaults < site < used files < experiment < profiles in their order
/// < settings.
struct ReadOptions {
  std::optional<std::string> profile;  // one, or several with commas between them
  std::optional<std::string>
      site;  // a name (./sites, installed sites) or a path; absent: $XDG_CONFIG_HOME/hpcbench/site.yaml if there
  std::vector<std::string> settings;  // `a.b=YAML`, the text of --set
  bool looks_back = false;            // for a command that reads results: a retired key is a note, not an error
};

/// Reads and checks an experiment file. All errors of meaning are reported at once, sorted by place, as the text of one
/// InputError: for each `file:line:column: error: ...`, the line, a caret, and what to write instead.
Experiment read_experiment(const std::string& path, const ReadOptions& options);

/// The same for text at hand, without the default site; `path` is only named in messages. Total: any bytes give an Experiment
/// or an InputError.
Experiment parse_experiment(const std::string& text, const std::string& path, const ReadOptions& options);

/// Names that are defined for placeholders in every point: nodes, gpus_per_node, gpus, run_dir, repeat, seed (axes and
/// parameters come on top).
const std::vector<std::string>& builtin_placeholders();

/// The tasks of the built-in trainer that `trainer:` may name.
const std::vector<std::string>& trainer_tasks();

/// Whether the built-in trainer has a setting of this name.
bool is_trainer_setting(const std::string& name);

/// What a starter is made of; of command, trainer and import at most one is given.
struct StarterOptions {
  std::string name = "starter";        // of the study
  std::vector<std::string> command;    // a program and its arguments; a launcher (torchrun, mpirun ...) gets the processes
  std::optional<std::string> trainer;  // one of trainer_tasks()
  bool import = false;                 // results that exist already
  std::string shell_text;              // `command` as it was typed, if only a shell can read it
};
/// A commented starter experiment that `read_experiment` accepts.
std::string starter_experiment(const StarterOptions& options = {});

}  // namespace hpcbench

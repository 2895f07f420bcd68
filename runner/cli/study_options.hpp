#pragma once

#include <string>
#include <vector>

#include "commandline/command.hpp"
#include "study/study.hpp"

namespace hpcbench {

enum class FileArgument { required, optional };
/// FILE, --profile, --site and --set: what is read, and how.
void add_source_options(commandline::Command& command, StudyOptions& options, FileArgument file);
/// These, --only and --results.
void add_study_options(commandline::Command& command, StudyOptions& options, FileArgument file);
/// The same of a command that takes several, or none: FILE...
void add_study_options(commandline::Command& command, StudyOptions& options, std::vector<std::string>& files);
/// Only --results.
void add_results_option(commandline::Command& command, std::string& results);

}  // namespace hpcbench

#pragma once

#include <string>

#include "base/tool_runner.hpp"
#include "study/needs.hpp"
#include "study/study.hpp"

namespace hpcbench {

/// Returns a line for each finding: `problem  what happened. What to do.`.
std::string findings_text(const Findings& findings);

/// Checks that results can be written, with space and quota. Call it first: its line always names the results folder.
void examine_results(const Study& study, ToolRunner& tools, Findings& findings);
/// Checks what every executor needs: results folder, programs, data, trainer.
void examine_machine(const Study& study, ToolRunner& tools, Findings& findings);
/// Checks that this machine can load the modules that jobs load.
void examine_modules(const Study& study, ToolRunner& tools, Findings& findings);
/// Checks jobs that are processes of this machine.
void examine_local(const Study& study, Findings& findings);
/// Asks Slurm in advance whether it would accept the study's jobs; submits nothing.
void examine_slurm(const Study& study, ToolRunner& tools, Findings& findings);
/// Checks that the commands of a described batch system work here; submits nothing.
void examine_batch_system(const Study& study, ToolRunner& tools, Findings& findings);

/// Returns whether systemd ends the processes of a user who logs out, by logind's settings for `user` below `root` (`/`).
bool logout_ends_processes(const std::string& root, const std::string& user);

}  // namespace hpcbench

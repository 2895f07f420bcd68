#pragma once

#include <string>

#include "base/tool_runner.hpp"
#include "study/needs.hpp"
#include "study/study.hpp"

namespace hpcbench {

/// A line for each finding: `problem  what is the case. What to do.`.
std::string findings_text(const Findings& findings);

/// Whether results can be written, with space and quota for them. First of all, as its line says where they go if all is well.
void examine_results(const Study& study, ToolRunner& tools, Findings& findings);
/// What holds for any executor: results folder, programs, data, trainer.
void examine_machine(const Study& study, ToolRunner& tools, Findings& findings);
/// Whether the modules that jobs load can be loaded here.
void examine_modules(const Study& study, ToolRunner& tools, Findings& findings);
/// What only concerns jobs that are processes of this machine.
void examine_local(const Study& study, Findings& findings);
/// What Slurm will say to the study's jobs, asked beforehand; nothing is submitted.
void examine_slurm(const Study& study, ToolRunner& tools, Findings& findings);
/// Whether the commands of a described batch system work here; nothing is submitted.
void examine_batch_system(const Study& study, ToolRunner& tools, Findings& findings);

/// Whether systemd ends the processes of a user who logs out: what logind's files below `root` (`/`) say of `user`.
bool logout_ends_processes(const std::string& root, const std::string& user);

}  // namespace hpcbench

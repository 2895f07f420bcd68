#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "doctor/doctor.hpp"
#include "executors/commands/batch_tools.hpp"

namespace hpcbench {

void examine_batch_system(const Study& study, ToolRunner& tools, Findings& findings) {
  const std::optional<BatchSystem>& system = study.experiment.site.commands;
  if (!system) return;  // refused elsewhere
  const passwd* const user = ::getpwuid(::getuid());
  const std::string name = user == nullptr ? std::to_string(::getuid()) : user->pw_name;
  const ToolResult answer = tools.run({.argv = fill_command(system->list, {{"user", {name}}})});
  if (BatchTools(*system).jobs_in(answer)) {
    note_finding(findings, Finding::Kind::fine, fmt::format("{} lists jobs", system->name));
  } else {
    note_finding(findings, Finding::Kind::problem,
                 fmt::format("{} does not list jobs: {}: {}", system->name, system->list.front(), describe(answer)),
                 "call hpcbench where its commands work, or correct `commands.list` in the site file");
  }
}

}  // namespace hpcbench

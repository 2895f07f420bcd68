#pragma once

namespace hpcbench {

/// The whole program: parses, runs the command, prints errors in one place, and gives the exit code of docs/commands.md.
int run_command_line(int argc, char** argv);

}  // namespace hpcbench

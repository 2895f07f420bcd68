#include "cli/cli.hpp"

int main(int argc, char** argv) { return hpcbench::run_command_line(argc, argv); }

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hpcbench {

/// One command of the program. `add` declares its options and sets a callback that does the work and stores the exit code.
struct Command {
  const char* name;
  const char* summary;
  const char* examples;  // shown at the end of its --help
  void (*add)(CLI::App& app, int& exit_code);
};

void add_init(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_status(CLI::App& app, int& exit_code);
void add_watch(CLI::App& app, int& exit_code);
void add_cancel(CLI::App& app, int& exit_code);
void add_retry(CLI::App& app, int& exit_code);
void add_ingest(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_plot(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_logs(CLI::App& app, int& exit_code);
void add_ls(CLI::App& app, int& exit_code);
void add_clean(CLI::App& app, int& exit_code);
void add_help(CLI::App& app, int& exit_code);
void add_db(CLI::App& app, int& exit_code);
void add_launch(CLI::App& app, int& exit_code);
void add_rank(CLI::App& app, int& exit_code);
void add_completion(CLI::App& app, int& exit_code);

/// What follows `rank ... --`, each word byte for byte: a parser of options has a mind of its own about `[]`.
std::vector<std::string>& command_of_rank();

}  // namespace hpcbench

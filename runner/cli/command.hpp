#pragma once

#include "commandline/command.hpp"

namespace hpcbench {

/// One command of the program. `add` declares its options, and sets as its action what does the work.
struct CommandRow {
  const char* name;
  const char* summary;
  const char* examples;  // shown at the end of its --help
  void (*add)(commandline::Command& command);
};

void add_init(commandline::Command& command);
void add_check(commandline::Command& command);
void add_plan(commandline::Command& command);
void add_doctor(commandline::Command& command);
void add_run(commandline::Command& command);
void add_status(commandline::Command& command);
void add_watch(commandline::Command& command);
void add_cancel(commandline::Command& command);
void add_retry(commandline::Command& command);
void add_scan(commandline::Command& command);
void add_ingest(commandline::Command& command);
void add_report(commandline::Command& command);
void add_plot(commandline::Command& command);
void add_compare(commandline::Command& command);
void add_show(commandline::Command& command);
void add_export(commandline::Command& command);
void add_logs(commandline::Command& command);
void add_ls(commandline::Command& command);
void add_clean(commandline::Command& command);
void add_set_aside(commandline::Command& command);
void add_help(commandline::Command& command);
void add_db(commandline::Command& command);
void add_launch(commandline::Command& command);
void add_rank(commandline::Command& command);
void add_completion(commandline::Command& command);
void add_demo(commandline::Command& command);
void add_schema(commandline::Command& command);
void add_man(commandline::Command& command);

}  // namespace hpcbench

#include "base/options.hpp"

#include <algorithm>
#include <list>
#include <utility>

#include "base/error.hpp"
#include "base/task_settings.hpp"
#include "base/text.hpp"
#include "commandline/command.hpp"

namespace hpcbench::train {

namespace {

constexpr const char* kFooter =
    "  hpcbench-train run --strategy ddp --global-batch 128 --optimizer sgd --lr 0.05 --momentum 0.9\n"
    "  hpcbench launch -n 2 -- hpcbench-train run --strategy ddp --epochs 2\n"
    "\n"
    "The same names, with underscores, are the keys under `settings` in run.json, which is read where the environment "
    "variable\n"
    "HPCBENCH_RUN names one; the command line wins. Ranks are told by RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and\n"
    "MASTER_PORT, or by Slurm. Exit codes: 0 well, 1 training failed, 2 the input is wrong, 3 data cannot be read, 143 "
    "SIGTERM.";

std::string examples() {
  std::string text = "Examples:\n";
  for (const TaskSettings& task : task_settings()) {
    for (const std::string& example : task.examples) text += concat("  hpcbench-train run ", example, "\n");
  }
  return text;
}

std::string option_of(const std::string& name) {
  std::string option = "--" + name;
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

/// A setting of the table, and its value on the command line.
struct Given {
  const SettingRow* row;
  const commandline::Option* option = nullptr;
  std::string text;
};

void declare_run(commandline::Command& run, std::list<Given>& given) {
  run.footer(examples() + kFooter);
  for (const SettingRow& row : setting_rows()) {
    Given& setting = given.emplace_back(&row);
    commandline::Option& option =
        run.add_option(option_of(row.name), setting.text, row.help).value_name(row.value_name).last_wins();
    if (row.value_name == "BOOL") option.value_may_be_left_out();
    setting.option = &option;
  }
}

commandline::Parsed parse_or_refuse(commandline::Command& program, const std::vector<std::string>& arguments) {
  try {
    return commandline::parse(program, arguments);
  } catch (const commandline::UsageError& error) {
    throw InputError(error.text());
  }
}

}  // namespace

Command read_command(const std::vector<std::string>& arguments, const Environment& environment, const std::string& version,
                     const std::vector<TaskCommand>& others) {
  commandline::Command program("hpcbench-train",
                               "The trainer of hpcbench: trains a task with one or several processes and measures it.");
  program.version(version);
  program.footer("Try `hpcbench-train run --help`.");
  std::list<Given> given;
  program.add_command("run", "train a task", [&](commandline::Command& run) { declare_run(run, given); });
  // These have their own parsers; they are added here for --help.
  for (const TaskCommand& other : others) program.add_command(other.name, other.summary);
  Command command;
  command.text = parse_or_refuse(program, arguments).text;
  if (command.text) return command;
  RunFile file;
  const auto run_file = environment("HPCBENCH_RUN");
  if (run_file) file = read_run_file(*run_file);
  for (const Given& setting : given) {
    if (!setting.option->is_given()) continue;
    // A switch alone means true.
    const bool alone = setting.row->value_name == "BOOL" && setting.text.empty();
    file.settings.push_back({setting.row->name, alone ? "true" : setting.text, option_of(setting.row->name)});
  }
  command.settings = make_settings(file.settings);
  command.settings.gpus = file.gpus;
  if (run_file) command.settings.run_folder = environment("HPCBENCH_RUN_DIR").value_or(file.folder.string());
  return command;
}

}  // namespace hpcbench::train

#include "core/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <list>

#include "core/error.hpp"
#include "core/text.hpp"

namespace hpcbench::train {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  hpcbench-train run --task mnist_rnn --epochs 2 --data data/mnist\n"
    "  hpcbench-train run --task bert_squad --model tiny --data data/squad2-excerpt.json --train-share 0.9 --max-steps 20\n"
    "  hpcbench-train run --task bert_squad --model DIR --data SQUAD --preset huggingface --epochs 2 --save OUT\n"
    "  hpcbench-train run --strategy ddp --global-batch 128 --optimizer sgd --lr 0.05 --momentum 0.9\n"
    "  hpcbench launch -n 2 -- hpcbench-train run --task mnist_rnn --strategy ddp --epochs 2 --data data/mnist\n"
    "\n"
    "The same names, with underscores, are the keys under `settings` in run.json, which is read where the environment "
    "variable\n"
    "HPCBENCH_RUN names one; the command line wins. Ranks are told by RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and\n"
    "MASTER_PORT, or by Slurm. Exit codes: 0 well, 1 training failed, 2 the input is wrong, 3 data cannot be read, 143 "
    "SIGTERM.";

std::string option_of(const std::string& name) {
  std::string option = "--" + name;
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

[[noreturn]] void refuse_extra(const std::string& extra) {
  std::vector<std::string> options = {"--help"};
  for (const SettingRow& row : setting_rows()) options.push_back(option_of(row.name));
  const std::string name = extra.substr(0, extra.find('='));
  if (extra.rfind('-', 0) == 0) {
    throw InputError(
        concat("error: there is no option ", name, did_you_mean(name, options), ". `hpcbench-train run --help` lists them"));
  }
  throw InputError(
      concat("error: the argument `", extra, "` is not understood. `hpcbench-train run --help` lists the options"));
}

}  // namespace

Command read_command(const std::vector<std::string>& arguments, const Environment& environment, const std::string& version) {
  Command command;
  CLI::App app("The trainer of hpcbench: trains a task with one or several processes and measures it.", "hpcbench-train");
  app.set_version_flag("--version", version);
  app.footer("Try `hpcbench-train run --help`.");
  CLI::App* run = app.add_subcommand("run", "train a task");
  run->footer(kExamples);
  run->allow_extras();
  run->prefix_command(false);
  app.add_subcommand("features", "print the features of a SQuAD file (`hpcbench-train features --help`)");
  app.add_subcommand("score", "score predictions (`hpcbench-train score --help`)");
  app.allow_extras();
  std::list<std::pair<const SettingRow*, std::string>> given;
  for (const SettingRow& row : setting_rows()) {
    auto& [_, text] = given.emplace_back(&row, "");
    CLI::Option* const option = run->add_option(option_of(row.name), text, row.help)->type_name(row.value_name)->take_last();
    if (row.value_name == "BOOL") option->expected(0, 1)->default_str("");
  }
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    command.text = app.help();
    return command;
  } catch (const CLI::CallForVersion&) {
    command.text = version + "\n";
    return command;
  } catch (const CLI::ParseError& error) {
    throw InputError(concat("error: ", error.what()));
  }
  const std::vector<std::string> extras = app.remaining(true);
  if (!run->parsed()) {
    if (extras.empty()) throw InputError("error: say what to do: `hpcbench-train run ...`, or `hpcbench-train --help`");
    if (extras.front().rfind('-', 0) == 0) refuse_extra(extras.front());
    throw InputError(concat("error: there is no command `", extras.front(), "`",
                            did_you_mean(extras.front(), {"run", "features", "score"}), ". There are: run, features, score"));
  }
  if (!extras.empty()) refuse_extra(extras.front());
  RunFile file;
  const auto run_file = environment("HPCBENCH_RUN");
  if (run_file) file = read_run_file(*run_file);
  for (const auto& [row, text] : given) {
    const std::string option = option_of(row->name);
    if (run->count(option) == 0) continue;
    // A switch alone means true.
    file.settings.push_back({row->name, row->value_name == "BOOL" && text.empty() ? "true" : text, option});
  }
  command.settings = make_settings(file.settings);
  command.settings.gpus = file.gpus;
  if (run_file) command.settings.run_folder = file.folder;
  return command;
}

}  // namespace hpcbench::train

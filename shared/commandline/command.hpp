#pragma once

#include <functional>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commandline/option.hpp"

/// Command lines: what commands and options a program has is declared once; parsing (by Boost.Program_options), --help and
/// completion all go by that. Nothing here knows either program.
namespace hpcbench::commandline {

/// A program, or one of its commands: its options, what it does, and the commands below it.
class Command {
 public:
  /// Declares a command when it is needed first: a program with many commands starts with one.
  using Declare = std::function<void(Command&)>;

  Command(std::string name, std::string summary, Command* parent = nullptr, Declare declare = {});
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// `names` as for Option. References stay valid.
  Option& add_option(std::string_view names, Target target, std::string_view help);
  Option& add_flag(std::string_view names, bool& value, std::string_view help) { return add_option(names, value, help); }
  Command& add_command(const std::string& name, const std::string& summary, Declare declare = {});
  /// What --help ends with: examples, mostly.
  void footer(std::string text) { footer_ = std::move(text); }
  /// `--version` prints this.
  void version(std::string text);
  /// A command with commands below it may be called without one of them; only --help shows a difference.
  void command_may_be_left_out() { needs_command_ = false; }
  /// What the command does; its result is the exit code.
  void action(std::function<int()> work) { action_ = std::move(work); }

  /// Runs `declare`, once. Parsing does so for the commands that are named; who walks all of them does it itself.
  void declare();

  const std::string& name() const { return name_; }
  /// As a person types it: `hpcbench db unlock`.
  std::string full_name() const;
  const std::string& summary() const { return summary_; }
  std::list<Option>& options() { return options_; }
  const std::list<Option>& options() const { return options_; }
  std::list<Command>& commands() { return commands_; }
  const std::list<Command>& commands() const { return commands_; }
  Command* parent() const { return parent_; }
  /// The page that --help prints.
  std::string help() const;
  /// `hpcbench run [OPTIONS] FILE`
  std::string usage() const;
  /// The same page in roff, for section 1 of the manual: every option as --help has it.
  std::string man_page() const;
  /// Does what the command does.
  int run() const { return action_ ? action_() : 0; }

 private:
  friend class Parsing;

  std::string name_, summary_, footer_, version_;
  Command* parent_;
  Declare declare_;
  std::list<Option> options_;
  std::list<Command> commands_;
  std::function<int()> action_;
  bool needs_command_ = true;
  bool wants_help_ = false, wants_version_ = false;
};

/// A wrong command line; what() says what is wrong with it.
struct UsageError : std::runtime_error {
  UsageError(const Command& command, const std::string& what) : std::runtime_error(what), command(command) {}
  const Command& command;  // the last that was named: whose --help helps
};

/// None of the commands was named.
struct NoCommand : UsageError {
  using UsageError::UsageError;
};

/// Arguments that are no option or command, or more than the command takes; in the order of the command line.
struct UnexpectedArguments : UsageError {
  UnexpectedArguments(const Command& command, std::vector<std::string> arguments);
  /// The first that looks like an option, else the first, without `=value`: what somebody may have misspelt.
  std::string misspelt() const;
  /// What it may have meant: the names of options, or of commands.
  std::vector<std::string> candidates() const;

  std::vector<std::string> arguments;
};

/// What a command line asks for.
struct Parsed {
  const Command* command;           // the last that was named
  std::optional<std::string> text;  // to print instead of running the command: --help, --version
};

/// Reads `arguments`, which do not hold the program's name, and sets the targets of the options. UsageError.
///
/// `--x=y` and `--x y`, `-x y` and `-xy`, `-ab` for flags; all behind `--` is positional. The argument behind an option that
/// needs a value is its value, whatever it looks like. Options are not abbreviated. Where --help is given, other arguments need
/// not be right.
Parsed parse(Command& program, const std::vector<std::string>& arguments);

}  // namespace hpcbench::commandline

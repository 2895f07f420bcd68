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

/// Commands and their options, declared once. Boost.Program_options splits a command line into options and values. This module
/// adds commands below commands, advice on misspelt words, checks that name the option and the right value, and --help, man
/// pages and completion from the same declarations. It knows neither program.
namespace hpcbench::commandline {

struct Parsed;

/// A program, or one of its commands: its options, its action, and the commands below it.
class Command {
 public:
  /// Declares a command when it is first needed, so that a program with many commands starts quickly.
  using Declare = std::function<void(Command&)>;

  Command(std::string name, std::string summary, Command* parent = nullptr, Declare declare = {});
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Adds an option. `names` as for Option. References stay valid.
  template <class T>
  Option& add_option(std::string_view names, T& variable, std::string_view help) {
    return options_.emplace_back(names, Target(&variable), help);
  }
  Option& add_flag(std::string_view names, bool& value, std::string_view help) { return add_option(names, value, help); }
  Command& add_command(const std::string& name, const std::string& summary, Declare declare = {});
  /// Sets the end of --help: "Examples:" and a line for each; notes follow a blank line.
  void footer(std::string text) { footer_ = std::move(text); }
  /// Sets the text of `--version`.
  void version(std::string text);
  /// Sets the work of the command; its result is the exit code.
  void action(std::function<int()> work) { action_ = std::move(work); }

  const std::string& name() const { return name_; }
  /// Returns the name as the user types it: `hpcbench db unlock`.
  std::string full_name() const;
  const std::string& summary() const { return summary_; }
  /// These two first declare the command if necessary.
  std::list<Option>& options();
  std::list<Command>& commands();
  /// Returns the command of this name below it; UsageError without one.
  Command& find(const std::string& name);
  Command* parent() const { return parent_; }
  /// Returns the page that --help prints.
  std::string help();
  /// Returns that page in roff, for section 1 of the manual.
  std::string man_page();
  int run() const { return action_ ? action_() : 0; }

 private:
  friend Parsed parse(Command& program, const std::vector<std::string>& arguments);

  std::string usage();
  void declare();

  std::string name_, summary_, footer_, version_;
  Command* parent_;
  Declare declare_;
  std::list<Option> options_;
  std::list<Command> commands_;
  std::function<int()> action_;
  bool is_declared_ = false, wants_help_ = false, wants_version_ = false;
};

/// A wrong command line; what() names the mistake.
struct UsageError : std::runtime_error {
  UsageError(const Command& command, const std::string& what) : std::runtime_error(what), full_name(command.full_name()) {}
  /// Returns `error: WHAT ADVICE` and a line that names the --help to read.
  std::string text() const;

  std::string full_name;        // of the last command on the line
  std::string unknown_command;  // in the place of a command
  std::string advice;           // ` (did you mean `run`?)`
};

/// The result of parsing.
struct Parsed {
  Command* command;                 // the last command on the line
  std::optional<std::string> text;  // to print instead of running the command: --help, --version
};

/// Parses `arguments`, without the program's name, and sets the targets of the options. UsageError.
///
/// `--x=y` and `--x y`, `-x y` and `-xy`, `-ab` for flags; everything behind `--` is positional. The argument behind an option
/// that needs a value is its value, unless it is a short option of the command: `--why=-v`. Options are not abbreviated. With
/// --help, other arguments may be wrong.
Parsed parse(Command& program, const std::vector<std::string>& arguments);

}  // namespace hpcbench::commandline

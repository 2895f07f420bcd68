#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>

#include "commandline/command.hpp"
#include "words/did_you_mean.hpp"

namespace hpcbench::commandline {

namespace {

namespace po = boost::program_options;

using Arguments = std::vector<std::string>;

/// Returns Boost's name of an option: without dashes, except for `-n` if that is its only name.
std::string key_of(const Option& option) { return option.long_name.empty() ? option.name() : option.long_name; }

/// Declares to Boost how many values each option takes. Option reads the values: Boost's conversions accept `-1` as unsigned,
/// refuse paths with blanks, and do not name the valid values in their messages.
po::options_description describe(Command& command) {
  po::options_description all;
  for (const Option& option : command.options()) {
    if (option.is_positional()) continue;  // otherwise Boost would accept `--FILE x`, too
    auto* const values = po::value<Arguments>();
    if (option.is_flag()) values->zero_tokens();
    if (option.is_value_optional) values->implicit_value({""}, "");
    if (option.is_greedy) values->multitoken();
    const std::string names = option.long_name + (option.short_name.empty() ? "" : "," + option.short_name);
    all.add_options()(names.c_str(), values);
  }
  return all;
}

/// Reads what Boost would refuse: an empty value behind `=`, and positional arguments that begin with a dash but are no
/// options: `-5`.
std::vector<po::option> read_specially(Command& command, Arguments& left) {
  po::option read;
  const std::string first = left.front();
  const auto is_named = [&](const Option& option) { return option.short_name == first.substr(1, 1); };
  if (first.starts_with("--") && first.find('=') == first.size() - 1) {
    read.string_key = first.substr(2, first.size() - 3);
    read.value = {""};
  } else if (first.size() > 1 && first[0] == '-' && std::isdigit(static_cast<unsigned char>(first[1])) != 0 &&
             std::none_of(command.options().begin(), command.options().end(), is_named)) {
    read.value = {first};
  } else {
    return {};
  }
  read.original_tokens = {first};
  left.erase(left.begin());
  return {read};
}

/// Returns the errors that only Boost detects: a missing value, or a value of a flag.
std::string explain(const po::error_with_option_name& error, Command& command) {
  std::string typed = error.get_option_name();  // may be `--n` for `-n`
  typed.erase(0, typed.find_first_not_of('-'));
  for (const Option& option : command.options()) {
    if (option.is_positional() || (typed != option.short_name && typed != option.long_name)) continue;
    return option.name() + (option.is_flag() ? " takes no value" : " needs a value: " + option.value_label());
  }
  return error.what();
}

std::vector<po::option> read_by_boost(Command& command, const Arguments& arguments) {
  using namespace po::command_line_style;
  const po::options_description known = describe(command);
  try {
    return po::command_line_parser(arguments)
        .options(known)
        .style(unix_style & ~allow_guessing)
        .extra_style_parser([&](Arguments& left) { return read_specially(command, left); })
        .allow_unregistered()
        .run()
        .options;
  } catch (const po::error_with_option_name& error) {
    throw UsageError(command, explain(error, command));
  }
}

/// Passes each option its values. Returns the arguments that belong to no option, unknown options first.
Arguments distribute(Command& command, const Arguments& arguments) {
  Arguments unknown, positional;
  for (const po::option& read : read_by_boost(command, arguments)) {
    if (read.unregistered) {
      unknown.push_back(read.original_tokens.empty() ? read.string_key : read.original_tokens.front());
    } else if (read.string_key.empty()) {
      positional.push_back(read.value.front());
    } else {
      const auto option = std::find_if(command.options().begin(), command.options().end(), [&](const Option& each) {
        return !each.is_positional() && key_of(each) == read.string_key;
      });
      option->given.insert(option->given.end(), read.value.begin(), read.value.end());
      if (read.value.empty()) option->given.emplace_back();
    }
  }
  auto next = positional.begin();
  for (Option& option : command.options()) {
    if (!option.is_positional() || next == positional.end()) continue;
    const auto end = option.is_list() ? positional.end() : next + 1;
    option.given.assign(next, end);
    next = end;
  }
  unknown.insert(unknown.end(), next, positional.end());
  return unknown;
}

/// Returns the error for an argument that is no option or command, with the nearest existing one.
UsageError not_understood(Command& command, const std::string& argument) {
  const std::string word = argument.starts_with("-") ? argument.substr(0, argument.find('=')) : argument;
  Arguments candidates;
  const char* kind = "unexpected argument";
  if (word.starts_with("-")) {
    kind = "there is no option";
    for (const Option& option : command.options()) {
      if (!option.long_name.empty()) candidates.push_back("--" + option.long_name);
    }
  } else if (!command.commands().empty()) {
    kind = "there is no command";
    for (const Command& below : command.commands()) candidates.push_back(below.name());
  }
  UsageError error(command, std::string(kind) + " `" + word + "`");
  if (!command.commands().empty()) error.unknown_command = word;
  error.advice = did_you_mean(word, candidates);
  return error;
}

void check_together(Command& command, const Option& option) {
  if (option.is_required && !option.is_given()) throw UsageError(command, option.name() + " is required");
  if (!option.is_given()) return;
  for (const std::string& needed : option.needed) {
    const auto is_it = [&](const Option& other) { return other.name() == needed && other.is_given(); };
    if (std::none_of(command.options().begin(), command.options().end(), is_it))
      throw UsageError(command, option.name() + " requires " + needed);
  }
  for (const Option& other : command.options()) {
    if (other.is_given() && option.is_excluded_by(other))
      throw UsageError(command, option.name() + " excludes " + other.name());
  }
}

/// Reads the arguments of one command and sets the targets of its options. With --help, other arguments of the command
/// may be wrong.
void read_options(Command& command, const Arguments& arguments, bool& wants_help) {
  const Arguments unknown = distribute(command, arguments);
  wants_help = wants_help || std::any_of(command.options().begin(), command.options().end(),
                                         [](const Option& option) { return option.long_name == "help" && option.is_given(); });
  if (wants_help) return;
  if (!unknown.empty()) throw not_understood(command, unknown.front());
  for (const Option& option : command.options()) {
    if (const auto mistake = option.set_target()) throw UsageError(command, *mistake);
  }
}

/// Returns the options before the name of a command, with their values.
Arguments take_leading_options(Command& command, Arguments::const_iterator& next, Arguments::const_iterator end) {
  const auto begin = next;
  while (next != end && next->size() > 1 && next->starts_with("-") && *next != "--") {
    const auto takes_value = [&](const Option& option) {
      return !option.is_flag() && (*next == "--" + option.long_name || *next == "-" + option.short_name);
    };
    const bool has_value = std::any_of(command.options().begin(), command.options().end(), takes_value);
    ++next;
    if (has_value && next != end) ++next;
  }
  return {begin, next};
}

}  // namespace

std::string UsageError::text() const { return std::string("error: ") + what() + advice + "\nRead `" + full_name + " --help`."; }

Command& Command::find(const std::string& name) {
  for (Command& below : commands()) {
    if (below.name() == name) return below;
  }
  throw not_understood(*this, name);
}

Parsed parse(Command& program, const Arguments& arguments) {
  Command* command = &program;
  auto next = arguments.begin();
  bool wants_help = false;
  while (!command->commands().empty()) {
    read_options(*command, take_leading_options(*command, next, arguments.end()), wants_help);
    if (command->wants_version_) return {command, command->version_ + "\n"};
    if (next == arguments.end() && wants_help) return {command, command->help()};
    if (next == arguments.end()) throw UsageError(*command, "a command is required");
    command = &command->find(*next++);
  }
  read_options(*command, {next, arguments.end()}, wants_help);
  if (wants_help) return {command, command->help()};
  for (const Option& option : command->options()) check_together(*command, option);
  return {command, std::nullopt};
}

}  // namespace hpcbench::commandline

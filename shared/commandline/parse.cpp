#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <map>
#include <utility>

#include "commandline/command.hpp"

namespace hpcbench::commandline {

namespace {

namespace po = boost::program_options;

using Arguments = std::vector<std::string>;

constexpr unsigned kManyValues = 32000;  // as Boost's own options of many values

/// How many of the arguments behind an option are its values. What these mean is for Option to say.
class ValueCount : public po::value_semantic {
 public:
  explicit ValueCount(const Option& option)
      : least_(option.is_flag() || option.is_value_optional ? 0 : 1),
        most_(option.is_greedy   ? kManyValues
              : option.is_flag() ? 0
                                 : 1) {}

  std::string name() const override { return ""; }
  unsigned min_tokens() const override { return least_; }
  unsigned max_tokens() const override { return most_; }
  bool is_composing() const override { return false; }
  bool is_required() const override { return false; }
  void parse(boost::any&, const Arguments&, bool) const override {}
  bool apply_default(boost::any&) const override { return false; }
  void notify(const boost::any&) const override {}

 private:
  unsigned least_, most_;
};

/// Boost's name of an option: without dashes, but for `-n` where there is only that. Positional arguments have theirs.
std::string key_of(const Option& option) { return option.long_name.empty() ? option.name() : option.long_name; }

po::options_description describe(const Command& command) {
  po::options_description all;
  for (const Option& option : command.options()) {
    if (option.is_positional()) continue;  // Boost would take `--FILE x`, too
    const std::string names = option.long_name + (option.short_name.empty() ? "" : "," + option.short_name);
    all.add_options()(names.c_str(), new ValueCount(option));
  }
  return all;
}

bool is_named(const Command& command, char short_name) {
  return std::any_of(command.options().begin(), command.options().end(),
                     [&](const Option& option) { return option.short_name == std::string(1, short_name); });
}

/// What Boost would refuse: an empty value behind `=`, and positional arguments that begin with a dash, but are no options:
/// `-5`.
std::vector<po::option> read_specially(const Command& command, Arguments& left) {
  po::option read;
  const std::string& first = left.front();
  if (first.starts_with("--") && first.find('=') == first.size() - 1) {
    read.string_key = first.substr(2, first.size() - 3);
    read.value = {""};
  } else if (first.size() > 1 && first[0] == '-' && std::isdigit(static_cast<unsigned char>(first[1])) != 0 &&
             !is_named(command, first[1])) {
    read.value = {first};
  } else {
    return {};
  }
  read.original_tokens = {first};
  left.erase(left.begin());
  return {read};
}

/// The mistakes that only Boost sees: a value that is missing, or one of a flag.
std::string explain(const po::error_with_option_name& error, const Command& command) {
  std::string typed = error.get_option_name();  // `-n` may be `--n` here
  typed.erase(0, typed.find_first_not_of('-'));
  for (const Option& option : command.options()) {
    if (option.is_positional() || (typed != option.short_name && typed != option.long_name)) continue;
    return option.name() + (option.is_flag() ? " takes no value" : " needs a value: " + option.value_label());
  }
  return error.what();
}

std::vector<po::option> read_by_boost(const Command& command, const Arguments& arguments) {
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

/// What stands on the command line of one command.
struct Given {
  std::map<std::string, Arguments> values;  // by the key of the option; a flag has an empty one each time
  Arguments positional;
  Arguments unknown;
};

Given read_given(const Command& command, const Arguments& arguments) {
  Given given;
  for (const po::option& read : read_by_boost(command, arguments)) {
    if (read.unregistered) {
      given.unknown.push_back(read.original_tokens.empty() ? read.string_key : read.original_tokens.front());
    } else if (read.string_key.empty()) {
      given.positional.push_back(read.value.front());
    } else {
      Arguments& values = given.values[read.string_key];
      values.insert(values.end(), read.value.begin(), read.value.end());
      if (read.value.empty()) values.emplace_back();
    }
  }
  return given;
}

/// Hands positional arguments to those that take them, in order; the rest is unknown.
void place_positionals(Command& command, Given& given) {
  auto next = given.positional.begin();
  for (Option& option : command.options()) {
    if (!option.is_positional() || next == given.positional.end()) continue;
    const auto end = option.target.is_list ? given.positional.end() : next + 1;
    given.values[key_of(option)].assign(next, end);
    next = end;
  }
  given.unknown.insert(given.unknown.end(), next, given.positional.end());
}

bool is_given(const Command& command, const std::string& name) {
  return std::any_of(command.options().begin(), command.options().end(),
                     [&](const Option& option) { return option.name() == name && option.is_given(); });
}

void check_together(const Command& command, const Option& option) {
  if (option.is_required && !option.is_given()) throw UsageError(command, option.name() + " is required");
  for (const std::string& other : option.needed) {
    if (option.is_given() && !is_given(command, other)) throw UsageError(command, option.name() + " requires " + other);
  }
  for (const Option& other : command.options()) {
    if (!option.is_given() || !other.is_given() || !exclude_each_other(option, other)) continue;
    throw UsageError(command, option.name() + " excludes " + other.name());
  }
}

/// How many of `arguments` are options of a command that has others below it: they are flags, and stand before the name.
std::size_t leading_options(const Arguments& arguments) {
  const auto name = std::find_if(arguments.begin(), arguments.end(), [](const std::string& word) {
    return word.size() < 2 || !word.starts_with("-") || word == "--";
  });
  return static_cast<std::size_t>(name - arguments.begin());
}

}  // namespace

/// Goes down the commands that are named.
class Parsing {
 public:
  Parsing(Command& program, Arguments arguments) : command_(&program), left_(std::move(arguments)) {}

  Parsed parse() {
    command_->declare();
    while (!command_->commands_.empty()) {
      const auto end = left_.begin() + static_cast<std::ptrdiff_t>(leading_options(left_));
      const Arguments options(left_.begin(), end);
      left_.erase(left_.begin(), end);
      read_options(options);
      if (command_->wants_version_) return {command_, command_->version_ + "\n"};
      if (left_.empty()) return end_without_command();
      go_down();
    }
    read_options(left_);
    if (wants_help_) return {command_, command_->help()};
    for (const Option& option : command_->options_) check_together(*command_, option);
    return {command_, std::nullopt};
  }

 private:
  void read_options(const Arguments& arguments) {
    Given given = read_given(*command_, arguments);
    wants_help_ = wants_help_ || given.values.contains("help");
    place_positionals(*command_, given);
    if (wants_help_) return;
    if (!given.unknown.empty()) throw UnexpectedArguments(*command_, given.unknown);
    for (Option& option : command_->options_) {
      const auto found = given.values.find(key_of(option));
      if (found == given.values.end()) continue;
      option.count = static_cast<int>(found->second.size());
      if (const auto mistake = option.set_values(found->second)) throw UsageError(*command_, *mistake);
    }
  }

  void go_down() {
    const std::string name = left_.front();
    for (Command& below : command_->commands_) {
      if (below.name_ != name) continue;
      left_.erase(left_.begin());
      command_ = &below;
      command_->declare();
      return;
    }
    throw UnexpectedArguments(*command_, {name});
  }

  Parsed end_without_command() const {
    if (!wants_help_) throw NoCommand(*command_, "A subcommand is required");
    return {command_, command_->help()};
  }

  Command* command_;
  Arguments left_;
  bool wants_help_ = false;
};

Parsed parse(Command& program, const Arguments& arguments) { return Parsing(program, arguments).parse(); }

}  // namespace hpcbench::commandline

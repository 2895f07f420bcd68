#include "commandline/command.hpp"

#include <utility>

namespace hpcbench::commandline {

namespace {

std::string not_expected(const std::vector<std::string>& arguments) {
  std::string text =
      arguments.size() == 1 ? "The following argument was not expected:" : "The following arguments were not expected:";
  for (const std::string& argument : arguments) text += " " + argument;
  return text;
}

}  // namespace

Command::Command(std::string name, std::string summary, Command* parent, Declare declare)
    : name_(std::move(name)), summary_(std::move(summary)), parent_(parent), declare_(std::move(declare)) {
  add_flag("-h,--help", wants_help_, "Print this help message and exit");
}

Option& Command::add_option(const std::string& names, Target target, const std::string& help) {
  return options_.emplace_back(names, std::move(target), help);
}

Command& Command::add_command(const std::string& name, const std::string& summary, Declare declare) {
  return commands_.emplace_back(name, summary, this, std::move(declare));
}

void Command::version(std::string text) {
  version_ = std::move(text);
  add_flag("--version", wants_version_, "Display program version information and exit");
}

void Command::declare() {
  if (const Declare once = std::exchange(declare_, {})) once(*this);
}

std::string Command::full_name() const { return parent_ == nullptr ? name_ : parent_->full_name() + " " + name_; }

UnexpectedArguments::UnexpectedArguments(const Command& command, std::vector<std::string> its_arguments)
    : UsageError(command, not_expected(its_arguments)), arguments(std::move(its_arguments)) {}

std::string UnexpectedArguments::misspelt() const {
  for (const std::string& argument : arguments) {
    if (argument.starts_with("-")) return argument.substr(0, argument.find('='));
  }
  return arguments.front();
}

std::vector<std::string> UnexpectedArguments::candidates() const {
  std::vector<std::string> names;
  if (misspelt().starts_with("-")) {
    for (const Option& option : command.options()) {
      if (!option.long_name.empty()) names.push_back("--" + option.long_name);
    }
  } else {
    for (const Command& below : command.commands()) names.push_back(below.name());
  }
  return names;
}

}  // namespace hpcbench::commandline

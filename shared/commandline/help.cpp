#include <string>

#include "commandline/command.hpp"

namespace hpcbench::commandline {

namespace {

constexpr std::size_t kColumn = 30;  // where descriptions begin

/// `  LABEL        TEXT`; the text of a long label is on the next line.
std::string entry(const std::string& label, const std::string& text) {
  std::string line = "  " + label;
  if (text.empty()) return line + "\n";
  if (line.size() >= kColumn) return line + "\n" + std::string(kColumn, ' ') + text + "\n";
  line.resize(kColumn, ' ');
  return line + text + "\n";
}

std::string label_of(const Option& option, const Command& command) {
  std::string label = option.position_name;
  if (!option.short_name.empty()) label += "-" + option.short_name;
  if (!option.long_name.empty()) label += (label.empty() ? "--" : ",--") + option.long_name;
  if (const std::string value = option.value_label(); !value.empty()) label += " " + value;
  if (!option.initial.empty()) label += "=" + option.initial;
  if (option.is_positional() && option.is_list()) label += " ...";
  if (option.is_required) label += " REQUIRED";
  std::string needed, excluded;
  for (const Option& other : command.options()) {
    for (const std::string& name : option.needed) {
      if (name == other.name()) needed += " " + name;
    }
    if (exclude_each_other(option, other)) excluded += " " + other.name();
  }
  if (!needed.empty()) label += " Needs:" + needed;
  if (!excluded.empty()) label += " Excludes:" + excluded;
  return label;
}

}  // namespace

std::string Command::usage() const {
  std::string text = full_name() + " [OPTIONS]";
  for (const Option& option : options_) {
    if (!option.is_positional()) continue;
    const std::string word = option.position_name + (option.is_list() ? "..." : "");
    text += option.is_required ? " " + word : " [" + word + "]";
  }
  if (!commands_.empty()) text += needs_command_ ? " SUBCOMMAND" : " [SUBCOMMAND]";
  return text;
}

std::string Command::help() const {
  std::string positionals, others, commands;
  for (const Option& option : options_) {
    (option.is_positional() ? positionals : others) += entry(label_of(option, *this), option.help);
  }
  for (const Command& below : commands_) commands += entry(below.name(), below.summary());
  std::string text = summary_ + "\nUsage: " + usage() + "\n";
  if (!positionals.empty()) text += "\nPositionals:\n" + positionals;
  text += "\nOptions:\n" + others;
  if (!commands.empty()) text += "\nSubcommands:\n" + commands;
  // A command below others ends as they do.
  const Command* ending = this;
  while (ending->footer_.empty() && ending->parent_ != nullptr) ending = ending->parent_;
  return text + "\n" + ending->footer_ + (ending->footer_.empty() ? "" : "\n");
}

}  // namespace hpcbench::commandline

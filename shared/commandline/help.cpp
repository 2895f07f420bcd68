#include <algorithm>
#include <string>
#include <string_view>

#include "commandline/command.hpp"

namespace hpcbench::commandline {

namespace {

constexpr std::size_t kColumn = 30;  // where descriptions begin

/// Returns `  LABEL        TEXT`; the text of a long label begins on the next line.
std::string entry(const std::string& label, const std::string& text) {
  std::string line = "  " + label;
  if (text.empty()) return line + "\n";
  if (line.size() >= kColumn) return line + "\n" + std::string(kColumn, ' ') + text + "\n";
  line.resize(kColumn, ' ');
  return line + text + "\n";
}

/// Returns the label of an option: `-o,--output DIR=results Needs: --x`.
std::string label_of(const Option& option, Command& command) {
  std::string label = option.position_name;
  if (!option.short_name.empty()) label += "-" + option.short_name;
  if (!option.long_name.empty()) label += (label.empty() ? "--" : ",--") + option.long_name;
  if (const std::string value = option.value_label(); !value.empty()) label += " " + value;
  if (!option.initial.empty()) label += "=" + option.initial;
  if (option.is_positional() && option.is_list()) label += " ...";
  if (option.is_required) label += " REQUIRED";
  std::string needed, excluded;
  for (const std::string& name : option.needed) needed += " " + name;
  for (const Option& other : command.options()) {
    if (option.is_excluded_by(other)) excluded += " " + other.name();
  }
  if (!needed.empty()) label += " Needs:" + needed;
  if (!excluded.empty()) label += " Excludes:" + excluded;
  return label;
}

/// Returns `text` escaped for roff: no line of it is read as a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins_line = out.empty() || out.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }

/// Returns an entry of the manual page: the label begins with one name, or with two and a comma between them.
std::string man_entry(const std::string& label, const std::string& text) {
  const std::size_t blank = std::min(label.find(' '), label.size());
  const std::size_t comma = label.substr(0, blank).find(",--");
  std::string title = bold(label.substr(0, std::min(comma, blank)));
  if (comma < blank) title += ", " + bold(label.substr(comma + 1, blank - comma - 1));
  return ".TP\n" + title + roff(label.substr(blank)) + "\n" + (text.empty() ? "\\&" : roff(text)) + "\n";
}

std::string man_section(const char* title, const std::string& text) {
  return text.empty() ? "" : std::string(".SH ") + title + "\n" + text + (text.ends_with('\n') ? "" : "\n");
}

std::string as_written(const std::string& text) { return text.empty() ? "" : ".nf\n" + roff(text) + "\n.fi"; }

/// Returns the name of a command's page: `hpcbench-db-rebuild`.
std::string page_name(const Command& command) {
  std::string name = command.full_name();
  for (char& c : name) c = c == ' ' ? '-' : c;
  return name;
}

std::string reference(const Command& command) { return bold(page_name(command)) + "(1)"; }

}  // namespace

std::string Command::usage() {
  std::string text = full_name() + " [OPTIONS]";
  for (const Option& option : options()) {
    if (!option.is_positional()) continue;
    const std::string word = option.position_name + (option.is_list() ? "..." : "");
    text += option.is_required ? " " + word : " [" + word + "]";
  }
  return commands().empty() ? text : text + " SUBCOMMAND";
}

std::string Command::help() {
  std::string positionals, others, below;
  for (const Option& option : options()) {
    if (option.is_inherited) continue;
    (option.is_positional() ? positionals : others) += entry(label_of(option, *this), option.help);
  }
  for (const Command& command : commands()) below += entry(command.name(), command.summary());
  std::string text = summary_ + "\nUsage: " + usage() + "\n";
  if (!positionals.empty()) text += "\nPositionals:\n" + positionals;
  text += "\nOptions:\n" + others;
  if (!below.empty()) text += "\nSubcommands:\n" + below;
  // A command below others ends like its parents.
  const Command* ending = this;
  while (ending->footer_.empty() && ending->parent_ != nullptr) ending = ending->parent_;
  return text + "\n" + ending->footer_ + (ending->footer_.empty() ? "" : "\n");
}

std::string Command::man_page() {
  std::string arguments, others, below;
  std::string see_also = parent_ == nullptr ? "" : reference(*parent_);
  for (const Option& option : options()) {
    if (option.is_inherited) continue;
    (option.is_positional() ? arguments : others) += man_entry(label_of(option, *this), option.help);
  }
  for (const Command& command : commands()) {
    below += man_entry(command.name(), command.summary());
    see_also += (see_also.empty() ? "" : ",\n") + reference(command);
  }
  const Command* program = this;
  while (program->parent_ != nullptr) program = program->parent_;
  const std::size_t title = footer_.find('\n') + 1, blank = std::min(footer_.find("\n\n"), footer_.size());
  const std::string notes = footer_.substr(std::min(blank + 2, footer_.size()));
  const std::string name = page_name(*this);
  return ".TH \"" + roff(name) + "\" 1 \"\" \"" + roff(program->version_) + "\" \"" + roff(program->name_) + "\"\n" +
         man_section("NAME", roff(name) + " \\- " + roff(summary_)) +
         man_section("SYNOPSIS", bold(full_name()) + roff(usage().substr(full_name().size()))) +
         man_section("ARGUMENTS", arguments) + man_section("OPTIONS", others) + man_section("COMMANDS", below) +
         man_section("EXAMPLES", as_written(footer_.substr(title, blank - title))) + man_section("NOTES", as_written(notes)) +
         man_section("SEE ALSO", see_also);
}

}  // namespace hpcbench::commandline

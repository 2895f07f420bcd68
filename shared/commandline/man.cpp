#include <cstddef>
#include <string>
#include <string_view>

#include "commandline/command.hpp"

namespace hpcbench::commandline {

namespace {

/// `text` as roff prints it: a line of it is never read as a request.
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

std::string heading(const Option& option) {
  std::string text;
  if (option.is_positional()) text = "\\fI" + roff(option.position_name) + "\\fR" + (option.is_list() ? " ..." : "");
  if (!option.short_name.empty()) text = bold("-" + option.short_name);
  if (!option.long_name.empty()) text += (text.empty() ? "" : ", ") + bold("--" + option.long_name);
  if (const std::string value = option.value_label(); !value.empty()) text += " \\fI" + roff(value) + "\\fR";
  return text;
}

std::string entry_of_page(const std::string& title, std::string text) {
  if (text.empty()) text = "\\&";
  return ".TP\n" + title + "\n" + text + "\n";
}

std::string entry_of_option(const Option& option) {
  std::string text = roff(option.help);
  if (!option.initial.empty()) text += " (default: " + roff(option.initial) + ")";
  if (option.is_required) text += " (required)";
  return entry_of_page(heading(option), text);
}

std::string section(const char* title, const std::string& text) {
  return text.empty() ? "" : std::string(".SH ") + title + "\n" + text;
}

std::string as_written(std::string_view text) { return ".nf\n" + roff(text) + "\n.fi\n"; }

/// `hpcbench-db-rebuild`
std::string dashed(std::string name) {
  for (char& c : name) c = c == ' ' ? '-' : c;
  return name;
}

}  // namespace

std::string Command::man_page() const {
  std::string arguments, others, commands, see_also;
  for (const Option& option : options_) (option.is_positional() ? arguments : others) += entry_of_option(option);
  for (const Command& below : commands_) {
    commands += entry_of_page(bold(below.name()), roff(below.summary()));
    see_also += (see_also.empty() ? "" : ",\n") + bold(dashed(below.full_name())) + "(1)";
  }
  if (parent_ != nullptr) see_also = bold(dashed(parent_->full_name())) + "(1)" + (see_also.empty() ? "" : ",\n" + see_also);
  const Command* program = this;
  while (program->parent_ != nullptr) program = program->parent_;
  constexpr std::string_view kExamples = "Examples:\n";
  const std::size_t blank = footer_.starts_with(kExamples) ? footer_.find("\n\n") : 0;
  const std::string examples =
      footer_.starts_with(kExamples) ? footer_.substr(kExamples.size(), blank - kExamples.size()) : std::string();
  const std::string notes = blank == std::string::npos ? "" : footer_.substr(blank == 0 ? 0 : blank + 2);
  const std::string name = dashed(full_name());
  return ".TH \"" + roff(name) + "\" 1 \"\" \"" + roff(program->version_) + "\" \"" + roff(program->name_) + "\"\n" +
         section("NAME", roff(name) + " \\- " + roff(summary_) + "\n") +
         section("SYNOPSIS", bold(full_name()) + roff(usage().substr(full_name().size())) + "\n") +
         section("ARGUMENTS", arguments) + section("OPTIONS", others) + section("COMMANDS", commands) +
         section("EXAMPLES", examples.empty() ? "" : as_written(examples)) +
         section("NOTES", notes.empty() ? "" : as_written(notes)) +
         section("SEE ALSO", see_also + (see_also.empty() ? "" : "\n"));
}

}  // namespace hpcbench::commandline

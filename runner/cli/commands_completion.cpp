#include <fmt/format.h>

#include <string>

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/log_options.hpp"

namespace hpcbench {

namespace {

/// What bash is told of one command and of those below it (`db rebuild`).
struct CompletionWords {
  std::string options;      // `--kind --out `
  std::string value_cases;  // lines of `case "COMMAND OPTION"`
};

void collect_words(commandline::Command& command, const std::string& name, CompletionWords& words) {
  command.declare();
  for (const commandline::Option& option : command.options()) {
    if (option.long_name.empty()) continue;
    const std::string word = "--" + option.long_name;
    if (words.options.find(word + " ") == std::string::npos) words.options += word + " ";
    if (!option.values.empty()) {
      words.value_cases += fmt::format("    \"{} {}\") values=\"{}\"{} ;;\n", name, word, join(option.values, " "),
                                       option.is_list_of_values ? " list=1" : "");
    }
  }
  for (commandline::Command& below : command.commands()) collect_words(below, name, words);
}

/// Bash splits the line at `=` and `:` too (COMP_WORDBREAKS), and puts what is offered in the place of the last piece only:
/// `--time-unit=h:m` is completed to `h:mm:ss` by offering `mm:ss`.
constexpr const char* kBashFunction = R"(# bash completion of hpcbench; use: source <(hpcbench completion)
_hpcbench() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" line="${{COMP_LINE:0:COMP_POINT}}"
  local typed="${{line##*[[:space:]]}}" option="" options="" commands="" values="" list="" kept="" cut=""
  local -a before
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "{first_words}" -- "$word")
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{command_cases}  esac
  [ -z "$options" ] || options="$options {log_options}"
  if [[ "$typed" == --*=* ]]; then
    option="${{typed%%=*}}" typed="${{typed#*=}}"
    [[ "$COMP_WORDBREAKS" == *=* ]] || kept="$option="
  else
    read -r -a before <<< "${{line%"$typed"}}"
    option="${{before[${{#before[@]}} - 1]}}"
  fi
  case "${{COMP_WORDS[1]}} $option" in
{value_cases}    *" {level_option}") values="{levels}" ;;
  esac
  if [ -n "$values" ]; then
    compopt +o filenames 2> /dev/null
    [ -z "$list" ] || kept="$kept${{typed%"${{typed##*,}}"}}" typed="${{typed##*,}}"
    [[ "$COMP_WORDBREAKS" == *:* ]] && cut="${{typed%"${{typed##*:}}"}}"
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$typed")
    COMPREPLY=("${{COMPREPLY[@]#"$cut"}}")
    COMPREPLY=("${{COMPREPLY[@]/#/$kept}}")
  elif [[ "$typed" == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ -n "$commands" && "$COMP_CWORD" -eq 2 ]]; then mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
  else mapfile -t COMPREPLY < <(compgen -f -- "$word"); fi
}}
complete -o filenames -F _hpcbench hpcbench
)";

/// Complete enough for bash: commands, their options, the values of options that have a fixed set, files elsewhere.
/// Generated from what parsing goes by, so that it cannot lag behind it.
std::string bash_completion(commandline::Command& program) {
  std::string first_words;
  std::string command_cases;
  std::string value_cases;
  for (commandline::Command& command : program.commands()) {
    const std::string& name = command.name();
    first_words += name + " ";
    CompletionWords words;
    collect_words(command, name, words);
    std::string nested;
    for (const commandline::Command& below : command.commands()) nested += (nested.empty() ? "" : " ") + below.name();
    command_cases += fmt::format("    {}) options=\"{}\"{} ;;\n", name, trim(words.options),
                                 nested.empty() ? "" : fmt::format(" commands=\"{}\"", nested));
    value_cases += words.value_cases;
  }
  for (const commandline::Option& option : program.options()) first_words += "--" + option.long_name + " ";
  return fmt::format(kBashFunction, fmt::arg("first_words", trim(first_words)), fmt::arg("command_cases", command_cases),
                     fmt::arg("value_cases", value_cases), fmt::arg("log_options", join(log_option_words(), " ")),
                     fmt::arg("level_option", log_option_words().back()), fmt::arg("levels", join(log_level_names(), " ")));
}

}  // namespace

void add_completion(commandline::Command& command) {
  command.action([&command] {
    print_data(bash_completion(*command.parent()));
    return 0;
  });
}

}  // namespace hpcbench

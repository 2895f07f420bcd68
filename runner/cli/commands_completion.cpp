#include <fmt/format.h>

#include <string>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/terminal.hpp"

namespace hpcbench {

namespace {

/// The values of an option that has a fixed set of them.
struct FixedValues {
  std::string values;    // separated by blanks; empty: any value
  bool is_list = false;  // several may be named, as in `failed,timeout`
};

/// They are those of the option's validator, which parsing goes by: CLI::IsMember describes itself as `{a,b,c}`, and lists say
/// `{a,b,c},...`.
FixedValues fixed_values(CLI::Option& option) {
  std::string set;
  try {
    set = option.get_validator(0)->get_description();
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
  constexpr std::string_view kMore = ",...";
  const bool is_list = set.ends_with(kMore);
  if (is_list) set.resize(set.size() - kMore.size());
  if (set.size() < 2 || set.front() != '{' || set.back() != '}') return {};
  set = set.substr(1, set.size() - 2);
  for (char& c : set) c = c == ',' ? ' ' : c;
  return {set, is_list};
}

/// What bash is told of one command and of those below it (`db rebuild`).
struct CompletionWords {
  std::string options;      // `--kind --out `
  std::string value_cases;  // lines of `case "COMMAND OPTION"`
};

void collect_words(CLI::App& command, const std::string& name, CompletionWords& words) {
  for (CLI::Option* option : command.get_options()) {
    const FixedValues fixed = fixed_values(*option);
    std::string patterns;
    for (const std::string& long_name : option->get_lnames()) {
      if (words.options.find("--" + long_name + " ") == std::string::npos) words.options += "--" + long_name + " ";
      patterns += fmt::format("{}\"{} --{}\"", patterns.empty() ? "" : " | ", name, long_name);
    }
    if (!fixed.values.empty() && !patterns.empty()) {
      words.value_cases += fmt::format("    {}) values=\"{}\"{} ;;\n", patterns, fixed.values, fixed.is_list ? " list=1" : "");
    }
  }
  for (CLI::App* nested : command.get_subcommands({})) collect_words(*nested, name, words);
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
    mapfile -t COMPREPLY < <(compgen -W "{commands} --help --version" -- "$word")
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{command_cases}  esac
  if [[ "$typed" == --*=* ]]; then
    option="${{typed%%=*}}" typed="${{typed#*=}}"
    [[ "$COMP_WORDBREAKS" == *=* ]] || kept="$option="
  else
    read -r -a before <<< "${{line%"$typed"}}"
    option="${{before[${{#before[@]}} - 1]}}"
  fi
  case "${{COMP_WORDS[1]}} $option" in
{value_cases}  esac
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
/// Generated from the parser, so that it cannot lag behind it.
std::string bash_completion(CLI::App& root) {
  std::string commands;
  std::string command_cases;
  std::string value_cases;
  for (CLI::App* command : root.get_subcommands({})) {
    const std::string name = command->get_name();
    commands += (commands.empty() ? "" : " ") + name;
    CompletionWords words;
    collect_words(*command, name, words);
    std::string nested;
    for (const CLI::App* below : command->get_subcommands({})) nested += (nested.empty() ? "" : " ") + below->get_name();
    command_cases += fmt::format("    {}) options=\"{}\"{} ;;\n", name, trim(words.options),
                                 nested.empty() ? "" : fmt::format(" commands=\"{}\"", nested));
    value_cases += words.value_cases;
  }
  return fmt::format(kBashFunction, fmt::arg("commands", commands), fmt::arg("command_cases", command_cases),
                     fmt::arg("value_cases", value_cases));
}

}  // namespace

void add_completion(CLI::App& app, int& exit_code) {
  app.callback([&app, &exit_code] {
    print_data(bash_completion(*app.get_parent()));
    exit_code = 0;
  });
}

}  // namespace hpcbench

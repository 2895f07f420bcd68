#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/complete_words.hpp"
#include "cli/completion/complete.hpp"
#include "cli/completion/shell_words.hpp"

namespace hpcbench {

namespace {

// Each script asks the program at each TAB, so that it cannot lag behind it.

/// Bash splits the line at `=` and `:` too (COMP_WORDBREAKS), and puts what is offered in the place of the last piece only; the
/// program is told where it does, and quotes what it offers.
constexpr const char* kBashScript = R"(# bash completion of hpcbench; use: source <(hpcbench completion bash)
_hpcbench() {
  local offer
  COMPREPLY=()
  while IFS= read -r offer; do
    COMPREPLY+=("${offer%%$'\t'*}")
  done < <("${COMP_WORDS[0]/#\~/$HOME}" complete-words --line "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2> /dev/null)
  case ${#COMPREPLY[@]}${COMPREPLY[0]} in
    1*[=,/]) compopt -o nospace 2> /dev/null ;;
  esac
}
complete -F _hpcbench hpcbench
)";

constexpr const char* kZshScript = R"(#compdef hpcbench
# zsh completion of hpcbench; use: source <(hpcbench completion zsh), after compinit
_hpcbench() {
  local offer word
  local -a open open_texts closed closed_texts
  for offer in "${(@f)$(${~words[1]} complete-words -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)}"; do
    [[ -n $offer ]] || continue
    word=${offer%%$'\t'*}
    offer=${offer/$'\t'/  -- }
    if [[ $word == *[=,/] ]]; then
      open+=("$word") open_texts+=("$offer")
    else
      closed+=("$word") closed_texts+=("$offer")
    fi
  done
  (( $#open + $#closed )) || return 1
  (( $#closed )) && compadd -l -d closed_texts -a closed
  (( $#open )) && compadd -S '' -l -d open_texts -a open
  return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _hpcbench "$@"
else
  compdef _hpcbench hpcbench
fi
)";

constexpr const char* kFishScript = R"(# fish completion of hpcbench; use: hpcbench completion fish | source
function __hpcbench_offers
  set -l words (commandline -opc)
  set -l program $words[1]
  set -e words[1]
  $program complete-words -- $words (string unescape -- (commandline -ct); or commandline -ct) 2> /dev/null
end
complete -c hpcbench -f -a '(__hpcbench_offers)'
)";

const std::vector<std::pair<std::string, const char*>>& completion_scripts() {
  static const std::vector<std::pair<std::string, const char*>> kScripts = {
      {"bash", kBashScript}, {"zsh", kZshScript}, {"fish", kFishScript}};
  return kScripts;
}

/// Whether bash takes a character as it stands: in quotes that are open, or outside of quotes.
bool is_plain_for_bash(char c, char open_quote) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=,:@%+~-";
  constexpr std::string_view kSpecialInQuotes = "\"$`\\";
  if (open_quote == '\'') return c != '\'';
  if (open_quote == '"') return kSpecialInQuotes.find(c) == std::string_view::npos;
  return kPlain.find(c) != std::string_view::npos || static_cast<unsigned char>(c) >= 0x80;
}

/// Bash inserts what it is given, so it is quoted for where it will stand.
std::string for_bash(const std::string& word, std::size_t cut, char open_quote) {
  std::string text;
  for (const char c : word.substr(cut)) {
    if (is_plain_for_bash(c, open_quote)) {
      text += c;
    } else {
      text += open_quote == '\'' ? "'\\''" : std::string{'\\', c};
    }
  }
  return text;
}

void print_offer(const std::string& word, const std::string& about) {
  print_data(about.empty() ? word + "\n" : fmt::format("{}\t{}\n", word, printable(about)));
}

void print_for_bash(commandline::Command& program, const std::string& line, const std::string& breaks) {
  ShellWords split = split_shell_words(line, breaks);
  if (split.ends_in_blank) split.words.emplace_back();
  const std::string current = split.words.back();
  split.words.pop_back();
  if (split.words.empty()) return;  // the program's own name
  split.words.erase(split.words.begin());
  for (const Offer& offer : complete(program, split.words, current)) {
    print_offer(for_bash(offer.word, split.last_piece, split.open_quote), offer.about);
  }
}

}  // namespace

int complete_words(commandline::Command& program, const std::vector<std::string>& arguments) {
  if (arguments.size() == 3 && arguments.front() == "--line") {
    print_for_bash(program, arguments[1], arguments[2]);
  } else if (arguments.size() >= 2 && arguments.front() == "--") {
    const std::vector<std::string> before(arguments.begin() + 1, arguments.end() - 1);
    for (const Offer& offer : complete(program, before, arguments.back())) print_offer(offer.word, offer.about);
  }
  return 0;
}

void add_completion(commandline::Command& command) {
  const auto shell = std::make_shared<std::string>("bash");
  std::vector<std::string> shells;
  for (const auto& [name, script] : completion_scripts()) shells.push_back(name);
  command.add_option("SHELL", *shell, "bash, zsh or fish").value_name("").one_of(shells);
  command.action([shell] {
    for (const auto& [name, script] : completion_scripts()) {
      if (name == *shell) print_data(script);
    }
    return 0;
  });
}

}  // namespace hpcbench

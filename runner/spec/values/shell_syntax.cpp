#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "spec/checks.hpp"
#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"

namespace hpcbench {

namespace {

constexpr const char* kShellAdvice =
    "write [bash, -c, '...'] with the whole line in place of the dots, or a text with `shell: true`";

/// Programs that pass their arguments to a shell.
bool is_shell(std::string_view program) {
  constexpr std::array kShells = {"sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "ssh", "parallel", "xonsh"};
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

/// A pipe, a redirection or the end of a command, as an argument of its own.
bool is_operator(const std::vector<std::string>& words, std::size_t i) {
  constexpr std::array kOperators = {"|", "||", "&&", "&", "<", "|&"};
  const std::string& word = words[i];
  if (word == ";") {  // find ends a command so
    return std::none_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i),
                        [](const std::string& each) { return each.starts_with("-exec") || each.starts_with("-ok"); });
  }
  return std::find(kOperators.begin(), kOperators.end(), word) != kOperators.end() ||
         RE2::FullMatch(word, R"([0-9&]?>{1,2}(?:&[0-9-]|[\w./~{}-]*))");
}

/// `|` without quotes begins a block text in YAML, which is then empty.
bool is_bare_block(const YamlNode& node) {
  const std::string& source = node.location.source->text();
  return node.is_scalar() && node.text.empty() && node.location.offset < source.size() &&
         (source[node.location.offset] == '|' || source[node.location.offset] == '>');
}

/// The part of a text that only a shell replaces: `~/`, or a variable of the user's environment, at the front of a path.
std::string shell_path(const std::string& text) {
  static const RE2 kForm(
      R"(^(?:[-\w.]+=)?(~)(?:/\S*)?$|^(?:[-\w.]+=)?(\$\{?(?:HOME|USER|PWD|TMPDIR|SCRATCH|WORK|RANK|LOCAL_RANK|WORLD_SIZE|SLURM_\w+|HPCBENCH_\w+)\}?)(?:/\S*)?$)");
  std::string home, variable;
  if (!RE2::PartialMatch(text, kForm, &home, &variable)) return "";
  return home.empty() ? variable : text.find("~/") == std::string::npos ? "~" : "~/";
}

void refuse_path(const YamlNode& node, const std::string& what, const char* otherwise, Diagnostics& diagnostics) {
  const std::string part = shell_path(node.text);
  if (part.empty()) return;
  diagnostics.add(node.location,
                  fmt::format("{} holds {}, which only a shell replaces: {} would be taken as it stands", what, cite(part),
                              cite(node.text)),
                  fmt::format("write the {} out{}", part.starts_with('~') ? "path" : "value", otherwise));
}

void refuse_paths_in(const YamlNode* node, const std::string& what, Diagnostics& diagnostics) {
  if (node == nullptr) return;
  if (node->is_scalar()) refuse_path(*node, what, "", diagnostics);
  for (const YamlNode& item : node->items) refuse_paths_in(&item, what, diagnostics);
}

void refuse_paths_of(const YamlNode* map, const char* kind, Diagnostics& diagnostics) {
  if (map == nullptr || !map->is_map()) return;
  for (std::size_t i = 0; i < map->items.size(); ++i) {
    refuse_paths_in(&map->items[i], fmt::format("the {} {}", kind, cite(map->keys[i].name)), diagnostics);
  }
}

}  // namespace

void refuse_shell_syntax(const YamlNode& list, const std::vector<std::string>& words, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < words.size() && !is_shell(words[i]); ++i) {
    const YamlNode& node = list.items[i];
    if (is_bare_block(node) || is_operator(words, i)) {
      const std::string word = is_bare_block(node) ? node.location.source->text().substr(node.location.offset, 1) : words[i];
      diagnostics.add(node.location,
                      fmt::format("{} would be an argument of {}: no shell reads this list", cite(word), cite(words.front())),
                      kShellAdvice);
      return;
    }
    refuse_path(node, "this argument", ", or [bash, -c, '...'] with the whole line", diagnostics);
  }
}

void check_shell_values(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  refuse_paths_in(parsed.root->find("workdir"), "`workdir`", diagnostics);
  const auto reads_shell = [](const std::vector<std::string>& command) {
    return std::any_of(command.begin(), command.end(), is_shell);
  };
  if (reads_shell(parsed.experiment.work.command)) return;
  for (const ParsedOverride& entry : parsed.overrides) {
    if (entry.override_.command && reads_shell(*entry.override_.command)) return;
  }
  refuse_paths_of(parsed.root->find("parameters"), "parameter", diagnostics);
  refuse_paths_of(parsed.root->find("matrix"), "axis", diagnostics);
  for (const char* const key : {"zip", "include"}) {
    const YamlNode* list = parsed.root->find(key);
    for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i)
      refuse_paths_of(&list->items[i], "axis", diagnostics);
  }
  for (const ParsedOverride& entry : parsed.overrides)
    refuse_paths_of(entry.node->find("parameters"), "parameter", diagnostics);
}

}  // namespace hpcbench

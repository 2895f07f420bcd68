#include "base/module_command.hpp"

#include <algorithm>

namespace hpcbench {

namespace {

/// Returns whether `line` contains `word` between separators of a shell.
bool has_word(const std::string& line, std::string_view word) {
  constexpr std::string_view kBetween = " \t\n;&|(){}`";
  for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    const bool begins = at == 0 || kBetween.find(line[at - 1]) != std::string_view::npos;
    const std::size_t end = at + word.size();
    if (begins && (end == line.size() || kBetween.find(line[end]) != std::string_view::npos)) return true;
  }
  return false;
}

}  // namespace

bool calls_module(const std::vector<std::string>& modules, const std::vector<std::string>& setup) {
  return !modules.empty() || std::any_of(setup.begin(), setup.end(), [](const std::string& line) {
    return has_word(line, "module") || has_word(line, "ml");
  });
}

}  // namespace hpcbench

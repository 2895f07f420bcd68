#include "spec/placeholders.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "spec/fields.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

std::vector<Placeholder> find_placeholders(std::string_view text) {
  constexpr std::string_view kInside = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-.";
  std::vector<Placeholder> found;
  std::size_t at = text.find("{{");
  while (at != std::string_view::npos) {
    // Of three braces the last two open it: `{"size":{{size}}}` is an object with a value.
    while (at + 2 < text.size() && text[at + 2] == '{') ++at;
    constexpr std::size_t kLongest = 200;  // of a name with its blanks: keeps the search linear
    const std::size_t length = text.substr(at + 2, kLongest).find("}}");
    const std::size_t end = at + 2 + length;
    const std::string_view name = length == std::string_view::npos ? "" : trim(text.substr(at + 2, length));
    if (!name.empty() && is_identifier(name.substr(0, 1)) && name.find_first_not_of(kInside) == std::string_view::npos) {
      found.push_back({std::string(name), at});
      at = text.find("{{", end + 2);
    } else {
      at = text.find("{{", at + 2);
    }
  }
  return found;
}

std::vector<std::string> undefined_placeholders(const Work& work, const Bindings& axes) {
  std::vector<std::string> undefined;
  const std::vector<std::string>& builtin = builtin_placeholders();
  const auto look_at = [&](const std::string& text) {
    for (const Placeholder& placeholder : find_placeholders(text)) {
      const std::string& name = placeholder.name;
      const bool defined = std::find(builtin.begin(), builtin.end(), name) != builtin.end() ||
                           find_binding(work.parameters, name) != nullptr || find_binding(axes, name) != nullptr ||
                           std::find(undefined.begin(), undefined.end(), name) != undefined.end();
      if (!defined) undefined.push_back(name);
    }
  };
  for (const std::string& argument : work.command) look_at(argument);
  for (const std::string& line : work.setup) look_at(line);
  return undefined;
}

}  // namespace hpcbench

#include "spec/placeholders.hpp"

#include <fmt/format.h>

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
    std::string_view name = length == std::string_view::npos ? "" : trim(text.substr(at + 2, length));
    const bool spread = name.starts_with('*');
    if (spread) name = trim(name.substr(1));
    if (!name.empty() && is_identifier(name.substr(0, 1)) && name.find_first_not_of(kInside) == std::string_view::npos) {
      found.push_back({std::string(name), at, spread});
      at = text.find("{{", end + 2);
    } else {
      at = text.find("{{", at + 2);
    }
  }
  return found;
}

bool is_one_placeholder(std::string_view text) {
  const std::vector<Placeholder> found = find_placeholders(text);
  return found.size() == 1 && found.front().offset == 0 && text.find("}}") + 2 == text.size();
}

// Escapes and folded lines move it, so it is looked for.
SourceLocation location_of_placeholder(const YamlNode& node, const std::string& text, const Placeholder& placeholder) {
  const std::string_view source = node.location.source->text();
  const std::string_view raw =
      std::string_view(text).substr(placeholder.offset, text.find("}}", placeholder.offset) - placeholder.offset);
  const std::size_t reach = 4 * text.size() + 200;
  const std::size_t found = source.substr(node.location.offset, reach).find(raw);
  return found == std::string_view::npos ? node.location : SourceLocation{node.location.source, node.location.offset + found};
}

bool refuse_placeholders(const YamlNode& node, const std::string& text, const std::string& what, const std::string& advice,
                         Diagnostics& diagnostics) {
  std::vector<Placeholder> found = find_placeholders(text);
  std::erase_if(found, [](const Placeholder& each) { return each.spread; });
  for (const Placeholder& placeholder : found) {
    diagnostics.add(location_of_placeholder(node, text, placeholder),
                    fmt::format("{} is used as it is written: nothing fills in {{{{{}}}}}", what, placeholder.name), advice);
  }
  return !found.empty();
}

void refuse_placeholders_in(const YamlNode& map, std::initializer_list<std::string_view> keys, std::string_view what,
                            const std::string& advice, Diagnostics& diagnostics) {
  for (const std::string_view key : keys) {
    const YamlNode* node = map.is_map() ? map.find(key) : nullptr;
    if (node == nullptr) continue;
    const std::string name = cite(what.empty() ? std::string(key) : fmt::format("{}.{}", what, key));
    if (node->is_scalar()) refuse_placeholders(*node, node->text, name, advice, diagnostics);
    if (!node->is_list()) continue;
    for (const YamlNode& item : node->items) {
      if (item.is_scalar()) refuse_placeholders(item, item.text, name, advice, diagnostics);
    }
  }
}

std::vector<const std::string*> texts_of_run(const Work& work) {
  std::vector<const std::string*> texts;
  const auto add_all = [&](const std::vector<std::string>& list) {
    for (const std::string& text : list) texts.push_back(&text);
  };
  add_all(work.command);
  add_all(work.setup);
  for (const auto& variable : work.environment) texts.push_back(&variable.second);
  add_all(work.srun);
  if (!work.container) return texts;
  texts.push_back(&work.container->image);
  add_all(work.container->args);
  add_all(work.container->mounts);
  return texts;
}

std::vector<const std::string*> texts_of_point(const Work& work) {
  std::vector<const std::string*> texts;
  for (const FilledText& each : work.resources.texts) texts.push_back(&each.text);
  if (work.partition) texts.push_back(&*work.partition);
  for (const std::string& option : work.resources.extra) texts.push_back(&option);
  for (const std::string& module : work.modules) texts.push_back(&module);
  for (const InputDeck& deck : work.files) {
    texts.push_back(&deck.from);
    texts.push_back(&deck.to);
  }
  return texts;
}

std::vector<std::string> undefined_placeholders(const Work& work, const Bindings& axes,
                                                const std::vector<std::string>& declared) {
  std::vector<std::string> undefined;
  const std::vector<std::string>& builtin = builtin_placeholders();
  const auto look_at = [&](const std::string& text) {
    for (const Placeholder& placeholder : find_placeholders(text)) {
      const std::string& name = placeholder.name;
      if (placeholder.spread && std::find(declared.begin(), declared.end(), name) == declared.end()) continue;
      const bool defined = (name == "ranks" && find_binding(axes, kRanksPerNode) != nullptr) ||
                           std::find(builtin.begin(), builtin.end(), name) != builtin.end() ||
                           find_binding(work.parameters, name) != nullptr || find_binding(axes, name) != nullptr ||
                           std::find(undefined.begin(), undefined.end(), name) != undefined.end();
      if (!defined) undefined.push_back(name);
    }
  };
  for (const std::string* text : texts_of_run(work)) look_at(*text);
  for (const std::string* text : texts_of_point(work)) look_at(*text);
  return undefined;
}

}  // namespace hpcbench

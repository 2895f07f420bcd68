#include "spec/starter/flow_yaml.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.hpp"

namespace hpcbench {

FlowYaml FlowYaml::list(std::vector<FlowYaml> items) {
  FlowYaml all;
  all.kind = Kind::list;
  all.items = std::move(items);
  return all;
}

FlowYaml FlowYaml::map(const std::vector<std::pair<std::string, FlowYaml>>& members) {
  FlowYaml all;
  all.kind = Kind::map;
  for (const auto& [name, value] : members) all.set(name, value);
  return all;
}

FlowYaml& FlowYaml::set(std::string_view name, FlowYaml value) {
  const auto known = std::find(names.begin(), names.end(), name);
  if (known != names.end()) {
    items[static_cast<std::size_t>(known - names.begin())] = std::move(value);
  } else {
    names.emplace_back(name);
    items.push_back(std::move(value));
  }
  return *this;
}

const FlowYaml* FlowYaml::find(std::string_view name) const {
  const auto known = std::find(names.begin(), names.end(), name);
  return known == names.end() ? nullptr : &items[static_cast<std::size_t>(known - names.begin())];
}

std::string FlowYaml::written() const {
  if (kind == Kind::text) return written_yaml(text);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < items.size(); ++i)
    parts.push_back((kind == Kind::map ? written_yaml(names[i]) + ": " : "") + items[i].written());
  const std::string inner = join(parts, ", ");
  return kind == Kind::map ? '{' + inner + '}' : '[' + inner + ']';
}

std::string written_yaml(std::string_view text) {
  static const std::set<std::string_view> kWords = {"null", "Null", "NULL", "~"};
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_-./+").find(c) != std::string_view::npos;
  };
  const bool plain = !text.empty() && text != "-" && !text.starts_with("---") && !text.starts_with("...") &&
                     !kWords.contains(text) && std::all_of(text.begin(), text.end(), is_plain);
  if (plain) return std::string(text);
  const bool takes_single = text.find('\\') != std::string_view::npos && is_utf8(text) &&
                            std::none_of(text.begin(), text.end(),
                                         [](char c) { return c == '\'' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  return takes_single ? '\'' + std::string(text) + '\'' : json_quote(text);
}

}  // namespace hpcbench

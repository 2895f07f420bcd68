#include "jube/jube_tree.hpp"

#include <cstddef>

#include "base/error.hpp"
#include "base/text.hpp"
#include "yaml/diagnostics.hpp"

namespace hpcbench {

std::string JubeNode::attribute(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return value;
  }
  return "";
}

bool JubeNode::has_flag(std::string_view name) const {
  const std::string value = attribute(name);
  return value == "true" || value == "True" || value == "1";
}

std::vector<const JubeNode*> JubeNode::all(std::string_view child_tag) const {
  std::vector<const JubeNode*> found;
  for (const JubeNode& child : children) {
    if (child.tag == child_tag) found.push_back(&child);
  }
  return found;
}

std::string JubeNode::separator() const {
  for (const auto& [key, value] : attributes) {
    if (key == "separator") return value;
  }
  return ",";
}

std::vector<std::string> JubeNode::parts() const {
  const std::string between = separator();
  std::vector<std::string> found;
  std::size_t begin = 0;
  for (std::size_t end = between.empty() ? std::string::npos : text.find(between); end != std::string::npos;
       end = text.find(between, begin)) {
    found.emplace_back(trim(std::string_view(text).substr(begin, end - begin)));
    begin = end + between.size();
  }
  found.emplace_back(trim(std::string_view(text).substr(begin)));
  return found;
}

std::string attribute_text(std::string_view name, std::string_view value) {
  return std::string(name == "separator" ? value : trim(value));
}

void refuse_jube(const SourceLocation& place, const std::string& message, const std::string& advice) {
  throw InputError(located_message(place, message, advice));
}

JubeNode read_jube_tree(const YamlSource& source) {
  check_bytes(source);
  return trim(source.text()).starts_with('<') ? read_jube_xml(source) : read_jube_yaml(source);
}

}  // namespace hpcbench

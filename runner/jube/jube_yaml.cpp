#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "jube/jube_tree.hpp"
#include "yaml/diagnostics.hpp"

namespace hpcbench {

namespace {

// A key of YAML is an element where JUBE's schema has one of its name; else it is an attribute.
struct ElementsOf {
  std::string_view parent;
  std::vector<std::string_view> elements;
};

const std::vector<ElementsOf>& elements_of() {
  static const std::vector<ElementsOf> kRows = {
      {"jube",
       {"benchmark", "parameterset", "fileset", "substituteset", "patternset", "selection", "include-path", "check_tags",
        "tags"}},
      {"benchmark",
       {"parameterset", "comment", "step", "fileset", "substituteset", "analyser", "analyzer", "result", "patternset"}},
      {"analyse", {"file"}},
      {"analyser", {"use", "analyse"}},
      {"analyzer", {"use", "analyse"}},
      {"fileset", {"link", "copy", "prepare"}},
      {"include-path", {"path"}},
      {"parameterset", {"parameter"}},
      {"patternset", {"pattern"}},
      {"result", {"use", "table", "syslog", "database"}},
      {"selection", {"not", "only", "tag"}},
      {"step", {"use", "do"}},
      {"substituteset", {"iofile", "sub"}},
      {"syslog", {"key"}},
      {"table", {"column"}},
      {"tags", {"check_tags", "tag"}},
      {"database", {"key"}}};
  return kRows;
}

bool is_element(std::string_view parent, std::string_view name) {
  for (const ElementsOf& row : elements_of()) {
    if (row.parent == parent) return std::find(row.elements.begin(), row.elements.end(), name) != row.elements.end();
  }
  return false;
}

void add_elements(std::string_view tag, const YamlNode& value, const SourceLocation& place, std::vector<JubeNode>& into);

void fill_from_map(JubeNode& node, const YamlNode& map) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const std::string& name = map.keys[i].name;
    const YamlNode& value = map.items[i];
    if (is_element(node.tag, name)) {
      add_elements(name, value, map.keys[i].location, node.children);
    } else if (name == "_" && !value.is_list()) {
      node.text = trim(value.text);
    } else if (name != "_") {
      node.attributes.emplace_back(name, attribute_text(name, value.text));
    }
  }
}

/// Adds one element for a value, several for a list of values. The text of an element may be a list, too.
void add_elements(std::string_view tag, const YamlNode& value, const SourceLocation& place, std::vector<JubeNode>& into) {
  if (value.is_list()) {
    for (const YamlNode& item : value.items) add_elements(tag, item, item.location, into);
    return;
  }
  JubeNode node;
  node.tag = tag;
  node.place = place;
  if (value.is_map()) {
    fill_from_map(node, value);
  } else {
    node.text = trim(value.text);
  }
  const YamlNode* const text = value.is_map() ? value.find("_") : nullptr;
  if (text == nullptr || !text->is_list()) {
    into.push_back(std::move(node));
    return;
  }
  for (const YamlNode& item : text->items) {
    node.text = trim(item.text);
    into.push_back(node);
  }
}

/// Without the key `benchmark` the whole file is one benchmark, apart from the elements that are only allowed beside
/// benchmarks.
JubeNode root_of(const YamlNode& map) {
  JubeNode root;
  root.tag = "jube";
  root.place = map.location;
  if (map.find("benchmark") != nullptr) {
    fill_from_map(root, map);
    return root;
  }
  YamlNode inner;
  inner.kind = YamlNode::Kind::map;
  inner.location = map.location;
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const std::string& name = map.keys[i].name;
    if (is_element("jube", name) && !is_element("benchmark", name)) {
      add_elements(name, map.items[i], map.keys[i].location, root.children);
    } else {
      inner.keys.push_back(map.keys[i]);
      inner.items.push_back(map.items[i]);
    }
  }
  add_elements("benchmark", inner, map.location, root.children);
  return root;
}

}  // namespace

JubeNode read_jube_yaml(const YamlSource& source) {
  Diagnostics diagnostics;
  const YamlNode root = parse_yaml(source, diagnostics);
  diagnostics.throw_if_any();
  if (root.is_list() && !root.items.empty() && root.items.front().is_map()) {
    JubeNode benchmarks;
    benchmarks.tag = "jube";
    benchmarks.place = root.location;
    add_elements("benchmark", root, root.location, benchmarks.children);
    return benchmarks;
  }
  if (!root.is_map()) {
    refuse_jube({&source, 0}, "this is no JUBE file: neither XML, nor YAML with keys such as `parameterset` and `step`",
                "give the file that `jube run` takes");
  }
  return root_of(root);
}

}  // namespace hpcbench

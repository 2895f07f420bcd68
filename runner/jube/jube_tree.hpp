#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// An element of a JUBE file. Both of its forms, XML and YAML, give the same tree.
struct JubeNode {
  std::string tag;
  std::vector<std::pair<std::string, std::string>> attributes;  // values without blanks at their ends, except a separator's
  std::string text;                                             // without blanks at its ends
  std::vector<JubeNode> children;
  SourceLocation place;

  /// Returns the value; empty if the attribute is missing.
  std::string attribute(std::string_view name) const;
  /// Returns true for `true` and `1`, in any spelling that JUBE accepts.
  bool has_flag(std::string_view name) const;
  std::vector<const JubeNode*> all(std::string_view child_tag) const;
  /// Returns the text split at its whole `separator` (a comma by default; an empty one never splits), without blanks.
  std::vector<std::string> parts() const;
  std::string separator() const;
};

/// Returns the file's root, `jube`, with the benchmarks and the elements beside them. Any bytes give a tree or an InputError
/// with its place: more than 1 MB, nesting deeper than 50, text that is neither XML nor YAML, and a document type that defines
/// entities are refused. Reads no other file.
JubeNode read_jube_tree(const YamlSource& source);

/// Returns the value of an attribute as JUBE reads it: blanks at its ends count only in a `separator`.
std::string attribute_text(std::string_view name, std::string_view value);

/// Parse one of the two forms; `read_jube_tree` chooses.
JubeNode read_jube_xml(const YamlSource& source);
JubeNode read_jube_yaml(const YamlSource& source);

[[noreturn]] void refuse_jube(const SourceLocation& place, const std::string& message, const std::string& advice = "");

}  // namespace hpcbench

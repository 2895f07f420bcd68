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
  std::vector<std::pair<std::string, std::string>> attributes;  // values without blanks at their ends, save a separator's
  std::string text;                                             // without blanks at its ends
  std::vector<JubeNode> children;
  SourceLocation place;

  /// Empty where there is none.
  std::string attribute(std::string_view name) const;
  /// True for `true` and `1`, however they are written.
  bool has_flag(std::string_view name) const;
  std::vector<const JubeNode*> all(std::string_view child_tag) const;
  /// The text cut at the whole of its `separator` (a comma unless it says another; an empty one cuts nowhere), without blanks.
  std::vector<std::string> parts() const;
  std::string separator() const;
};

/// The file's root, `jube`: what stands beside the benchmarks, and these. Any bytes give a tree or an InputError with its
/// place: more than 1 MB, nesting deeper than 50, what is neither XML nor YAML, and a document type that defines entities are
/// refused. No other file is read.
JubeNode read_jube_tree(const YamlSource& source);

/// The value of an attribute as JUBE takes it: blanks at its ends count in a `separator` alone.
std::string attribute_text(std::string_view name, std::string_view value);

/// The two forms; `read_jube_tree` chooses.
JubeNode read_jube_xml(const YamlSource& source);
JubeNode read_jube_yaml(const YamlSource& source);

[[noreturn]] void refuse_jube(const SourceLocation& place, const std::string& message, const std::string& advice = "");

}  // namespace hpcbench

#pragma once

#include <set>
#include <string>

#include "jube/jube_tree.hpp"

namespace hpcbench {

/// Evaluates an expression of JUBE's tags: `deu|eng`, `!deu+eng`, `(a|b)+c`, `a^b`. InputError for anything else.
bool tags_hold(const std::string& expression, const std::set<std::string>& tags, const SourceLocation& place);

/// Collects the tags that occur anywhere below `node`; `combined` is set if an expression has several or a `!`.
void collect_tags(const JubeNode& node, std::set<std::string>& tags, bool& combined);

/// Returns the tree without the elements that the tags exclude. The file may choose tags itself (`selection`).
JubeNode choose_by_tags(const JubeNode& root, std::set<std::string> tags);

}  // namespace hpcbench

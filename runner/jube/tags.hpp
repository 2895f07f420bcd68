#pragma once

#include <set>
#include <string>

#include "jube/jube_tree.hpp"

namespace hpcbench {

/// What JUBE's tags choose: `deu|eng`, `!deu+eng`, `(a|b)+c`, `a^b`. InputError for anything else.
bool tags_hold(const std::string& expression, const std::set<std::string>& tags, const SourceLocation& place);

/// The tags that a file speaks of anywhere below `node`; `combined` is set where an expression has several or a `!`.
void collect_tags(const JubeNode& node, std::set<std::string>& tags, bool& combined);

/// The tree without what the tags leave out. The file may choose tags itself (`selection`).
JubeNode choose_by_tags(const JubeNode& root, std::set<std::string> tags);

}  // namespace hpcbench

#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jube/draft.hpp"
#include "jube/includes.hpp"
#include "jube/jube_tree.hpp"

namespace hpcbench {

/// The named sets of a file and of the files from which it takes sets.
class JubeSets {
 public:
  JubeSets(const JubeNode& root, const JubeNode& benchmark, std::set<std::string> tags, JubeIncludes& includes)
      : root_(root), benchmark_(benchmark), tags_(std::move(tags)), includes_(includes) {}

  /// Returns the sets that a `use` of a step or an analyser names, in its order, each after the set that it begins with, or
  /// joined with it: its own replacements and patterns win. A missing set is a note.
  std::vector<const JubeNode*> used_by(const JubeNode& user, std::string_view key, Draft& draft);

  /// Returns false once a set was not found.
  bool complete() const { return complete_; }

 private:
  void add(std::vector<const JubeNode*>& found, const std::string& name, const std::string& from, const JubeNode& said,
           std::string_view key, int depth, Draft& draft);
  const JubeNode* find(const std::string& name, const std::string& from);
  const JubeNode* other_root(const std::string& file);

  const JubeNode& root_;
  const JubeNode& benchmark_;
  std::set<std::string> tags_;
  JubeIncludes& includes_;
  std::map<std::string, JubeNode> chosen_;      // of other files, without the elements that the tags exclude
  std::map<const JubeNode*, JubeNode> joined_;  // sets with the children of the sets that they begin with
  bool complete_ = true;
};

}  // namespace hpcbench

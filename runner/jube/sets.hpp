#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "jube/draft.hpp"
#include "jube/jube_tree.hpp"
#include "jube/translate.hpp"

namespace hpcbench {

/// The named sets of a file and of those that it takes sets from.
class JubeSets {
 public:
  JubeSets(const JubeNode& root, const JubeNode& benchmark, std::set<std::string> tags, const JubeFiles& files)
      : root_(root), benchmark_(benchmark), tags_(std::move(tags)), files_(files) {}

  /// What a `use` of a step or an analyser names, in its order, each set behind the one that it begins with. What is not
  /// found is a note.
  std::vector<const JubeNode*> used_by(const JubeNode& user, std::string_view key, Draft& draft);

  /// False once a set was not found.
  bool complete() const { return complete_; }

 private:
  struct OtherFile {
    std::unique_ptr<YamlSource> source;
    JubeNode root;
  };
  void add(std::vector<const JubeNode*>& found, const std::string& name, const std::string& from, const JubeNode& said,
           std::string_view key, int depth, Draft& draft);
  const JubeNode* find(const std::string& name, const std::string& from);
  const JubeNode* other_root(const std::string& file);

  const JubeNode& root_;
  const JubeNode& benchmark_;
  std::set<std::string> tags_;
  const JubeFiles& files_;
  std::map<std::string, OtherFile> others_;
  bool complete_ = true;
};

}  // namespace hpcbench

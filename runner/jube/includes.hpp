#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jube/jube_tree.hpp"
#include "jube/translate.hpp"

namespace hpcbench {

/// Other files that a file of JUBE takes elements from. Their trees stay as long as this does.
class JubeIncludes {
 public:
  explicit JubeIncludes(const JubeFiles& files) : files_(files) {}

  /// Replaces each `<include from="FILE" path="dos/do"/>` below `node` by the elements that it names. Whatever cannot be
  /// followed (no such file, other XPath, more than 10 levels or 10,000 elements) stays, for a note at its place.
  void expand(JubeNode& node);
  /// The root of another file, in the first of the folders that has it; null where there is none, or too many.
  const JubeNode* root_of(const std::string& file);
  /// Folders to look in before the JUBE file's own.
  void look_in(std::vector<std::string> folders) { folders_ = std::move(folders); }

 private:
  struct OtherFile {
    std::unique_ptr<YamlSource> source;
    JubeNode root;
  };
  const JubeNode* root_at(const std::string& path);
  void expand(JubeNode& node, int depth);
  std::vector<JubeNode> named_by(const JubeNode& include);

  const JubeFiles& files_;
  std::vector<std::string> folders_;
  std::map<std::string, OtherFile> others_;
  std::size_t included_ = 0;
};

/// What to say of an `include` that stayed.
std::string missing_include(const JubeNode& include);

}  // namespace hpcbench

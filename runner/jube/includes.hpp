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

/// Other files from which a file of JUBE includes elements. Their trees live as long as this object.
class JubeIncludes {
 public:
  explicit JubeIncludes(const JubeFiles& files) : files_(files) {}

  /// Replaces each `<include from="FILE" path="dos/do"/>` below `node` by the elements that it names. An include that cannot be
  /// followed (no such file, other XPath, more than 10 levels or 10,000 elements) stays, for a note at its place.
  void expand(JubeNode& node);
  /// Returns the root of another file, from the first folder that has it; null if it does not exist or there are too many.
  const JubeNode* root_of(const std::string& file);
  /// Sets folders that are searched before the JUBE file's own.
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

/// Returns the note for an `include` that stayed.
std::string missing_include(const JubeNode& include);

}  // namespace hpcbench

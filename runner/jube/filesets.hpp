#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jube/jube_tree.hpp"

namespace hpcbench {

/// Names of files with their parameters filled in.
using FillName = std::function<std::string(const std::string& text)>;
/// `from` as the fileset says it, `to` in the step's folder.
using UseFile = std::function<void(const std::string& from, const std::string& to)>;

bool has_glob(const std::string& text);
/// A word of a shell; one with a pattern stays as it is, and one with a placeholder, for its value decides.
std::string shell_word(const std::string& text);
/// Each file that a `copy` or `link` names, seen from its `file_path_ref`.
void for_each_file(const JubeNode& node, const FillName& fill, const UseFile& use);

/// Filesets first: substitutesets read what they bring.
template <class Writer>
void add_file_sets(const std::vector<const JubeNode*>& sets, Writer& writer) {
  for (const JubeNode* set : sets) {
    if (set->tag == "fileset") writer.add_fileset(*set);
  }
  for (const JubeNode* set : sets) {
    if (set->tag == "substituteset") writer.add_substitutes(*set);
  }
}

}  // namespace hpcbench

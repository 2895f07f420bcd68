#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jube/jube_tree.hpp"

namespace hpcbench {

/// Names of files with their parameters filled in.
using FillName = std::function<std::string(const std::string& text)>;
/// `from` as in the fileset, `to` in the step's folder.
using UseFile = std::function<void(const std::string& from, const std::string& to)>;

bool has_glob(const std::string& text);
/// Returns a text as a word of a shell; a text with a pattern or a placeholder is unchanged, because its value decides.
std::string shell_word(const std::string& text);
/// Calls `use` for each file of a `copy` or `link`, relative to its `file_path_ref`.
void for_each_file(const JubeNode& node, const FillName& fill, const UseFile& use);

/// Writes filesets first: substitutesets read their files.
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

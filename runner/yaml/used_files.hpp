#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// A file with parts that several experiment files share: an entry of `use`.
struct UsedFile {
  std::shared_ptr<const YamlSource> source;
  YamlNode root;
  SourceLocation said;         // place of its name in the file that uses it
  std::size_t said_bytes = 0;  // length with quotes
};

/// Reads the files that `use` names, one text or a list of them: paths relative to the folder of the file that contains `use`.
/// A file that cannot be used (missing, no plain file, no map, or using others itself) is a diagnostic at its place, which may
/// be in a file of the result.
std::vector<UsedFile> read_used_files(const YamlNode& use, Diagnostics& diagnostics);

/// A file and the files that it uses, for reading them again elsewhere: names are relative to the folder of the first.
struct FileCopy {
  std::string name;
  std::string text;
};

/// Returns `file` under its own name, then the files that it uses, in `used/`, to which the copy's text refers.
std::vector<FileCopy> copies_of(const YamlSource& file, const std::vector<UsedFile>& used);

}  // namespace hpcbench

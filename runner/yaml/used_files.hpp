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
  SourceLocation said;         // where its name stands in the file that uses it
  std::size_t said_bytes = 0;  // quotes included
};

/// Reads what `use` names, one text or a list of them: paths seen from the folder of the file that holds it. What cannot be
/// used (no such file, no plain file, no map, a file that uses others) is a diagnostic at its place, which may be in a file of
/// the result.
std::vector<UsedFile> read_used_files(const YamlNode& use, Diagnostics& diagnostics);

/// A file and what it uses, so that they can be read again elsewhere: names are relative to the folder of the first.
struct FileCopy {
  std::string name;
  std::string text;
};

/// `file` under its own name; behind it what it uses, in `used/`, where the copy's own text looks for them.
std::vector<FileCopy> copies_of(const YamlSource& file, const std::vector<UsedFile>& used);

}  // namespace hpcbench

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// A folder, or a single file, that results may be in.
class ToolFiles {
 public:
  /// `beside`: the folder of the experiment file that will name the files. InputError if `path` does not exist.
  ToolFiles(const std::string& path, const std::string& beside);

  /// Paths below the folder, sorted, hidden ones too; links to folders are not followed. At most 100,000, at most 12 deep.
  const std::vector<std::string>& all() const { return files_; }
  bool is_cut() const { return is_cut_; }
  /// Those that a regular expression matches as a whole.
  std::vector<std::string> matching(const std::string& pattern) const;
  bool has(const std::string& file) const;
  /// A file's text, unpacked if it is `.gz` or `.zst`; empty if it cannot be read or has more than 64 MiB.
  const std::string& text(const std::string& file) const;
  /// The first bytes of a file.
  std::string head(const std::string& file) const;
  /// A file of YAML, of JSON or of W&B as JSON or JSON lines; empty if it is none.
  std::string document(const std::string& file) const;
  /// A file as programs find it.
  std::string path(const std::string& file) const;
  /// A file, or a glob below the folder, as the experiment file names it; only the folder's own name is escaped.
  std::string named(const std::string& glob) const;
  /// As a person wrote it.
  const std::string& given() const { return given_; }

 private:
  std::string given_;
  std::string folder_;  // with `/` at its end, or empty
  std::string prefix_;  // of names in the experiment file
  std::vector<std::string> files_;
  bool is_cut_ = false;
  mutable std::map<std::string, std::string> texts_;
};

}  // namespace hpcbench

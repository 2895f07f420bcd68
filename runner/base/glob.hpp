#pragma once

#include <string>
#include <vector>

namespace hpcbench {

/// Returns the regular files that a pattern of glob(3) matches, sorted.
std::vector<std::string> glob_files(const std::string& pattern);
/// Returns `text` with the special characters of glob(3) and of NamedGlob escaped.
std::string glob_escaped(const std::string& text);

/// The place outside the attempt's folder where a metric finds its files if none matches in that folder.
struct OutsideGlob {
  std::string file;  // the file as the metric names it
  std::string glob;  // an absolute pattern of glob(3)
};
/// Returns an absolute pattern without `..`; empty if it lies in the attempt's folder. `folder` and `workdir` are absolute.
std::string outside_glob(const std::string& file, const std::string& folder, const std::string& workdir);

}  // namespace hpcbench

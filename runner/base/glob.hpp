#pragma once

#include <string>
#include <vector>

namespace hpcbench {

/// The regular files that a pattern of glob(3) matches, sorted.
std::vector<std::string> glob_files(const std::string& pattern);
/// `text` with the special characters of glob(3) escaped.
std::string glob_escaped(const std::string& text);

/// Where a metric finds its files if none matches in the attempt's folder: outside of it.
struct OutsideGlob {
  std::string file;  // as the metric names it
  std::string glob;  // absolute, as glob(3) takes it
};
/// Such a glob, without `..`; empty if it stands in the attempt's folder. `folder` and `workdir` are absolute.
std::string outside_glob(const std::string& file, const std::string& folder, const std::string& workdir);

}  // namespace hpcbench

#include "base/glob.hpp"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace hpcbench {

std::string glob_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[]{\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string> glob_files(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      struct stat status {};
      if (::stat(found.gl_pathv[i], &status) == 0 && S_ISREG(status.st_mode)) files.emplace_back(found.gl_pathv[i]);
    }
  }
  ::globfree(&found);
  std::sort(files.begin(), files.end());
  return files;
}

std::string outside_glob(const std::string& file, const std::string& folder, const std::string& workdir) {
  if (!file.starts_with('/') && workdir.empty()) return {};
  const std::string path = file.starts_with('/') ? file : glob_escaped(workdir) + '/' + file;
  std::string glob = std::filesystem::path(path).lexically_normal().string();
  return glob.starts_with(glob_escaped(folder) + '/') ? std::string() : glob;
}

}  // namespace hpcbench

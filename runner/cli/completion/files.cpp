#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "cli/completion/values.hpp"

namespace hpcbench {

namespace {

/// `~/x` as the shell will read it.
std::string without_tilde(const std::string& folder) {
  const char* const home = std::getenv("HOME");
  return folder.starts_with("~/") && home != nullptr ? home + folder.substr(1) : folder;
}

bool passes(const std::string& name, FileFilter filter) {
  if (filter == FileFilter::all) return true;
  return filter == FileFilter::experiments && (name.ends_with(".yaml") || name.ends_with(".yml"));
}

}  // namespace

std::vector<Offer> offer_files(const std::string& typed, FileFilter filter) {
  const std::size_t slash = typed.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
  const std::string begun = typed.substr(folder.size());
  std::vector<Offer> offers;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder.empty() ? "." : without_tilde(folder), error);
  for (const std::filesystem::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(begun) || (name.front() == '.' && begun.empty())) continue;
    std::error_code unreadable;
    if (entry->is_directory(unreadable)) {
      offers.push_back({folder + name + "/"});
    } else if (passes(name, filter)) {
      offers.push_back({folder + name});
    }
  }
  std::sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) { return a.word < b.word; });
  return offers;
}

}  // namespace hpcbench

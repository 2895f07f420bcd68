#include "runfiles/outside_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/files.hpp"
#include "runfiles/layout.hpp"

namespace hpcbench {

namespace {

constexpr double kClockSlack = 2;  // seconds

struct stat status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) status = {};
  return status;
}

/// What is done with one file, as the list says it.
std::string keep_file(const std::string& folder, const std::string& file, long long& left_bytes) {
  namespace fs = std::filesystem;
  const auto size_bytes = static_cast<long long>(status_of(file).st_size);
  if (size_bytes > kLargestOutsideFile || size_bytes > left_bytes) return fmt::format("too_large {} {}\n", size_bytes, file);
  const fs::path copy = folder + '/' + kOutsideFolder + file;
  std::error_code error;
  fs::create_directories(copy.parent_path(), error);
  if (error || !copy_contents(file, copy).empty()) return fmt::format("unreadable {} {}\n", size_bytes, file);
  left_bytes -= size_bytes;
  return fmt::format("kept {} {}\n", size_bytes, file);
}

}  // namespace

bool was_changed(const std::string& path, const ChangedBetween& between) {
  constexpr double kNanoseconds = 1e-9;
  const timespec changed = status_of(path).st_mtim;
  const double changed_s = static_cast<double>(changed.tv_sec) + kNanoseconds * static_cast<double>(changed.tv_nsec);
  return changed_s >= between.from_unix_s - kClockSlack && changed_s <= between.to_unix_s + kClockSlack;
}

void keep_outside_files(const std::string& folder, const std::string& run_dir, const std::vector<OutsideGlob>& globs,
                        const std::optional<ChangedBetween>& between) {
  if (globs.empty()) return;
  std::set<std::string> files;
  for (const OutsideGlob& each : globs) {
    const bool here = !each.file.starts_with('/') && !attempt_files(each.file, folder, run_dir).empty();
    if (here) continue;
    for (const std::string& file : glob_files(each.glob)) {
      if (!between || was_changed(file, *between)) files.insert(file);
    }
  }
  long long left_bytes = kLargestOutside;
  std::string list;
  for (const std::string& file : files) list += keep_file(folder, file, left_bytes);
  try {
    write_file(folder + '/' + kOutsideList, list, Durability::none);
  } catch (const UnavailableError&) {
    return;  // a full disk must not cost finished.json
  }
}

}  // namespace hpcbench

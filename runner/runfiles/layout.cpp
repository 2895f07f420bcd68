#include "runfiles/layout.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/glob.hpp"
#include "runfiles/outside_files.hpp"

namespace hpcbench {

namespace {

bool is_log(const std::string& name) {
  constexpr std::array kLogs = {"stdout.log", "stdout.*.log", "stderr.log", "stderr.*.log", "ranks.log", "sacct.txt"};
  return std::any_of(kLogs.begin(), kLogs.end(), [&](const char* pattern) { return ::fnmatch(pattern, name.c_str(), 0) == 0; });
}

}  // namespace

std::string output_folder(const std::string& attempt_folder) { return attempt_folder + '/' + kOutputFolder; }

std::string run_dir_of(const std::string& attempt_folder, const RunInfo& info) {
  std::error_code error;
  const bool has_own =
      info.readable ? info.run_dir == kOutputFolder : std::filesystem::is_directory(output_folder(attempt_folder), error);
  return has_own ? output_folder(attempt_folder) : attempt_folder;
}

std::string run_dir_of(const std::string& attempt_folder) {
  std::string text;
  try {
    text = read_file_if_there(attempt_folder + "/run.json").value_or("");
  } catch (const UnavailableError&) {  // as of one that is damaged
  }
  return run_dir_of(attempt_folder, parse_run_json(text));
}

std::string program_file(const std::string& attempt_folder, const std::string& run_dir, const std::string& name) {
  std::string file = run_dir + '/' + name;
  std::error_code error;
  if (run_dir == attempt_folder || std::filesystem::exists(file, error)) return file;
  const std::string beside = attempt_folder + '/' + name;
  return std::filesystem::exists(beside, error) ? beside : file;
}

std::vector<std::string> attempt_files(const std::string& glob, const std::string& attempt_folder, const std::string& run_dir) {
  std::map<std::string, std::string> found;  // paths by name
  for (const std::string& file : glob_files(glob_escaped(attempt_folder) + '/' + glob)) {
    const bool is_copy = file.starts_with(attempt_folder + '/' + kOutsideFolder + '/');
    const bool is_of_program = run_dir != attempt_folder && file.starts_with(run_dir + '/');
    if (!is_copy && !is_of_program) found.emplace(attempt_file_name(file, attempt_folder, attempt_folder), file);
  }
  if (run_dir != attempt_folder) {
    for (const std::string& file : glob_files(glob_escaped(run_dir) + '/' + glob)) {
      const std::string name = attempt_file_name(file, run_dir, run_dir);
      if (!is_log(name) || !found.contains(name)) found.insert_or_assign(name, file);
    }
  }
  std::vector<std::string> files;
  for (const auto& [name, file] : found) files.push_back(file);
  return files;
}

std::string attempt_file_name(const std::string& file, const std::string& attempt_folder, const std::string& run_dir) {
  for (const std::string& folder : {run_dir, attempt_folder}) {
    if (file.starts_with(folder + '/')) return file.substr(folder.size() + 1);
  }
  return file;
}

}  // namespace hpcbench

#include "recognise/tool_files.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.hpp"
#include "base/glob.hpp"
#include "base/json_text.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/wandb_file.hpp"
#include "ingest/yaml_json.hpp"

namespace hpcbench {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 100'000;
constexpr int kDeepest = 12;
constexpr std::size_t kLargestText = std::size_t{64} << 20;
constexpr std::size_t kHeadBytes = 64 << 10;

/// Files of a folder, as paths below it. False if there are more than the limit.
bool list_files(const fs::path& folder, std::vector<std::string>& files) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error);
  std::size_t seen = 0;
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (++seen > kMostFiles) return false;
    if (entry.depth() >= kDeepest) entry.disable_recursion_pending();
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) files.push_back(entry->path().lexically_relative(folder).string());
  }
  return true;
}

}  // namespace

ToolFiles::ToolFiles(const std::string& path, const std::string& beside) : given_(path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  if (!is_folder && !fs::is_regular_file(path, error))
    throw InputError(fmt::format("error: there is no folder or file {}", path));
  const fs::path whole = fs::path(path).lexically_normal();
  const fs::path folder = is_folder ? (whole.has_filename() ? whole : whole.parent_path()) : whole.parent_path();
  folder_ = folder.empty() || folder == "." ? "" : (folder / "").string();
  fs::path named = folder;
  if (folder.is_relative()) {
    const fs::path base = beside.empty() ? fs::path(".") : fs::path(beside);
    named = fs::absolute(folder.empty() ? fs::path(".") : folder)
                .lexically_normal()
                .lexically_relative(fs::absolute(base).lexically_normal());
  }
  prefix_ = named.empty() || named == "." ? "" : glob_escaped((named / "").string());
  if (is_folder) {
    is_cut_ = !list_files(folder.empty() ? fs::path(".") : folder, files_);
  } else {
    files_.push_back(whole.filename().string());
  }
  std::sort(files_.begin(), files_.end());
}

std::vector<std::string> ToolFiles::matching(const std::string& pattern) const {
  const RE2 compiled(pattern);
  std::vector<std::string> found;
  std::copy_if(files_.begin(), files_.end(), std::back_inserter(found),
               [&](const std::string& file) { return RE2::FullMatch(file, compiled); });
  return found;
}

bool ToolFiles::has(const std::string& file) const { return std::binary_search(files_.begin(), files_.end(), file); }

const std::string& ToolFiles::text(const std::string& file) const {
  const auto [known, is_new] = texts_.emplace(file, "");
  if (!is_new) return known->second;
  std::string& text = known->second;
  if (read_text(path(file), kLargestText, text) || text.size() > kLargestText) text.clear();
  return text;
}

std::string ToolFiles::head(const std::string& file) const {
  std::string head(kHeadBytes, '\0');
  std::ifstream in(path(file), std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return head;
}

std::string ToolFiles::document(const std::string& file) const {
  const std::string& text = this->text(file);
  std::string problem;
  if (is_yaml_name(file)) return yaml_as_json(text, problem);
  if (is_wandb_name(file)) return wandb_as_json(text, problem);
  return is_json(text) ? text : "";
}

std::string ToolFiles::path(const std::string& file) const { return folder_ + file; }

std::string ToolFiles::named(const std::string& glob) const { return prefix_ + glob; }

}  // namespace hpcbench

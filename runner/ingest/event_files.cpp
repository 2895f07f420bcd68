#include "ingest/event_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace hpcbench {

namespace fs = std::filesystem;

std::optional<int> rank_of_event_file(std::string_view name) {
  constexpr std::string_view kBegin = "events.";
  constexpr std::string_view kEnd = ".jsonl";
  if (name == "events.jsonl") return 0;
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() <= kBegin.size() + kEnd.size()) return std::nullopt;
  const std::string_view digits = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  int rank = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  const bool whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  return whole && rank > 0 ? std::optional(rank) : std::nullopt;
}

std::vector<std::pair<int, std::string>> find_event_files(const std::string& attempt_folder) {
  std::vector<std::pair<int, std::string>> files;
  std::error_code error;
  for (fs::directory_iterator entry(attempt_folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (const std::optional<int> rank = rank_of_event_file(name)) files.emplace_back(*rank, name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<std::string> describe_missing_events(const std::string& attempt_folder, const std::string& name, long long size) {
  if (!rank_of_event_file(name)) return std::nullopt;
  std::error_code error;
  const auto here = fs::file_size(attempt_folder + '/' + name, error);
  if (error) return fmt::format("{}: missing, but {} bytes were written", name, size);
  if (size > 0 && here < static_cast<unsigned long long>(size))
    return fmt::format("{}: {} of {} bytes are here", name, here, size);
  return std::nullopt;
}

}  // namespace hpcbench

#include "ingest/event_files.hpp"

#include <fmt/format.h>

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

std::map<int, std::string> find_event_files(const std::string& attempt_folder, const std::string& run_dir) {
  std::map<int, std::string> files;
  for (const std::string& folder : {run_dir, attempt_folder}) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      if (const std::optional<int> rank = rank_of_event_file(entry->path().filename().string()))
        files.emplace(*rank, entry->path().string());
    }
  }
  return files;
}

std::optional<std::string> describe_missing_events(const std::string& file, long long size) {
  const std::string name = fs::path(file).filename().string();
  if (!rank_of_event_file(name)) return std::nullopt;
  std::error_code error;
  const auto here = fs::file_size(file, error);
  if (error) return fmt::format("{}: missing, but {} bytes were written", name, size);
  if (size > 0 && here < static_cast<unsigned long long>(size))
    return fmt::format("{}: {} of {} bytes are here", name, here, size);
  return std::nullopt;
}

}  // namespace hpcbench

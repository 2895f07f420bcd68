#include "store/program_versions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hpcbench {

namespace {

constexpr std::string_view kCodePrefix = "code:";
constexpr std::string_view kProgramPrefix = "program:";

}  // namespace

std::string ProgramChange::text() const {
  return fmt::format("{} changed since {} of {} run{}", name, runs, of, of == 1 ? "" : "s");
}

bool ProgramVersions::is_program_fact(std::string_view name) {
  return name.starts_with(kCodePrefix) || name.starts_with(kProgramPrefix);
}

void ProgramVersions::add(const std::string& config_id, const std::string& folder, const NameMap<std::string>& facts) {
  for (const auto& [name, value] : facts) {
    if (!is_program_fact(name)) continue;
    const bool on_path = name.starts_with(kProgramPrefix);
    const std::string file = name.substr(on_path ? kProgramPrefix.size() : kCodePrefix.size());
    const std::size_t space = value.find(' ');
    if (on_path && space == std::string::npos) continue;
    Version& version = files_[{file, on_path ? value.substr(space + 1) : file, folder, on_path}][value.substr(0, space)];
    ++version.runs;
    if (version.config_ids.empty() || version.config_ids.back() != config_id) version.config_ids.push_back(config_id);
  }
}

std::vector<ProgramChange> ProgramVersions::changes(
    const std::function<std::optional<std::string>(const ExecutedFile&)>& present_hash) const {
  std::map<std::string, ProgramChange> changes;
  for (const auto& [file, versions] : files_) {
    const std::optional<std::string> present = present_hash(file);
    if (!present) continue;
    ProgramChange& change = changes.try_emplace(file.name, ProgramChange{file.name, 0, 0, {}}).first->second;
    for (const auto& [hash, version] : versions) {
      change.of += version.runs;
      if (present->starts_with(hash)) continue;
      change.runs += version.runs;
      change.config_ids.insert(change.config_ids.end(), version.config_ids.begin(), version.config_ids.end());
    }
  }
  std::vector<ProgramChange> found;
  for (auto& [name, change] : changes) {
    if (change.runs == 0) continue;
    std::sort(change.config_ids.begin(), change.config_ids.end());
    change.config_ids.erase(std::unique(change.config_ids.begin(), change.config_ids.end()), change.config_ids.end());
    found.push_back(std::move(change));
  }
  return found;
}

}  // namespace hpcbench

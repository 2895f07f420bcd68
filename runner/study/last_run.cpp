#include "study/last_run.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

std::string last_run_file(const std::string& folder) { return folder + "/last_run.json"; }

/// Begins a path that is relative to the folder of last_run.json: an unpacked archive may be moved.
constexpr std::string_view kBeside = "../";

std::string found_from(const std::string& folder, const std::string& path) {
  if (!path.starts_with(kBeside)) return path;
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

}  // namespace

std::string how_it_was_read(const LastRun& run) {
  std::string text = shell_quote(run.file);
  if (!run.profile.empty()) text += " --profile " + shell_quote(run.profile);
  if (!run.site.empty()) text += " --site " + shell_quote(run.site);
  for (const std::string& setting : run.settings) text += " --set " + shell_quote(setting);
  return text;
}

std::vector<std::string> read_profiles_together(const std::string& results_root, const std::string& experiment) {
  const auto text = read_file_if_there(last_run_file(results_root + "/" + experiment));
  const nlohmann::json json = nlohmann::json::parse(text.value_or("{}"), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("profiles_together")) return {};
  std::vector<std::string> together;
  for (const nlohmann::json& profiles : json["profiles_together"]) {
    if (profiles.is_string()) together.push_back(profiles);
  }
  return together;
}

void write_last_run(const std::string& results_root, const LastRun& run) {
  std::vector<std::string> together = read_profiles_together(results_root, run.experiment);
  if (run.profile.find(',') != std::string::npos) together.push_back(run.profile);
  std::sort(together.begin(), together.end());
  together.erase(std::unique(together.begin(), together.end()), together.end());
  const auto seen_from = [](const std::string& path, bool deeper) {
    return deeper && path.starts_with(kBeside) ? std::string(kBeside) + path : path;
  };
  for (const bool deeper : {true, false}) {
    const std::string folder = deeper ? results_root + "/" + run.experiment : results_root;
    if (!std::filesystem::is_directory(folder)) continue;
    JsonWriter json(1);
    json.begin_object(JsonLayout::lines).member("schema", 1).member("experiment", run.experiment);
    json.member("file", seen_from(run.file, deeper)).member("profile", run.profile).member("site", seen_from(run.site, deeper));
    json.member("settings", run.settings);
    if (!together.empty()) json.member("profiles_together", together);
    const std::string text = json.end().take() + "\n";
    try {
      write_file(last_run_file(folder), text, Durability::none);
    } catch (const UnavailableError&) {
      // Below a sticky folder another user's note cannot be replaced; the study's own is what counts.
      if (deeper || is_own(last_run_file(folder)) || !std::filesystem::exists(last_run_file(folder))) throw;
    }
  }
}

std::optional<LastRun> read_last_run(const std::string& folder) {
  const std::optional<std::string> text = read_file_if_there(last_run_file(folder));
  if (!text) return std::nullopt;
  try {
    const nlohmann::json json = nlohmann::json::parse(*text);
    LastRun run{json.at("experiment"), found_from(folder, json.at("file")), json.at("profile"),
                found_from(folder, json.at("site")), json.at("settings")};
    run.ours = is_own_alone(last_run_file(folder));
    return run;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::optional<LastRun> read_last_run_of(const std::string& results_root, const std::string& experiment) {
  const std::string folder = results_root + "/" + experiment;
  if (std::optional<LastRun> own = read_last_run(folder)) return own;
  // Results of before this note was kept.
  if (std::optional<LastRun> last = read_last_run(results_root); last && last->experiment == experiment) return last;
  const std::string copy = folder + "/experiment.yaml";
  if (!std::filesystem::exists(copy)) return std::nullopt;
  return LastRun{experiment, copy, "", "", {}, is_own_alone(copy)};
}

std::optional<LastRun> find_last_run_of_file(const std::string& results_root, const std::string& file) {
  if (std::optional<LastRun> last = read_last_run(results_root); last && last->file == file) return last;
  std::error_code error;
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(results_root, error)) folders.push_back(entry.path().string());
  std::sort(folders.begin(), folders.end());
  for (const std::string& folder : folders) {
    if (std::optional<LastRun> last = read_last_run(folder); last && last->file == file) return last;
  }
  return std::nullopt;
}

}  // namespace hpcbench

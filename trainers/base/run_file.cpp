#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

/// Names that the runner adds to the trainer's own.
constexpr std::array<std::string_view, 5> kRunnerNames = {"nodes", "gpus_per_node", "gpus", "repeat", "run_dir"};

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw DataError(concat("error: cannot read ", path.string(), " (HPCBENCH_RUN)"));
  try {
    return nlohmann::json::parse(file);
  } catch (const nlohmann::json::exception& error) {
    throw DataError(concat("error: ", path.string(), " (HPCBENCH_RUN) is no JSON: ", error.what()));
  }
}

}  // namespace

RunFile read_run_file(const std::filesystem::path& path) {
  const nlohmann::json run = read_json(path);
  RunFile file;
  file.folder = std::filesystem::absolute(path).parent_path();
  if (!run.is_object()) throw DataError(concat("error: ", path.string(), " (HPCBENCH_RUN) holds no JSON object"));
  if (const auto gpus = run.find("gpus"); gpus != run.end() && gpus->is_number_integer()) file.gpus = gpus->get<int>();
  const auto task = run.find("task");
  const auto values = run.find("settings");
  if (task == run.end() || task->is_null() || values == run.end() || !values->is_object()) return file;
  for (const auto& [name, value] : values->items()) {
    if (std::find(kRunnerNames.begin(), kRunnerNames.end(), name) != kRunnerNames.end() || value.is_null()) continue;
    const std::string where = concat("`", name, "` in the settings of ", path.string());
    if (value.is_structured()) throw InputError(concat("error: ", where, ": a single value is needed"));
    file.settings.push_back({name, value.is_string() ? value.get<std::string>() : value.dump(), where});
  }
  return file;
}

}  // namespace hpcbench::train

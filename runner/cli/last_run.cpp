#include "cli/last_run.hpp"

#include <nlohmann/json.hpp>

#include "base/files.hpp"

namespace hpcbench {

namespace {

std::string last_run_file(const std::string& results_root) { return results_root + "/last_run.json"; }

}  // namespace

void write_last_run(const std::string& results_root, const LastRun& run) {
  const nlohmann::ordered_json json = {{"schema", 1},      {"experiment", run.experiment},
                                       {"file", run.file}, {"profile", run.profile},
                                       {"site", run.site}, {"settings", run.settings}};
  write_file(last_run_file(results_root), json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
             Durability::none);
}

std::optional<LastRun> read_last_run(const std::string& results_root) {
  const std::optional<std::string> text = read_file_if_there(last_run_file(results_root));
  if (!text) return std::nullopt;
  try {
    const nlohmann::json json = nlohmann::json::parse(*text);
    return LastRun{json.at("experiment"), json.at("file"), json.at("profile"), json.at("site"), json.at("settings")};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace hpcbench

#include "runfiles/run_description.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/module_command.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

using Json = nlohmann::json;

/// The value of `key`, or `otherwise` if it is absent or null. A wrong type throws Json::exception.
template <typename T>
T value_or(const Json& object, const char* key, T otherwise) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::move(otherwise) : found->get<T>();
}

const Json& object_or_empty(const Json& object, const char* key) {
  static const Json kEmpty = Json::object();
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? kEmpty : *found;
}

std::vector<std::string> words_of(const Json& argv) {
  if (argv.is_string()) return {argv.get<std::string>()};
  return argv.get<std::vector<std::string>>();
}

/// Every `from` in `text` becomes `to`.
void replace_text(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

RunDescription read_description(const Json& run) {
  const std::vector<std::string> words = words_of(run.at("argv"));
  const Json& resources = object_or_empty(run, "resources");
  const auto modules = value_or<std::vector<std::string>>(run, "modules", {});
  const auto setup = value_or<std::vector<std::string>>(run, "setup", {});
  RunDescription description;
  const bool shell = value_or(run, "shell", false);
  if (shell) {
    description.shell_text = join(words, " ");
  } else {
    description.argv = words;
  }
  description.script = value_or(run, "script", false);
  description.merged_output = value_or(run, "output", std::string()) == "merged";
  description.nodes = value_or(run, "nodes", 1);
  description.processes = value_or(run, "processes", 1);
  description.cpus_per_task = value_or(resources, "cpus_per_task", 1);
  description.environment = value_or<std::map<std::string, std::string>>(run, "environment", {});
  description.workdir = value_or(run, "workdir", std::string());
  if (const double time_s = value_or(resources, "time_s", 0.0); time_s > 0) description.time_s = time_s;
  description.good_exit_code = value_or(object_or_empty(run, "success"), "exit_code", 0);
  if (!modules.empty() || !setup.empty()) {
    description.setup = setup_script(modules, setup, shell, description.good_exit_code);
  }
  if (words.empty() || words[0].empty()) throw InputError("`argv` names no program");
  if (description.processes < 1 || description.nodes < 1 || description.cpus_per_task < 1) {
    throw InputError("`processes`, `nodes` and `cpus_per_task` must be positive");
  }
  return description;
}

}  // namespace

std::string setup_script(const std::vector<std::string>& modules, const std::vector<std::string>& setup, bool export_all,
                         int good_exit_code) {
  std::string prepare = export_all ? "set -a\n" : "";
  if (calls_module(modules, setup)) prepare += std::string(kFindModule) + "\n";
  // A run without its modules would measure something else, so it ends here. The author's lines are as he wrote them.
  for (const std::string& name : modules) prepare += fmt::format("module load {} || exit\n", shell_quote(name));
  for (const std::string& line : setup) prepare += line + "\n";
  // `cat` is found first: the lines may change PATH. Exec drops the trap.
  constexpr std::string_view kScript = R"(hpcbench_cat=$(type -P cat)
prepare() {{
{prepare}}}
trap 'case $? in 0 | {good}) echo "hpcbench: setup ended before the program was started" >&2; exit 1 ;; esac' EXIT
prepare
{{ pwd -P; printf '\0'; umask; exec "$hpcbench_cat" /proc/self/limits /proc/self/environ; }} >&{fd}
)";
  return fmt::format(kScript, fmt::arg("prepare", prepare), fmt::arg("good", good_exit_code), fmt::arg("fd", kHandOverFd));
}

std::string executor_of(const std::string& run_json) {
  const Json run = Json::parse(run_json, nullptr, false);
  const auto found = run.is_object() ? run.find("executor") : run.end();
  return run.is_object() && found != run.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> deck_names(const std::string& run_json) {
  std::vector<std::string> names;
  const Json run = Json::parse(run_json, nullptr, false);
  if (!run.is_object() || !run.contains("files") || !run["files"].is_array()) return names;
  for (const Json& file : run["files"]) {
    if (file.is_object() && file.contains("path") && file["path"].is_string()) names.push_back(file["path"].get<std::string>());
  }
  return names;
}

std::vector<std::string> executed_argv(const RunDescription& run) {
  return run.shell_text ? std::vector<std::string>{"bash", "-c", *run.shell_text, "bash"} : run.argv;
}

void move_folder(RunDescription& run, const std::string& from, const std::string& to) {
  for (std::string& argument : run.argv) replace_text(argument, from, to);
  for (auto& [name, value] : run.environment) replace_text(value, from, to);
  // In a shell's text a folder's name was quoted when it was filled in.
  for (std::optional<std::string>* text : {&run.shell_text, &run.setup}) {
    if (*text) replace_text(**text, shell_quote(from), shell_quote(to));
  }
}

RunDescription parse_run_description(const std::string& text, const std::string& path) {
  try {
    return read_description(Json::parse(text));
  } catch (const Json::exception& problem) {
    throw InputError(fmt::format("error: {}: {}", path, problem.what()));
  } catch (const InputError& problem) {
    throw InputError(fmt::format("error: {}: {}", path, problem.what()));
  }
}

}  // namespace hpcbench

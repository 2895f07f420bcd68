#include "runfiles/run_description.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/module_command.hpp"
#include "base/text.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

namespace {

/// Every `from` in `text` becomes `to`.
void replace_text(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// What of a run.json keeps a run from being started; empty if nothing.
std::string find_mistake(std::string_view text, const RunInfo& info) {
  if (const auto offset = json_error_offset(text)) return fmt::format("no JSON from byte {} on", *offset);
  if (!info.readable) return "no JSON object of schema 1";
  if (!info.wrong.empty()) return fmt::format("the value of `{}` is not one that it may have", info.wrong.front());
  if (info.argv.empty() || info.argv[0].empty()) return "`argv` names no program";
  return "";
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

RunDescription describe_run(const std::string& text, const std::string& path) {
  RunInfo info = parse_run_json(text);
  if (const std::string mistake = find_mistake(text, info); !mistake.empty())
    throw InputError(fmt::format("error: {}: {}", path, mistake));
  if (const char* const key = !info.inject.empty() ? "inject" : info.alone ? "allocation.calibrate" : nullptr) {
    throw InputError(fmt::format(
        "error: {}: this run was planned with `{}`, which this version does not have: start it with the version that made it",
        path, key));
  }
  RunDescription run;
  if (info.shell) {
    run.shell_text = join(info.argv, " ");
  } else {
    run.argv = std::move(info.argv);
  }
  if (!info.modules.empty() || !info.setup.empty()) {
    run.setup = setup_script(info.modules, info.setup, info.shell, info.success_exit_code);
  }
  run.environment = std::move(info.environment);
  run.merged_output = info.merged_output;
  run.monitor_s = info.monitor_s.value_or(0);
  run.script = info.script;
  run.gpus = info.gpus;
  run.nodes = info.nodes;
  run.processes = info.processes;
  run.cpus_per_task = info.cpus_per_task;
  run.workdir = std::move(info.workdir);
  if (info.time_limit_s.value_or(0) > 0) run.time_s = info.time_limit_s;
  run.good_exit_code = info.success_exit_code;
  run.shares_numa = info.shares_numa;
  if (info.segment) {
    run.warn_s = info.segment->warn_s;
    run.saved_exit_code = kExitSaved;
  }
  return run;
}

}  // namespace hpcbench

#include "base/tool_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/host.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLoggedBytes = 2000;  // logged bytes of an answer; a poll may list a thousand jobs
constexpr std::size_t kLoggedBytesDebug = 200'000;

std::string shown_command(const ToolCall& call) {
  std::string text;
  for (const std::string& argument : call.argv) {
    const bool has_zero = argument.find('\0') != argument.npos;
    text += (text.empty() ? "" : " ") + (has_zero ? argument : shell_quote(argument));
  }
  return text;
}

std::string shown_end(const ToolResult& result) { return describe({result.kind, result.status, {}, {}}); }

std::string cut(const std::string& text) {
  const std::size_t most = is_logged(LogLevel::debug) ? kLoggedBytesDebug : kLoggedBytes;
  if (text.size() <= most) return text;
  return fmt::format("{}... ({} bytes in all)", text.substr(0, most), text.size());
}

}  // namespace

ToolResult ToolRunner::run(const ToolCall& call) {
  const double begin_s = monotonic_s();
  ToolResult result = perform(call);
  if (is_logged(LogLevel::info)) log_answer(call, result, monotonic_s() - begin_s);
  return result;
}

void ToolRunner::log_answer(const ToolCall& call, const ToolResult& result, double duration_s) {
  std::string words;
  if (!result.output.empty()) words += fmt::format(", output: {}", cut(result.output));
  if (!result.errors.empty()) words += fmt::format(", errors: {}", cut(result.errors));
  const std::string command = shown_command(call);
  const std::string answer = shown_end(result) + words;
  std::string& last = last_answers_[command];
  const bool again = last == answer && !words.empty();
  last = answer;
  log_info(fmt::format("call {}: {} after {:.3f} s{}", command, shown_end(result), duration_s,
                       again ? ", the same answer as before" : words));
}

bool is_kept_for_tools(std::string_view variable) {
  constexpr std::array<std::string_view, 7> kForeign = {"SBATCH_",   "SQUEUE_", "SACCT_", "SCANCEL_",
                                                        "SCONTROL_", "SINFO_",  "SLURM_"};
  if (variable == "SLURM_CONF" || variable == "SLURM_CLUSTERS" || variable == "SLURM_JWT") return true;
  return std::none_of(kForeign.begin(), kForeign.end(), [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

ToolResult ProcessToolRunner::perform(const ToolCall& call) {
  ToolCall plain = call;
  // The messages that hpcbench recognises are English.
  plain.environment["LC_ALL"] = "C.UTF-8";
  plain.environment["SLURM_TIME_FORMAT"] = "standard";
  for (const std::string& entry : own_environment()) {
    std::string name = entry.substr(0, entry.find('='));
    if (!is_kept_for_tools(name)) plain.environment.try_emplace(std::move(name), std::nullopt);
  }
  return run_tool(plain);
}

}  // namespace hpcbench

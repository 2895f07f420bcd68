#include "runfiles/job_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "runfiles/launcher_failure.hpp"
#include "runfiles/layout.hpp"

namespace hpcbench {

namespace {

constexpr int kSchema = 1;
constexpr std::size_t kTailBytes = 2000;
constexpr std::size_t kSearchedBytes = 1 << 20;  // for lines of one rank, and for what stands above a launcher's words

/// Empty if it cannot be read.
std::string read_gpu_file(const std::filesystem::path& path) {
  try {
    return read_file_if_there(path).value_or("");
  } catch (const UnavailableError&) {
    return {};
  }
}

/// The GPUs of this host, by what the driver shows without a program being started; absent where there are none.
std::optional<std::string> gpu_models() {
  std::vector<std::string> models;
  std::error_code error;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    for (const std::string& line : split(read_gpu_file(gpu.path() / "information"), '\n')) {
      constexpr std::string_view kKey = "Model:";
      if (line.starts_with(kKey)) models.emplace_back(trim(std::string_view(line).substr(kKey.size())));
    }
  }
  if (models.empty()) return std::nullopt;
  return join(models, ", ");
}

/// The end of `text` that fits, from the start of a line if there is one.
std::string last_lines(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  const std::size_t cut = text.size() - limit;
  // The byte before what fits tells whether its first line is whole.
  const bool at_line = text[cut - 1] == '\n';
  text.erase(0, cut);
  if (at_line) return text;
  if (const std::size_t line = text.find('\n'); line != std::string::npos && line + 1 < text.size())
    return text.substr(line + 1);
  // One long line: start with a whole character.
  std::size_t begin = 0;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) ++begin;
  return text.substr(begin);
}

/// The lines of one rank near the end of a merged file.
std::string merged_tail(const std::string& path, int rank) {
  const std::string prefix = fmt::format("{}: ", rank);
  std::string text;
  for (const std::string& line : split(read_tail(path, kSearchedBytes), '\n')) {
    if (line.starts_with(prefix)) text += line.substr(prefix.size()) + "\n";
  }
  return text;
}

/// What is not UTF-8 becomes U+FFFD.
std::string to_utf8(const std::string& bytes) { return is_utf8(bytes) ? bytes : json_unquote(json_quote(bytes)); }

}  // namespace

void write_process(JsonWriter& json, const ProcessEnd& end) {
  const auto used = [&](auto value) { return end.usage_known ? std::optional(value) : std::nullopt; };
  json.member("rank", end.rank).member("exit_code", end.exit_code).member("signal", end.signal).member("wall_s", end.wall_s);
  json.member("user_s", used(end.user_s)).member("sys_s", used(end.sys_s)).member("max_rss_bytes", used(end.max_rss_bytes));
}

std::string started_json(const StartedFacts& facts) {
  JsonWriter json;
  json.begin_object().member("schema", kSchema).member("host", facts.node.value_or(facts.process.host));
  json.member("boot_id", facts.process.boot_id).member("pid", facts.process.pid).member("started_unix_s", unix_time_s());
  json.member("monotonic_s", monotonic_s()).member("job", facts.job).member("master_port", facts.master_port);
  json.member("devices", facts.node ? facts.devices : gpu_models());
  if (facts.nodes) {
    json.member("nodes", *facts.nodes);
  } else {
    json.member("cores", std::thread::hardware_concurrency());  // those that this process may use
  }
  return json.end().take() + "\n";
}

const ProcessEnd* deciding_process(const Supervision& supervision) {
  if (supervision.setup) return &*supervision.setup;
  const ProcessEnd* decides = nullptr;
  for (const ProcessEnd& end : supervision.processes) {
    if (end.rank == supervision.first_failed_rank) return &end;
    if (decides == nullptr && end.exit_code != 0) decides = &end;
  }
  return decides;
}

int exit_status(const Supervision& supervision, int good_exit_code) {
  if (supervision.timed_out) return kExitTimedOut;
  if (supervision.cancelled_by) return kSignalExitBase + SIGTERM;
  const ProcessEnd* const decides = deciding_process(supervision);
  if (decides == nullptr) return 0;
  if (decides->signal) return kSignalExitBase + *decides->signal;
  if (decides->exit_code == good_exit_code && !supervision.setup) return 0;
  return decides->exit_code == 0 ? 1 : *decides->exit_code;
}

std::string finished_json(const FinishedFacts& facts) {
  const Supervision& supervision = facts.supervision;
  const ProcessEnd* const decides = deciding_process(supervision);
  const std::optional<int> without_process = facts.error ? kExitCannotStart : 0;
  JsonWriter json;
  json.begin_object().member("schema", kSchema).member("host", facts.host).member("finished_unix_s", unix_time_s());
  json.member("wall_s", supervision.wall_s).member("exit_code", decides != nullptr ? decides->exit_code : without_process);
  json.member("signal", decides != nullptr ? decides->signal : std::nullopt);
  const auto member_if_known = [&](const char* key, const auto& value) {
    if (value) json.member(key, *value);
  };
  member_if_known("first_failed_rank", supervision.first_failed_rank);
  json.member("timed_out", supervision.timed_out);
  if (supervision.warned) json.member("warned", true);
  member_if_known("suspended_s", supervision.suspended_s);
  json.member("time_limit_s", facts.time_limit_s).member("cancelled", supervision.cancelled_by.has_value());
  member_if_known("oom_kill", facts.oom_kill);
  member_if_known("error", facts.error);
  if (facts.never_began) json.member("never_began", true);
  member_if_known("bound", facts.bound);
  member_if_known("shared", facts.shared);
  member_if_known("tail", facts.tail);
  json.key("processes").begin_array();
  for (const ProcessEnd& end : supervision.processes) {
    write_process(json.begin_object(), end);
    json.end();
  }
  return json.end().member("files", facts.files).end().take() + "\n";
}

std::string rank_file(const std::string& stem, int rank, const std::string& extension) {
  return rank == 0 ? stem + extension : fmt::format("{}.{}{}", stem, rank, extension);
}

std::optional<std::string> output_tail(const std::string& folder, int rank) {
  const auto shown = [](const std::string& tail) {
    std::string text = last_lines(tail, kTailBytes);
    // A replaced byte takes three, so what fitted may fit no more.
    text = last_lines(to_utf8(text), kTailBytes);
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    return text;
  };
  std::optional<std::string> of_launcher;  // where no rank wrote anything to stderr
  const auto found = [&](const std::string& end) -> std::optional<std::string> {
    std::string words = end;
    if (const std::optional<MpiFailure> below = failure_below_mpi(end)) {
      if (below->own.empty() && !below->by_signal) {
        of_launcher = below->launcher;
        return std::nullopt;
      }
      words = below->own + (below->by_signal ? "\n" + below->launcher : "");
    }
    const std::string text = shown(failure_below_launcher(words, folder).value_or(words));
    return text.empty() ? std::nullopt : std::optional(text);
  };
  for (const char* stem : {"stderr", "stdout"}) {
    if (auto text = found(read_tail(folder + "/" + rank_file(stem, rank, ".log"), kSearchedBytes))) return text;
  }
  if (rank == 0 || of_launcher) return of_launcher;
  return found(merged_tail(folder + "/" + kMergedOutput, rank));
}

std::vector<std::pair<std::string, long long>> event_file_sizes(const std::string& folder, const std::string& run_dir,
                                                                int processes) {
  std::vector<std::pair<std::string, long long>> sizes;
  for (int rank = 0; rank < processes; ++rank) {
    const std::string name = rank_file("events", rank, ".jsonl");
    struct stat status {};
    if (::stat(program_file(folder, run_dir, name).c_str(), &status) == 0) sizes.emplace_back(name, status.st_size);
  }
  return sizes;
}

}  // namespace hpcbench

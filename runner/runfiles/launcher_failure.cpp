#include "runfiles/launcher_failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "base/glob.hpp"
#include "base/text.hpp"
#include "runfiles/layout.hpp"

namespace hpcbench {

namespace {

using Lines = std::vector<std::string>;

constexpr std::string_view kTraceback = "Traceback (most recent call last):";
constexpr std::string_view kTorchrunError = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError";

/// What precedes a rank's own text: `[rank1]: ` (from torch), `[default1]:` (from torchrun --tee), both, or mostly nothing.
std::string_view rank_prefix(std::string_view line) {
  std::size_t size = 0;
  for (const std::string_view begin : {"[default", "[rank"}) {
    const std::size_t end = line.find("]:", size);
    if (line.substr(size).starts_with(begin) && end != std::string_view::npos) size = end + 2;
  }
  const bool by_torch = line.substr(0, size).find("[rank") != std::string_view::npos;
  return line.substr(0, by_torch && line.substr(size).starts_with(' ') ? size + 1 : size);
}

/// The line with the exception that ends a traceback.
struct Exception {
  std::size_t line = 0;
  std::string_view prefix;
};

/// Lines of other ranks may be in between.
std::vector<Exception> find_exceptions(const Lines& lines) {
  std::vector<Exception> found;
  std::set<std::string_view> begun;  // prefixes whose traceback has begun
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const std::string_view prefix = rank_prefix(lines[at]);
    const std::string_view text = std::string_view(lines[at]).substr(prefix.size());
    if (text.starts_with(kTraceback)) {
      begun.insert(prefix);
    } else if (!text.empty() && !text.starts_with(' ') && begun.erase(prefix) > 0) {
      found.push_back({at, prefix});
    }
  }
  return found;
}

/// The lines with its prefix, as far as the exception.
std::string words_before(const Lines& lines, const Exception& end) {
  Lines own;
  for (std::size_t at = 0; at <= end.line; ++at) {
    if (rank_prefix(lines[at]) == end.prefix) own.push_back(lines[at]);
  }
  return join(own, "\n");
}

/// Torchrun's summary of the rank that failed first.
struct RootCause {
  std::string rank, local_rank, exit_code;
  std::string traceback;  // or `Signal 11 (SIGSEGV) received by PID 17`; empty if torchrun has none
};

/// The value of the next line `  KEY : VALUE`, and the lines below it that are indented further.
std::string next_value(const Lines& lines, std::size_t& at, std::string_view key) {
  const auto colon = [&] { return std::min(lines[at].find(':'), lines[at].size()); };
  while (at < lines.size() && trim(std::string_view(lines[at]).substr(0, colon())) != key) ++at;
  if (at == lines.size()) return "";
  std::string value(trim(std::string_view(lines[at]).substr(std::min(colon() + 1, lines[at].size()))));
  for (++at; at < lines.size() && key == "traceback" && lines[at].starts_with("  "); ++at) value += "\n" + lines[at].substr(2);
  value.erase(value.find_last_not_of(" \n") + 1);
  return value;
}

std::optional<RootCause> root_cause(const Lines& lines, std::size_t at) {
  while (at < lines.size() && !lines[at].starts_with("Root Cause")) ++at;
  const std::vector<std::string> rank = split(next_value(lines, at, "rank"), ' ');  // 1 (local_rank: 1)
  const std::string exit_code = next_value(lines, at, "exitcode");                  // 1 (pid: 17)
  std::string traceback = next_value(lines, at, "traceback");
  if (rank.size() != 3) return std::nullopt;
  if (traceback.starts_with("To enable traceback")) traceback.clear();
  return RootCause{rank[0], rank[2].substr(0, rank[2].find(')')), exit_code.substr(0, exit_code.find(' ')), traceback};
}

/// From the log that `torchrun --log-dir` gave the rank: RUN/attempt_0/LOCAL_RANK/stderr.log.
std::string words_in_log(const std::string& attempt_folder, const std::string& local_rank) {
  constexpr std::size_t kSearchedBytes = 1 << 16;
  for (const char* const folder : {"/*/*/attempt_*/", "/*/attempt_*/"}) {
    const auto logs = glob_files(glob_escaped(run_dir_of(attempt_folder)) + folder + local_rank + "/stderr.log");
    if (logs.empty()) continue;
    const Lines lines = split(read_tail(logs.back(), kSearchedBytes), '\n');
    if (const auto found = find_exceptions(lines); !found.empty()) return words_before(lines, found.back());
  }
  return "";
}

std::string words_below_torchrun(const Lines& lines, const std::vector<Exception>& exceptions, const RootCause& cause,
                                 const std::string& attempt_folder) {
  if (cause.traceback.starts_with(kTraceback)) return cause.traceback;
  if (!cause.traceback.empty()) return fmt::format("torchrun's rank {} failed: {}", cause.rank, cause.traceback);
  const auto is_own = [&](const Exception& exception) {
    return exception.prefix.find(fmt::format("[rank{}]", cause.rank)) != std::string_view::npos ||
           exception.prefix.find(fmt::format("[default{}]", cause.local_rank)) != std::string_view::npos;
  };
  const auto is_any = [](const Exception& exception) { return exception.prefix.empty(); };
  const auto below = exceptions.rbegin() + 1;  // the launcher's own is the last
  auto found = std::find_if(below, exceptions.rend(), is_own);
  if (found == exceptions.rend()) {
    if (const std::string words = words_in_log(attempt_folder, cause.local_rank); !words.empty()) return words;
    found = std::find_if(below, exceptions.rend(), is_any);
  }
  if (found != exceptions.rend()) return words_before(lines, *found);
  return fmt::format("torchrun's rank {} failed with exit code {}", cause.rank, cause.exit_code);
}

}  // namespace

std::optional<std::string> failure_below_launcher(const std::string& output, const std::string& attempt_folder) {
  const Lines lines = split(output, '\n');
  const std::vector<Exception> exceptions = find_exceptions(lines);
  if (exceptions.empty()) return std::nullopt;
  const std::size_t last = exceptions.back().line;
  if (lines[last].starts_with(kTorchrunError)) {
    const std::optional<RootCause> cause = root_cause(lines, last);
    return cause ? std::optional(words_below_torchrun(lines, exceptions, *cause, attempt_folder)) : std::nullopt;
  }
  if (exceptions.size() < 2 || !lines[last].starts_with("subprocess.CalledProcessError")) return std::nullopt;
  const Exception& own = exceptions[exceptions.size() - 2];
  const auto from = lines.begin() + static_cast<std::ptrdiff_t>(own.line),
             to = lines.begin() + static_cast<std::ptrdiff_t>(last);
  const bool by_accelerate = std::any_of(
      from, to, [](const std::string& line) { return line.find("accelerate/commands/launch.py") != std::string::npos; });
  return by_accelerate ? std::optional(words_before(lines, own)) : std::nullopt;
}

}  // namespace hpcbench

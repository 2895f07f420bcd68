#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "runfiles/launcher_failure.hpp"

namespace hpcbench {

namespace {

using MpiLines = std::vector<std::string>;

constexpr std::size_t kRule = 40;  // Open MPI draws 74 dashes, Hydra 83 equals signs

bool is_rule(std::string_view line, char of) {
  const std::string_view text = trim(line);
  return text.size() >= kRule && text.find_first_not_of(of) == std::string_view::npos;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The text behind `[host:pid] `, as Open MPI's library begins its lines; empty: it begins otherwise.
std::string_view behind_process(std::string_view line) {
  const std::size_t end = line.find("] ");
  if (!line.starts_with('[') || end == std::string_view::npos) return {};
  const std::size_t colon = line.substr(0, end).rfind(':');
  if (colon == std::string_view::npos || !is_number(line.substr(colon + 1, end - colon - 1))) return {};
  return line.substr(end + 2);
}

bool begins_with_any(std::string_view text, const std::vector<std::string_view>& begins) {
  return std::any_of(begins.begin(), begins.end(), [&](std::string_view begin) { return text.starts_with(begin); });
}

/// A line outside of boxes that only tells what the launcher does about the end.
bool is_launcher_line(std::string_view line) {
  static const std::vector<std::string_view> kOwn = {"YOUR APPLICATION TERMINATED WITH THE EXIT STRING",
                                                     "This typically refers to a problem with your application",
                                                     "Please see the FAQ page for debugging suggestions",
                                                     "Intel(R) MPI Library troubleshooting guide",
                                                     "[proxy:",
                                                     "[mpiexec@",
                                                     "mpiexec: ",
                                                     "mpirun: ",
                                                     "prterun: ",
                                                     "srun: ",
                                                     "slurmstepd: error: *** STEP ",
                                                     "Primary job  terminated normally",
                                                     "application called MPI_Abort("};
  static const std::vector<std::string_view> kOfLibrary = {"[",
                                                           "*** Process received signal",
                                                           "*** End of error message",
                                                           "*** MPI_ERRORS_ARE_FATAL",
                                                           "***    and ",
                                                           "*** on ",
                                                           "*** reported by ",
                                                           "Signal code:",
                                                           "Associated errno:",
                                                           "Failing at address:",
                                                           "Set MCA parameter",
                                                           "PMIX ERROR",
                                                           "PRTE ERROR"};
  if (begins_with_any(line, kOwn)) return true;
  if (line.starts_with("Abort(") && line.find("application called MPI_Abort(") != std::string_view::npos) return true;
  const std::string_view text = behind_process(line);
  return begins_with_any(text, kOfLibrary) || text.find("more process") != std::string_view::npos;
}

/// One line from a box; of several paragraphs the first, and of `Exit code:    3` the pairs behind it.
std::string in_one_line(const MpiLines& box) {
  std::string text;
  bool ended = false;
  for (const std::string& line : box) {
    const std::string_view words = trim(line);
    const bool is_pair = words.find(':') != std::string_view::npos;
    ended = ended || (words.empty() && !text.empty());
    if (words.empty() || (ended && !is_pair) || words.starts_with("NOTE:")) continue;
    text += text.empty() ? "" : ended ? "; " : " ";
    for (const char c : words) {
      if (c != ' ' || text.back() != ' ') text += c;
    }
  }
  return text;
}

/// `exited on signal 11`, `KILLED BY SIGNAL: 9`, `(signal 11)`: any but SIGABRT, before which a program states why.
bool names_signal(const std::string& text) {
  for (const std::string_view word : {"signal ", "SIGNAL: "}) {
    const std::size_t at = text.find(word);
    if (at == std::string::npos) continue;
    const std::string_view rest = std::string_view(text).substr(at + word.size());
    if (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest.front())) != 0) return !rest.starts_with("6");
  }
  return false;
}

/// The lines of Hydra's box without the equals signs; its last ones tell what to ignore.
MpiLines words_of_hydra(const MpiLines& lines, std::size_t begin, std::size_t end) {
  MpiLines words;
  for (std::size_t at = begin; at < end; ++at) {
    const std::string_view text = trim(std::string_view(lines[at]).substr(lines[at].starts_with('=') ? 1 : 0));
    if (text.starts_with("CLEANING UP") || text.starts_with("YOU CAN IGNORE") || text.empty()) continue;
    words.emplace_back(text);
  }
  return words;
}

/// Whether what stands between two rules is a launcher's: programs draw such boxes, too.
bool is_box(const MpiLines& lines, std::size_t begin, std::size_t end) {
  static const std::vector<std::string_view> kBegins = {"mpirun ",
                                                        "mpiexec ",
                                                        "prterun ",
                                                        "prun ",
                                                        "orterun ",
                                                        "Primary job ",
                                                        "MPI_ABORT was invoked",
                                                        "An MPI ",
                                                        "There are not enough slots",
                                                        "A request was made",
                                                        "ORTE ",
                                                        "PRTE "};
  while (begin < end && trim(lines[begin]).empty()) ++begin;
  return begin < end && begins_with_any(trim(lines[begin]), kBegins);
}

struct Box {
  std::size_t end = 0;  // its last line
  std::string text;
};

/// The launcher's box that begins at this line.
std::optional<Box> box_at(const MpiLines& lines, std::size_t at) {
  for (const char rule : {'-', '='}) {
    if (!is_rule(lines[at], rule)) continue;
    std::size_t end = at + 1;
    while (end < lines.size() && !is_rule(lines[end], rule)) ++end;
    if (end >= lines.size()) return std::nullopt;
    if (rule == '=' && lines[at + 1].find("BAD TERMINATION") != std::string::npos)
      return Box{end, join(words_of_hydra(lines, at + 1, end), "; ")};
    if (rule == '-' && is_box(lines, at + 1, end)) {
      return Box{end, in_one_line({lines.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                   lines.begin() + static_cast<std::ptrdiff_t>(end)})};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<MpiFailure> failure_below_mpi(const std::string& output) {
  const MpiLines lines = split(output, '\n');
  MpiFailure failure;
  MpiLines own;
  bool ends_with_launcher = false;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    std::string told;
    if (const std::optional<Box> box = box_at(lines, at)) {
      told = box->text;
      at = box->end;
    } else if (is_launcher_line(lines[at])) {
      told = trim(lines[at]);
    } else {
      if (trim(lines[at]).empty()) continue;
      own.push_back(lines[at]);
      ends_with_launcher = false;
      continue;
    }
    ends_with_launcher = true;
    const bool tells_least = told.starts_with("Primary job ") || told.starts_with('[');  // these follow any failure
    const bool names_end = names_signal(told);
    if (failure.launcher.empty() || names_end || (!tells_least && failure.launcher.starts_with("Primary job ")))
      failure.launcher = told;
    failure.by_signal = failure.by_signal || names_end;
  }
  if (!ends_with_launcher) return std::nullopt;
  failure.own = join(own, "\n");
  return failure;
}

}  // namespace hpcbench

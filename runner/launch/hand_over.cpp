#include "launch/hand_over.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace hpcbench {

namespace {

/// `unlimited` or a number.
std::optional<rlim_t> parse_limit(const std::string& word) {
  if (word == "unlimited") return RLIM_INFINITY;
  rlim_t value = 0;
  std::istringstream text(word);
  if (text >> value && text.eof()) return value;
  return std::nullopt;
}

/// `Max open files            1024                 1048576              files`: the name has the first 26 columns.
std::optional<rlimit> parse_limits_line(const std::string& line) {
  constexpr std::size_t kNameColumns = 26;
  if (line.size() <= kNameColumns) return std::nullopt;
  std::istringstream words(line.substr(kNameColumns));
  std::string soft, hard;
  words >> soft >> hard;
  const std::optional<rlim_t> soft_limit = parse_limit(soft);
  const std::optional<rlim_t> hard_limit = parse_limit(hard);
  if (!soft_limit || !hard_limit) return std::nullopt;
  return rlimit{*soft_limit, *hard_limit};
}

/// Each entry ends with a zero byte. bash's `_` names what wrote them.
std::vector<std::string> parse_environment(std::string_view text) {
  std::vector<std::string> entries;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    const std::string_view entry = text.substr(0, end);
    if (!entry.empty() && !entry.starts_with("_=")) entries.emplace_back(entry);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return entries;
}

}  // namespace

Descriptor open_hand_over() {
  Descriptor file(::memfd_create("hpcbench-setup", MFD_CLOEXEC));
  if (file.get() < 0) throw UnavailableError(fmt::format("error: cannot keep what setup sets: {}", std::strerror(errno)));
  return file;
}

std::optional<HandOver> parse_hand_over(const std::string& text) {
  const std::size_t workdir_end = text.find('\0');
  if (workdir_end == std::string::npos) return std::nullopt;
  HandOver state;
  state.workdir = text.substr(0, workdir_end);
  if (state.workdir.ends_with('\n')) state.workdir.pop_back();
  std::size_t at = workdir_end + 1;
  const auto next_line = [&]() -> std::optional<std::string> {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) return std::nullopt;
    std::string line = text.substr(at, end - at);
    at = end + 1;
    return line;
  };
  const std::optional<std::string> mask = next_line();
  if (!mask || mask->empty() || mask->find_first_not_of("01234567") != std::string::npos || !next_line()) return std::nullopt;
  state.file_mask = static_cast<mode_t>(std::stoul(*mask, nullptr, 8));
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    const std::optional<rlimit> limit = parse_limits_line(next_line().value_or(""));
    if (!limit) return std::nullopt;
    state.limits.push_back(*limit);
  }
  state.environment = parse_environment(std::string_view(text).substr(at));
  return state;
}

std::optional<HandOver> read_hand_over(const Descriptor& file) {
  std::string text;
  std::array<char, 1 << 16> part{};
  while (true) {
    const ssize_t count = ::pread(file.get(), part.data(), part.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return parse_hand_over(text);
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace hpcbench

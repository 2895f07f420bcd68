#include "files/json_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

std::string read_json_text(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw DataError(concat("error: cannot read ", path.string(), ": it is a folder"));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file.is_open() && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad() || text.bad())
    throw DataError(concat("error: cannot read ", path.string(), ": ", errno == 0 ? "unknown cause" : std::strerror(errno)));
  std::string bytes = std::move(text).str();
  if (const std::size_t nul = bytes.find('\0'); nul != std::string::npos) fail_as_broken_json(path, bytes, nul + 1);
  return bytes;
}

void fail_as_broken_json(const std::filesystem::path& path, std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(text.size(), position == 0 ? 0 : position - 1));
  const std::size_t line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  throw DataError(concat("error: ", path.string(), ":", line, ":", before.size() - line_start + 1, " is not JSON here"));
}

}  // namespace hpcbench::train

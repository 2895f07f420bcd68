#include "ingest/line_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/byte_order_mark.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "ingest/unpacked_file.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kLongestWhole = 64 * kPieceBytes;
constexpr const char* kNoSuchFile = "no such file";
constexpr std::size_t kSmallFileBytes = std::size_t{64} << 20;

/// A negative descriptor if there is no regular file; `problem` says why. O_NONBLOCK: nobody may write to a pipe of that name.
Descriptor open_regular(const std::string& path, std::string& problem) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (fd.get() < 0) {
    problem = errno == ENOENT ? kNoSuchFile : std::strerror(errno);
  } else if (::fstat(fd.get(), &status) != 0) {
    problem = std::strerror(errno);
    return Descriptor();
  } else if (!S_ISREG(status.st_mode)) {
    problem = "not a regular file";
    return Descriptor();
  }
  return fd;
}

/// Bytes read, 0 at the end, negative on errors.
ssize_t read_some(int fd, char* into, std::size_t room) {
  while (true) {
    const ssize_t count = ::read(fd, into, room);
    if (count >= 0 || errno != EINTR) return count;
  }
}

/// Of a line that is too long to be held: behind the last state of a progress bar, so that no number is cut.
std::size_t place_to_cut(std::string_view line) {
  const std::size_t carriage_return = line.rfind('\r');
  return carriage_return == std::string_view::npos ? line.size() : carriage_return + 1;
}

}  // namespace

std::optional<std::string> read_lines(const std::string& path, const std::function<bool(std::string_view)>& take) {
  std::string problem;
  const Descriptor fd = open_regular(path, problem);
  if (fd.get() < 0) return problem;
  const std::unique_ptr<UnpackedFile> file = unpacked_file(path, fd.get());
  std::string buffer(kPieceBytes, '\0');
  std::size_t held = 0;  // bytes of a line whose end was not read yet
  while (true) {
    const ssize_t count = file->read(buffer.data() + held, buffer.size() - held);
    if (count < 0) return file->problem();
    if (count == 0) break;
    const std::string_view filled(buffer.data(), held + static_cast<std::size_t>(count));
    const std::size_t newline = filled.substr(held).rfind('\n');  // what is held has none
    std::size_t whole = newline == std::string_view::npos ? 0 : held + newline + 1;
    if (whole == 0 && filled.size() == kLongestWhole) whole = place_to_cut(filled);
    if (whole > 0 && !take(filled.substr(0, whole))) return std::nullopt;
    held = filled.size() - whole;
    std::memmove(buffer.data(), buffer.data() + whole, held);
    if (held == buffer.size()) buffer.resize(2 * buffer.size());
  }
  if (held > 0) take(std::string_view(buffer.data(), held));
  return std::nullopt;
}

std::optional<std::string> read_text(const std::string& path, std::size_t largest, std::string& text) {
  text.clear();
  bool is_first = true;
  return read_lines(path, [&](std::string_view piece) {
    if (std::exchange(is_first, false) && piece.starts_with(kByteOrderMark)) piece.remove_prefix(kByteOrderMark.size());
    text += piece;
    return text.size() <= largest;
  });
}

std::optional<std::string> read_small_file(const std::string& path, std::string& problem) {
  problem.clear();
  const Descriptor fd = open_regular(path, problem);
  if (fd.get() < 0) {
    if (problem == kNoSuchFile) problem.clear();
    return std::nullopt;
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) == 0 && static_cast<std::size_t>(status.st_size) > kSmallFileBytes) {
    problem = fmt::format("{} bytes are too many", status.st_size);
    return std::nullopt;
  }
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t used = 0;
  while (used < content.size()) {
    const ssize_t count = read_some(fd.get(), content.data() + used, content.size() - used);
    if (count < 0) {
      problem = std::strerror(errno);
      return std::nullopt;
    }
    if (count == 0) break;
    used += static_cast<std::size_t>(count);
  }
  content.resize(used);
  return content;
}

std::string_view last_line(std::string_view text) {
  const auto says = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
  };
  const auto last_of = [](std::string_view part) { return trim(part.substr(part.find_last_of("\r\n") + 1)); };
  for (std::string_view rest = trim(text); !rest.empty(); rest = trim(rest.substr(0, rest.size() - last_of(rest).size()))) {
    const std::string_view line = last_of(rest);
    if (std::any_of(line.begin(), line.end(), says)) return line;
  }
  return last_of(trim(text));
}

}  // namespace hpcbench

#include "runfiles/try_mark.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/error.hpp"

namespace hpcbench {

namespace {

constexpr const char* kClosed = "closed";

std::string mark_path(const std::string& folder) { return folder + "/mark"; }

/// Empty where there is none.
std::string read_mark(const std::string& folder) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlink(mark_path(folder).c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

/// What the mark says once it has been created, by us or by somebody else; empty if the folder is gone.
std::string create_mark(const std::string& folder, const std::string& text) {
  if (std::string mark = read_mark(folder); !mark.empty()) return mark;
  if (::symlink(text.c_str(), mark_path(folder).c_str()) == 0) return text;
  if (errno == ENOENT) return {};
  if (errno != EEXIST)
    throw UnavailableError(fmt::format("error: cannot create {}: {}", mark_path(folder), std::strerror(errno)));
  return read_mark(folder);
}

}  // namespace

bool begin_try(const std::string& folder, const std::string& step) {
  const std::string mark = create_mark(folder, step);
  return !mark.empty() && mark != kClosed;
}

bool close_try(const std::string& folder) {
  const std::string mark = create_mark(folder, kClosed);
  return mark.empty() || mark == kClosed;
}

std::string step_of_try(const std::string& folder) {
  const std::string mark = read_mark(folder);
  return mark == kClosed ? std::string() : mark;
}

}  // namespace hpcbench

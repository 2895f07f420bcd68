#include "base/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "base/error.hpp"
#include "base/log.hpp"

namespace hpcbench {

namespace {

bool quiet = false;
std::string speaker;  // `NAME: `

bool is_watched(int fd) {
  const char* kind = std::getenv("TERM");
  return ::isatty(fd) == 1 && kind != nullptr && std::string(kind) != "dumb";
}

}  // namespace

bool stderr_is_terminal() { return is_watched(STDERR_FILENO); }

bool stdout_is_terminal() { return is_watched(STDOUT_FILENO); }

TerminalSize stdout_size() {
  winsize size{};
  if (!stdout_is_terminal() || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_col, size.ws_row};
}

bool confirm(const std::string& question, bool yes) {
  if (yes) return true;
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1) {
    throw InputError(fmt::format("error: {} There is no terminal to ask on: add --yes.", question));
  }
  fmt::print(stderr, "{} [y/N] ", question);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

void print_data(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    throw UnavailableError("error: cannot write to standard output");
}

void say(const std::string& line) {
  if (is_logged(LogLevel::info)) log_said("says: " + line);
  if (!quiet || line.starts_with("warning") || line.starts_with("error"))
    fmt::print(stderr, "{}{}\n", line.starts_with(speaker) ? "" : speaker, line);
}

void speak_for(const std::string& name) { speaker = name.empty() ? "" : name + ": "; }

void be_quiet() { quiet = true; }

bool is_quiet() { return quiet; }

}  // namespace hpcbench

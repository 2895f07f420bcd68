#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <vector>

/// What a program with OpenMP's threads does on a machine that others use. Included by the file of main() alone.
namespace hpcbench::train {

namespace {

#if defined(__linux__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// All of this runs before the C library's own initialisers: no getenv(), no locale.

/// The number that begins at `text`, its digits only.
long leading_number(const char* text) {
  long number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = 10 * number + (*text - '0');
  return number;
}

/// More wants to run than there are processors: over the last minute half as much again, and now.
bool is_machine_busy() {
  char text[128] = {};  // as "3.14 2.72 1.41 5/678 9012": averages over minutes; that run now / that exist
  const int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  if (count <= 0) return false;
  const char* running = std::strchr(text, '/');
  if (!running) return false;
  while (running > text && running[-1] != ' ') --running;
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return 2 * leading_number(text) >= 3 * processors && leading_number(running) > processors + 1;
}

bool has_variable(char** environment, const char* name) {
  const std::size_t size = std::strlen(name);
  for (; *environment; ++environment) {
    if (std::strncmp(*environment, name, size) == 0 && (*environment)[size] == '=') return true;
  }
  return false;
}

/// GNU's OpenMP lets a thread that waits for the others spin for milliseconds. On a busy machine it so takes the processor from
/// the very thread that it waits for, and a step takes ten times as long as with one thread. How long it spins is read from
/// the environment alone, before main(): where the user said nothing, a program that starts on a busy machine starts itself
/// again, as the same process, with a short time. (Always short, and quiet machines would lose some percent.)
void spin_less_if_busy(int, char** arguments, char** environment) {
  for (const char* name : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}) {
    if (has_variable(environment, name)) return;
  }
  if (!is_machine_busy()) return;
  char spins[] = "GOMP_SPINCOUNT=1000";
  std::vector<char*> variables;
  for (; *environment; ++environment) variables.push_back(*environment);
  variables.push_back(spins);
  variables.push_back(nullptr);
  char program[4096] = {};  // by its own name, which `ps` shows
  const ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
  // Where this is refused the program goes on as it is.
  if (size > 0 && size < static_cast<ssize_t>(sizeof program) - 1) execve(program, arguments, variables.data());
}

__attribute__((section(".preinit_array"), used)) void (*const kBeforeOpenMp)(int, char**, char**) = spin_less_if_busy;
#endif

}  // namespace

}  // namespace hpcbench::train

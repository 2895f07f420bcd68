#include "base/signals.hpp"

#include <csignal>

#include "base/error.hpp"

namespace hpcbench::train {

namespace {

volatile std::sig_atomic_t g_terminated = 0;

void set_terminated(int) { g_terminated = 1; }

}  // namespace

void install_signal_flags() {
  struct sigaction action = {};
  action.sa_handler = set_terminated;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
  // LibTorch's store writes to its socket with plain send(): if a rank was killed, this must be an error to report, not the end
  // of this process.
  std::signal(SIGPIPE, SIG_IGN);
}

bool is_terminated() { return g_terminated != 0; }

void mark_terminated() { set_terminated(SIGTERM); }

void throw_if_terminated(const std::string& where) {
  if (is_terminated()) throw Terminated("stopped by SIGTERM: " + where);
}

}  // namespace hpcbench::train

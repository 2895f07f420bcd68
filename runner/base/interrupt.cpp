#include "base/interrupt.hpp"

#include <csignal>
#include <initializer_list>

namespace hpcbench {

namespace {

volatile std::sig_atomic_t caught_signal = 0;

void note_signal(int signal) { caught_signal = signal; }

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_signal;  // no SA_RESTART: waiting ends at once
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

int interrupted() { return caught_signal; }

}  // namespace hpcbench

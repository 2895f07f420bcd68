#pragma once

namespace hpcbench {

/// From now on SIGINT, SIGTERM and SIGHUP set a flag instead of ending the program, which first leaves its jobs in order.
void catch_interrupts();

/// Returns the signal received, 0 for none.
int interrupted();

}  // namespace hpcbench

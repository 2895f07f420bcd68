#pragma once

namespace hpcbench {

/// From now on SIGINT, SIGTERM and SIGHUP are noted instead of ending the program: jobs are left in good order first.
void catch_interrupts();

/// The signal that came, 0 for none.
int interrupted();

}  // namespace hpcbench

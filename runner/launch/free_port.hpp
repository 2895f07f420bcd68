#pragma once

namespace hpcbench {

/// A TCP port that nobody on this host listens on now. UnavailableError if there is none.
int find_free_port();

}  // namespace hpcbench

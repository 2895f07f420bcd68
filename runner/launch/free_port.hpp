#pragma once

namespace hpcbench {

/// A TCP port without a listener on this host now. UnavailableError if there is none.
int find_free_port();

}  // namespace hpcbench

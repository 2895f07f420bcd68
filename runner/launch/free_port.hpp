#pragma once

#include "ports/free_port.hpp"

namespace hpcbench {

/// UnavailableError if there is none.
FreePort find_free_port();

}  // namespace hpcbench

#pragma once

#include <sys/types.h>

namespace hpcbench {

/// Whether this process looks after a container of podman, rather than runs in it: `conmon`, which waits for the program, the
/// `podman container cleanup` that conmon starts when that has ended, and the tools of both. Where they are killed, podman
/// keeps the container for ever.
bool tends_a_container(pid_t pid);

}  // namespace hpcbench

#pragma once

#include <sys/types.h>

namespace hpcbench {

/// The role of a process that serves a container without being part of it.
enum class ContainerPart {
  none,
  keeper,  // of podman: if it is killed, podman keeps the container for ever
  relay,   // of apptainer: passes signals on to the program that it started, which may receive them from hpcbench as well
  image,   // of apptainer: serves the files of the image; if it is killed, the program can read no file and cannot end in order
};

/// Classifies a process by its name and command line: podman's `conmon`, which waits for the program; `podman container
/// cleanup`, which conmon starts afterwards; the tools of both; apptainer's runtime parent and process 1 of its `--pid`; the
/// programs that mount its images where the kernel may not.
ContainerPart container_part(pid_t pid);

}  // namespace hpcbench

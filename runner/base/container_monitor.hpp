#pragma once

#include <sys/types.h>

namespace hpcbench {

/// What a process does for a container, rather than in it.
enum class ContainerPart {
  none,
  keeper,  // of podman: where it is killed, podman keeps the container for ever
  relay,   // of apptainer: passes signals on to the program that it started, which may hear them from us as well
  image,   // of apptainer: shows the image as files; without it the program can read none, and so end no better than killed
};

/// By the name and the command line: podman's `conmon`, which waits for the program, the `podman container cleanup` that conmon
/// starts when that has ended, and the tools of both; apptainer's runtime parent, and the process 1 of its `--pid`; the
/// programs that mount its images where the kernel may not.
ContainerPart container_part(pid_t pid);

}  // namespace hpcbench

#pragma once

namespace hpcbench::train {

/// From now on the process ends by SIGKILL before its call number `call` of pwrite, fsync, rename or remove, the calls that
/// complete a checkpoint (also one of several files) on the disk.
void kill_at_call(int call);

}  // namespace hpcbench::train

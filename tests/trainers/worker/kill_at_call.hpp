#pragma once

namespace hpcbench::train {

/// From now on the process ends by SIGKILL before its call number `call` of pwrite, fsync, rename or remove: those that make
/// a checkpoint, of several files too, what it is on the disk.
void kill_at_call(int call);

}  // namespace hpcbench::train

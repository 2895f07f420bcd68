#pragma once

/// What the libraries of the null GPU share: one table of calls, and faults on demand.
///
/// The environment says what the null GPU is:
///   NULL_GPU_COUNT=2          GPUs (1)
///   NULL_GPU_MEMORY_MB=512    memory of each (8192)
///   NULL_GPU_NAME=...         its model (Null GPU)
///   NULL_GPU_CAPABILITY=7.5   compute capability (9.0)
///   NULL_GPU_DRIVER=12080     what the driver can do (the runtime's own version); below it, it is too old
///   NULL_GPU_REPORT=FILE      where the counts stand, whenever and however the process ends: lines `count<TAB>name`, then
///   zeros NULL_GPU_FAULT=NAME:N:WHAT  the N-th call of NAME (from 1) returns the number WHAT, or hangs (`hang`), or ends the
///   process
///                             as SIGKILL does (`kill`); N+: it and all later ones; several by commas
extern "C" {
/// Counts a call. Not 0: the call fails with this number.
long null_gpu_call(const char* name);
/// Counts without faults: `kernel`, `copy to device` and so on.
void null_gpu_count(const char* what);
}

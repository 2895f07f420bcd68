#pragma once

#include <functional>
#include <string>
#include <vector>

#include "devices/device.hpp"

/// The parts of the CUDA device; compiled where LibTorch has CUDA. No header of CUDA here.
namespace hpcbench::train {

/// Returns a stream of the pool of the GPU `place`.
std::unique_ptr<SideStream> make_cuda_stream(at::Device place);
/// Begins a lap of the current stream of the GPU `place`.
std::unique_ptr<Lap> begin_cuda_lap(at::Device place);

/// Captures work on the current stream of the GPU `place`, which must not be the default one: use_own_stream().
std::unique_ptr<CapturedWork> capture_cuda_graph(at::Device place, const std::function<std::vector<at::Tensor>()>& work);
/// From now on this thread computes on a stream of the GPU `place` that can be captured, unlike the default one.
void use_own_stream(at::Device place);

/// Adds NCCL for the tensors of the GPU `place` to the group, and creates its communicator by a one-element allreduce. NCCL's
/// watchdog ends the process if a collective takes longer than `timeout`. Returns this rank's connections from NCCL's log;
/// empty if the user has requested a log.
NcclTransport add_nccl(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const c10::intrusive_ptr<c10d::Store>& store,
                       at::Device place, std::chrono::milliseconds timeout);
std::string nccl_version();

}  // namespace hpcbench::train

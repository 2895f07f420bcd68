#pragma once

#include <functional>
#include <string>
#include <vector>

#include "devices/device.hpp"

/// The parts of the CUDA device; compiled where LibTorch has CUDA. No header of CUDA here.
namespace hpcbench::train {

/// A stream of the pool of the GPU `place`.
std::unique_ptr<SideStream> make_cuda_stream(at::Device place);
/// A lap of the stream that is the current one of the GPU `place`.
std::unique_ptr<Lap> begin_cuda_lap(at::Device place);

/// Captures on the current stream of the GPU `place`, which has to be one of its own: use_own_stream().
std::unique_ptr<CapturedWork> capture_cuda_graph(at::Device place, const std::function<std::vector<at::Tensor>()>& work);
/// From now on this thread computes on a stream of the GPU `place` that can be captured, as the default one cannot.
void use_own_stream(at::Device place);

/// Adds NCCL for the tensors of the GPU `place` to the group, and makes its communicator by a one-element allreduce. A
/// collective that takes longer than `timeout` is ended, with the process, by NCCL's watchdog. Returns what NCCL's own log says
/// of this rank's connections; nothing where the user has asked NCCL for a log.
NcclTransport add_nccl(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const c10::intrusive_ptr<c10d::Store>& store,
                       at::Device place, std::chrono::milliseconds timeout);
std::string nccl_version();

}  // namespace hpcbench::train

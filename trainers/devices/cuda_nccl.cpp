#include <ATen/ops/ones.h>
#include <c10/cuda/CUDAFunctions.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "devices/cuda_parts.hpp"

namespace hpcbench::train {

void add_nccl(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const c10::intrusive_ptr<c10d::Store>& store,
              at::Device place, std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  group->setBoundDeviceId(place);  // setBackend() hands it on
  // A prefix of its own keeps NCCL's keys apart from Gloo's and ours.
  const auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::PrefixStore>("nccl", store),
                                                                group->getRank(), group->getSize(), options);
  group->setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::NCCL, nccl);
  std::vector<at::Tensor> ones = {at::ones({1}).to(place)};
  group->allreduce(ones)->wait();
  c10::cuda::device_synchronize();
  const auto sum = ones[0].item<float>();
  TORCH_CHECK(sum == static_cast<float>(group->getSize()), "NCCL adds up ", group->getSize(), " ones to ", sum);
}

std::string nccl_version() { return c10d::getNcclVersion(); }

}  // namespace hpcbench::train

// Replaces cuda_device.cpp and cuda_program.cpp in a build whose LibTorch has no CUDA.
#include "devices/device.hpp"
#include "devices/gpu_program.hpp"

namespace hpcbench::train {

Machine find_machine(const Environment& environment) {
  Machine machine;
  machine.visible_list = environment("CUDA_VISIBLE_DEVICES").value_or("");
  return machine;
}

std::unique_ptr<Device> make_cuda_device(const DevicePlan&, const Settings&, const Machine&) {
  TORCH_CHECK(false, "plan_device() lets no CUDA device through in a build without CUDA");
}

std::shared_ptr<const GpuProgram> compile_gpu_program(const std::string&, const std::vector<std::string>&, at::Device) {
  TORCH_CHECK(false, "plan_device() lets no CUDA device through in a build without CUDA");
}

}  // namespace hpcbench::train

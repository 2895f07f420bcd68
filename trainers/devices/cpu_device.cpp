#include "devices/cpu_device.hpp"

#include <ATen/native/Resize.h>

namespace hpcbench::train {

void CpuDevice::resize(const at::Tensor& flat, std::int64_t bytes) const {
  at::native::resize_bytes_cpu(flat.storage().unsafeGetStorageImpl(), static_cast<std::size_t>(bytes));
}

const Device& cpu_device() {
  static const CpuDevice kDevice;
  return kDevice;
}

std::unique_ptr<Device> make_device(const DevicePlan& plan, const Settings& settings, const Machine& machine) {
  if (plan.device == DeviceChoice::cuda) return make_cuda_device(plan, settings, machine);
  return std::make_unique<CpuDevice>();
}

}  // namespace hpcbench::train

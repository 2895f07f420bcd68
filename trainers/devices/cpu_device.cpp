#include "devices/cpu_device.hpp"

#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>

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

at::Tensor bring(const at::Tensor& host, at::Device place) {
  if (place.is_cpu()) return host;
  const at::Tensor pinned = at::empty(host.sizes(), host.options().pinned_memory(true)).copy_(host);
  // The allocator of pinned memory keeps it until the copy has ended.
  return pinned.to(place, /*non_blocking=*/true);
}

}  // namespace hpcbench::train

#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>

#include "devices/device.hpp"

namespace hpcbench::train {

namespace {

class CpuDevice final : public Device {
 public:
  at::Device place() const override { return at::kCPU; }
  std::vector<std::pair<std::string, std::string>> facts() const override { return {}; }
  std::vector<std::pair<std::string, std::string>> versions() const override { return {}; }
  std::string uuid() const override { return ""; }
  void synchronise() const override {}
  std::optional<std::int64_t> max_bytes() const override { return std::nullopt; }
  void resize(const at::Tensor& flat, std::int64_t bytes) const override {
    at::native::resize_bytes_cpu(flat.storage().unsafeGetStorageImpl(), static_cast<std::size_t>(bytes));
  }
  std::unique_ptr<SideStream> make_stream() const override { return nullptr; }
  void connect(const c10::intrusive_ptr<c10d::ProcessGroup>&, const c10::intrusive_ptr<c10d::Store>&,
               std::chrono::milliseconds) const override {}
};

}  // namespace

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

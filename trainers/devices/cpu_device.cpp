#include "devices/cpu_device.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/native/Resize.h>

namespace hpcbench::train {

void CpuDevice::resize(const at::Tensor& flat, std::int64_t bytes) const {
  at::native::resize_bytes_cpu(flat.storage().unsafeGetStorageImpl(), static_cast<std::size_t>(bytes));
}

namespace {

class RepeatedWork final : public CapturedWork {
 public:
  explicit RepeatedWork(const std::function<std::vector<at::Tensor>()>& work) : work_(work) {}
  void replay() override {
    const std::vector<at::Tensor> made = work_();
    if (results_.empty()) results_ = made;
    const at::NoGradGuard no_grad;
    for (std::size_t index = 0; index < made.size(); ++index) {
      if (made[index].defined()) results_[index].copy_(made[index]);
    }
  }

 private:
  std::function<std::vector<at::Tensor>()> work_;
};

}  // namespace

std::unique_ptr<CapturedWork> CpuDevice::capture(const std::function<std::vector<at::Tensor>()>& work) const {
  return std::make_unique<RepeatedWork>(work);
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

#include "devices/cpu_device.hpp"

#include <ATen/Version.h>
#include <ATen/core/grad_mode.h>
#include <ATen/native/Resize.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hpcbench::train {

namespace {

/// Returns the processor's best instructions for products in bf16; nullopt for an unknown kind of processor.
std::optional<std::string> bf16_instructions() {
#if defined(__x86_64__)
  constexpr unsigned kExtendedFeatures = 7;
  constexpr unsigned kAmxBf16 = 1U << 22U;    // leaf 7, subleaf 0, edx
  constexpr unsigned kAvx512Bf16 = 1U << 5U;  // leaf 7, subleaf 1, eax
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(kExtendedFeatures, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kAmxBf16) != 0) return "amx";
  if (__get_cpuid_count(kExtendedFeatures, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & kAvx512Bf16) != 0) return "avx512_bf16";
  return "none";
#else
  return std::nullopt;
#endif
}

}  // namespace

std::vector<std::pair<std::string, std::string>> CpuDevice::facts() const {
  std::vector<std::pair<std::string, std::string>> facts = {{"cpu_capability", at::get_cpu_capability()}};
  if (const auto bf16 = bf16_instructions()) facts.emplace_back("cpu_bf16", *bf16);
  return facts;
}

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

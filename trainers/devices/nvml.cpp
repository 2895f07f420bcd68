#include "devices/nvml.hpp"

#include <dlfcn.h>

#include <optional>

#include "base/text.hpp"

namespace hpcbench::train {

namespace {

constexpr int kNvmlSuccess = 0;
constexpr int kSmClock = 1;
constexpr unsigned kMostNvlinks = 18;
using NvmlDevice = void*;

/// The library, open and initialised.
class Nvml {
 public:
  explicit Nvml(const std::string& library) : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_) is_ready_ = call("nvmlInit_v2");
  }
  ~Nvml() {
    if (is_ready_) call("nvmlShutdown");
    if (library_) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool is_ready() const { return is_ready_; }

  /// Returns whether the library has the function and the call succeeds.
  template <class... Arguments>
  bool call(const char* function, Arguments... arguments) const {
    void* const symbol = dlsym(library_, function);
    return symbol && reinterpret_cast<int (*)(Arguments...)>(symbol)(arguments...) == kNvmlSuccess;
  }

  /// Returns the value of a function of the form f(device, arguments..., unsigned* value).
  template <class... Arguments>
  std::optional<unsigned> value(const char* function, NvmlDevice device, Arguments... arguments) const {
    unsigned number = 0;
    return call(function, device, arguments..., &number) ? std::optional<unsigned>(number) : std::nullopt;
  }

 private:
  void* library_;
  bool is_ready_ = false;
};

/// Returns nullopt if the GPU has none.
std::optional<unsigned> count_nvlinks(const Nvml& nvml, NvmlDevice device) {
  std::optional<unsigned> up;
  for (unsigned link = 0; link < kMostNvlinks; ++link) {
    if (const auto state = nvml.value("nvmlDeviceGetNvLinkState", device, link)) up = up.value_or(0) + (*state == 1 ? 1 : 0);
  }
  return up;
}

/// Returns null if it does not exist.
NvmlDevice find_gpu(const Nvml& nvml, const std::string& pci_bus) {
  NvmlDevice device = nullptr;
  const bool is_there = nvml.is_ready() && nvml.call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus.c_str(), &device);
  return is_there ? device : nullptr;
}

}  // namespace

std::optional<double> read_energy_j(const std::string& library, const std::string& pci_bus) {
  const Nvml nvml(library);
  NvmlDevice const device = find_gpu(nvml, pci_bus);
  unsigned long long millijoules = 0;
  if (device == nullptr || !nvml.call("nvmlDeviceGetTotalEnergyConsumption", device, &millijoules)) return std::nullopt;
  return static_cast<double>(millijoules) / 1000;
}

std::vector<std::pair<std::string, std::string>> read_nvml(const std::string& library, const std::string& pci_bus) {
  std::vector<std::pair<std::string, std::string>> facts;
  const Nvml nvml(library);
  NvmlDevice const device = find_gpu(nvml, pci_bus);
  if (device == nullptr) return facts;
  const auto add = [&](const char* name, const std::optional<unsigned>& value) {
    if (value) facts.emplace_back(name, std::to_string(*value));
  };
  if (const auto mode = nvml.value("nvmlDeviceGetPersistenceMode", device))
    facts.emplace_back("gpu_persistence", *mode == 1 ? "true" : "false");
  unsigned ecc = 0, ecc_after_reboot = 0;
  if (nvml.call("nvmlDeviceGetEccMode", device, &ecc, &ecc_after_reboot))
    facts.emplace_back("gpu_ecc", ecc == 1 ? "true" : "false");
  if (const auto milliwatts = nvml.value("nvmlDeviceGetEnforcedPowerLimit", device))
    facts.emplace_back("gpu_power_limit_w", std::to_string(*milliwatts / 1000));
  add("gpu_max_sm_clock_mhz", nvml.value("nvmlDeviceGetMaxClockInfo", device, kSmClock));
  const auto generation = nvml.value("nvmlDeviceGetMaxPcieLinkGeneration", device);
  const auto width = nvml.value("nvmlDeviceGetCurrPcieLinkWidth", device);
  if (generation && width) facts.emplace_back("gpu_pcie", concat("gen", *generation, " x", *width));
  add("gpu_nvlinks", count_nvlinks(nvml, device));
  return facts;
}

}  // namespace hpcbench::train

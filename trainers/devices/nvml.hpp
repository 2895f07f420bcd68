#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hpcbench::train {

/// The driver's own library, with which nvidia-smi reads and sets a GPU.
inline constexpr const char* kNvmlName = "libnvidia-ml.so.1";

/// Returns names and values for run_start that affect the speed of the GPU at this place of the bus: gpu_persistence, gpu_ecc
/// (`true`, `false`), gpu_power_limit_w, gpu_max_sm_clock_mhz (the highest allowed), gpu_pcie (`gen5 x16`: the link's best
/// generation, and its width), gpu_nvlinks (the active ones). Leaves out values that the library does not report, and
/// everything without the library. Functions and numbers: NVML's API reference.
std::vector<std::pair<std::string, std::string>> read_nvml(const std::string& library, const std::string& pci_bus);

/// Returns the energy used by the GPU at this place of the bus since the driver was loaded, by its own counter (Volta and
/// newer); nullopt if the library does not report it.
std::optional<double> read_energy_j(const std::string& library, const std::string& pci_bus);

}  // namespace hpcbench::train

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hpcbench::train {

/// The driver's own library, by which nvidia-smi reads and sets a GPU.
inline constexpr const char* kNvmlName = "libnvidia-ml.so.1";

/// Names and values for run_start of what bears on the speed of the GPU in this place of the bus: gpu_persistence, gpu_ecc
/// (`true`, `false`), gpu_power_limit_w, gpu_max_sm_clock_mhz (the highest that it may take), gpu_pcie (`gen5 x16`: the link's
/// best generation, and its width), gpu_nvlinks (those that are up). What the library does not say is absent, everything where
/// there is no library. Functions and numbers: NVML's API reference.
std::vector<std::pair<std::string, std::string>> read_nvml(const std::string& library, const std::string& pci_bus);

/// What the GPU in this place of the bus has used since the driver was loaded, by its own counter (Volta and newer); absent
/// where the library does not say.
std::optional<double> read_energy_j(const std::string& library, const std::string& pci_bus);

}  // namespace hpcbench::train

#include "launch/own_binding.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <set>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

/// Empty where it cannot be read.
std::string kernel_text(const std::string& path) {
  try {
    return std::string(trim(read_file_if_there(path).value_or("")));
  } catch (const std::exception&) {
    return "";
  }
}

std::string allowed_cpus() {
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  for (const std::string& line : split(kernel_text("/proc/self/status"), '\n')) {
    if (line.starts_with(kKey)) return std::string(trim(std::string_view(line).substr(kKey.size())));
  }
  return "";
}

/// Threads of one core are one core: its first one stands for it.
std::vector<int> cores_of(const std::vector<int>& cpus) {
  std::set<int> cores;
  for (const int cpu : cpus) {
    const std::vector<int> siblings =
        parse_number_list(kernel_text(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu)));
    cores.insert(siblings.empty() ? cpu : siblings.front());
  }
  return {cores.begin(), cores.end()};
}

/// Numbers of entries `PREFIXn` of a folder.
std::vector<int> numbered_entries(const std::string& folder, std::string_view prefix) {
  std::set<int> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::vector<int> number = parse_number_list(std::string_view(name).substr(prefix.size()));
    if (number.size() == 1) numbers.insert(number.front());
  }
  return {numbers.begin(), numbers.end()};
}

std::vector<int> numa_nodes_of(const std::vector<int>& cpus) {
  std::vector<int> nodes;
  for (const int node : numbered_entries("/sys/devices/system/node", "node")) {
    const std::vector<int> own = parse_number_list(kernel_text(fmt::format("/sys/devices/system/node/node{}/cpulist", node)));
    if (std::find_first_of(own.begin(), own.end(), cpus.begin(), cpus.end()) != own.end()) nodes.push_back(node);
  }
  return nodes;
}

std::string visible_gpus() {
  for (const char* const name : {"SLURM_STEP_GPUS", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return number_list(numbered_entries("/dev", "nvidia"));
}

}  // namespace

RankBinding own_binding(bool uses_gpus) {
  RankBinding binding;
  binding.pid = static_cast<int>(::getpid());
  binding.cpus = allowed_cpus();
  const std::vector<int> cpus = parse_number_list(binding.cpus);
  binding.cores = number_list(cores_of(cpus));
  binding.numa = number_list(numa_nodes_of(cpus));
  if (uses_gpus) binding.gpus = visible_gpus();
  binding.from_s = monotonic_s();
  return binding;
}

}  // namespace hpcbench

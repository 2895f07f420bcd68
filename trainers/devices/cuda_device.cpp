#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/cuda/Resize.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/text.hpp"
#include "devices/cuda_parts.hpp"
#include "devices/nvml.hpp"

namespace hpcbench::train {

namespace {

/// Returns the uuid as nvidia-smi writes it; the name of a MIG instance (`NVIDIA H100 80GB HBM3 MIG 1g.10gb`) shows that it is
/// one.
std::string uuid_text(const cudaUUID_t& uuid, const std::string& model) {
  constexpr const char* kHex = "0123456789abcdef";
  std::string text = model.find(" MIG ") == std::string::npos ? "GPU-" : "MIG-";
  for (std::size_t index = 0; index < sizeof uuid.bytes; ++index) {
    if (index == 4 || index == 6 || index == 8 || index == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[index]);
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

Gpu read_gpu(int number) {
  constexpr int kFirstWithBf16 = 8;  // compute capability
  cudaDeviceProp properties{};
  C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, number));
  Gpu gpu{properties.name, uuid_text(properties.uuid, properties.name), properties.major >= kFirstWithBf16,
          static_cast<std::int64_t>(properties.totalGlobalMem)};
  gpu.capability = concat(properties.major, ".", properties.minor);
  gpu.multiprocessors = properties.multiProcessorCount;
  char bus[32] = {};
  if (cudaDeviceGetPCIBusId(bus, sizeof bus, number) == cudaSuccess) gpu.pci_bus = bus;
  return gpu;
}

/// Returns `12.4` from 12040, `9.10.2` from 91002.
std::string version_text(long number, long major_unit, long minor_unit) {
  const std::string text = concat(number / major_unit, ".", number % major_unit / minor_unit);
  return minor_unit == 10 ? text : concat(text, ".", number % minor_unit);
}

const char* yes_or_no(bool value) { return value ? "true" : "false"; }

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the NUMA node beside the GPU; empty if the kernel does not report it.
std::string numa_node(const Gpu& gpu) {
  std::string folder = gpu.pci_bus;
  for (char& letter : folder) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const std::string text = file_text(concat("/sys/bus/pci/devices/", folder, "/numa_node"));
  return text.empty() || text[0] == '-' ? "" : text.substr(0, text.find('\n'));
}

class CudaDevice final : public Device {
 public:
  CudaDevice(int first, int count, const Machine& machine)
      : first_(first),
        count_(count),
        gpus_(machine.gpus.begin() + first, machine.gpus.begin() + first + count),
        driver_(machine.driver),
        driver_cuda_(machine.cuda_driver_version) {}

  at::Device place() const override { return {at::kCUDA, static_cast<at::DeviceIndex>(first_)}; }

  std::vector<std::pair<std::string, std::string>> facts() const override {
    const Gpu& gpu = gpus_.front();
    std::vector<std::pair<std::string, std::string>> all = {{"gpu_model", gpu.model},
                                                            {"gpu_uuid", uuid()},
                                                            {"gpu_memory_bytes", std::to_string(gpu.memory_bytes)},
                                                            {"gpu_capability", gpu.capability},
                                                            {"gpu_multiprocessors", std::to_string(gpu.multiprocessors)},
                                                            {"gpu_pci_bus", gpu.pci_bus},
                                                            {"gpu_numa_node", numa_node(gpu)},
                                                            {"driver", driver_},
                                                            {"driver_cuda", driver_cuda_},
                                                            {"bf16", yes_or_no(gpu.bf16)},
                                                            {"tf32_matmul", yes_or_no(at::globalContext().allowTF32CuBLAS())},
                                                            {"tf32_cudnn", yes_or_no(at::globalContext().allowTF32CuDNN())}};
    for (auto& fact : read_nvml(kNvmlName, gpu.pci_bus)) all.push_back(std::move(fact));
    std::erase_if(all, [](const auto& fact) { return fact.second.empty(); });  // unknown facts are left out
    return all;
  }

  std::vector<std::pair<std::string, std::string>> versions() const override {
    const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
    return {{"cuda", version_text(hooks.versionCUDART(), 1000, 10)},
            {"cudnn", hooks.hasCuDNN() ? version_text(hooks.versionCuDNN(), 10000, 100) : "none"},
            {"nccl", nccl_version()}};
  }

  std::string uuid() const override {
    std::vector<std::string> all;
    for (const Gpu& gpu : gpus_) all.push_back(gpu.uuid);
    return join(all, ",");
  }

  void synchronise() const override {
    for (int gpu = first_; gpu < first_ + count_; ++gpu) {
      const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(gpu));
      c10::cuda::device_synchronize();
    }
  }

  std::optional<std::int64_t> max_bytes() const override {
    std::int64_t sum = 0;
    for (int gpu = first_; gpu < first_ + count_; ++gpu) {
      const auto statistics = c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(gpu));
      sum += statistics.allocated_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak;
    }
    return sum;
  }

  std::optional<double> energy_j() const override {
    double sum = 0;
    for (const Gpu& gpu : gpus_) {
      const std::optional<double> own = gpu.uuid.starts_with("MIG-") ? std::nullopt : read_energy_j(kNvmlName, gpu.pci_bus);
      if (!own) return std::nullopt;
      sum += *own;
    }
    return sum;
  }

  void resize(const at::Tensor& flat, std::int64_t bytes) const override {
    const c10::cuda::CUDAGuard guard(flat.device());
    at::native::resize_bytes_cuda(flat.storage().unsafeGetStorageImpl(), static_cast<std::size_t>(bytes));
  }

  std::unique_ptr<SideStream> make_stream() const override { return make_cuda_stream(place()); }
  std::unique_ptr<Lap> begin_lap() const override { return begin_cuda_lap(place()); }
  std::unique_ptr<CapturedWork> capture(const std::function<std::vector<at::Tensor>()>& work) const override {
    return capture_cuda_graph(place(), work);
  }

  void connect(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const c10::intrusive_ptr<c10d::Store>& store,
               std::chrono::milliseconds timeout) const override {
    NcclTransport found = add_nccl(group, store, place(), timeout);
    transport_.local.merge(found.local);
    transport_.network.merge(found.network);
  }

  NcclTransport transport() const override { return transport_; }

 private:
  int first_;
  int count_;
  std::vector<Gpu> gpus_;  // this process's
  std::string driver_;
  std::string driver_cuda_;
  mutable NcclTransport transport_;
};

}  // namespace

Machine find_machine(const Environment& environment) {
  Machine machine;
  machine.cuda_build = true;
  machine.visible_list = environment("CUDA_VISIBLE_DEVICES").value_or("");
  machine.driver = driver_version(file_text("/proc/driver/nvidia/version"));
  machine.cuda_build_version = version_text(CUDART_VERSION, 1000, 10);
  int newest = 0;  // 0 without a driver
  if (cudaDriverGetVersion(&newest) == cudaSuccess && newest > 0) machine.cuda_driver_version = version_text(newest, 1000, 10);
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    machine.why_no_gpu = cudaGetErrorString(status);
    static_cast<void>(cudaGetLastError());  // the error is handled and must not appear at the next call
    return machine;
  }
  for (int number = 0; number < count; ++number) machine.gpus.push_back(read_gpu(number));
  return machine;
}

std::unique_ptr<Device> make_cuda_device(const DevicePlan& plan, const Settings& settings, const Machine& machine) {
  // Must precede the first call of NCCL. A variable that the user has set is kept. A collective beyond the timeout ends the
  // process (3: without waiting for the communicator).
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3", 0);
  // Otherwise ranks would first write their state into the user's home, and the watchdog would wait for that five times 15 s:
  // our ranks report it themselves, and a hang must end within the timeout and 5 s.
  setenv("TORCH_NCCL_DUMP_ON_TIMEOUT", "0", 0);
  setenv("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "20", 0);
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(plan.first_gpu), /*force=*/true);
  at::Context& context = at::globalContext();
  context.lazyInitDevice(at::kCUDA);
  // cuBLAS gives the same bits each time with a workspace for each stream, which LibTorch provides. CUBLAS_WORKSPACE_CONFIG
  // would do so, too, but LibTorch (2.11 to 2.13) then compiles a regular expression at every product, which took more of a
  // step of BERT-base on an H100 than all the rest.
  const bool deterministic = settings.deterministic.value_or(true);
  context.setDeterministicCuDNN(deterministic);
  // Including attention's backward. Memory that will be written needs no filling.
  context.setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(false);
  context.setBenchmarkCuDNN(false);
  if (settings.tf32) {
    context.setAllowTF32CuBLAS(*settings.tf32);
    context.setAllowTF32CuDNN(*settings.tf32);
  }
  auto device = std::make_unique<CudaDevice>(plan.first_gpu, device_count(settings), machine);
  if (settings.cuda_graphs) use_own_stream(device->place());
  return device;
}

}  // namespace hpcbench::train

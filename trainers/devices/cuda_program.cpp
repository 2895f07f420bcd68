#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <map>
#include <mutex>
#include <stdexcept>

#include "base/text.hpp"
#include "devices/gpu_program.hpp"

namespace hpcbench::train {

namespace {

constexpr const char* kCannotCompile = "the kernels for GPUs cannot be compiled: ";
constexpr const char* kOrTorch = "; `kernels: torch` does without";

/// The functions of NVRTC and of the driver in use, whose results are 0 for success. LibTorch's own library for them is loaded
/// when the program needs it, so that a machine without NVRTC can train, too; the build does not need their headers.
class CompilerLibrary {
 public:
  CompilerLibrary() {
    static constexpr const char* kName = "libcaffe2_nvrtc.so";
    void* const library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(concat(kCannotCompile, dlerror(), kOrTorch));
    const auto find = [library](auto& function, const char* name) {
      void* const found = dlsym(library, name);
      if (found == nullptr) throw std::runtime_error(concat(kCannotCompile, kName, " has no ", name, kOrTorch));
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    find(create, "nvrtcCreateProgram");
    find(compile, "nvrtcCompileProgram");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
    find(code_size, "nvrtcGetCUBINSize");
    find(code, "nvrtcGetCUBIN");
    find(destroy, "nvrtcDestroyProgram");
    find(compiler_error, "nvrtcGetErrorString");
    find(load, "cuModuleLoadData");
    find(function, "cuModuleGetFunction");
    find(launch, "cuLaunchKernel");
    find(driver_error, "cuGetErrorString");
  }

  using Program = struct OpaqueProgram*;
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int options, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*code_size)(Program, std::size_t*) = nullptr;
  int (*code)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  const char* (*compiler_error)(int) = nullptr;
  using Module = struct OpaqueModule*;
  using Function = struct OpaqueFunction*;
  int (*load)(Module*, const void* code) = nullptr;
  int (*function)(Function*, Module, const char* name) = nullptr;
  int (*launch)(Function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared_bytes, cudaStream_t, void** arguments, void** extra) = nullptr;
  int (*driver_error)(int, const char**) = nullptr;
};

void require_compiled(const CompilerLibrary& library, int result, const std::string& log = "") {
  if (result == 0) return;
  throw std::runtime_error(concat(kCannotCompile, library.compiler_error(result), kOrTorch, log.empty() ? "" : "\n", log));
}

void require_done(const CompilerLibrary& library, int result, const char* what) {
  if (result == 0) return;
  const char* text = nullptr;
  library.driver_error(result, &text);
  throw std::runtime_error(concat(what, ": CUDA error: ", text == nullptr ? "unknown" : text));
}

class CudaProgram final : public GpuProgram {
 public:
  CudaProgram(std::string source, std::vector<std::string> definitions, at::Device place)
      : source_(std::move(source)), definitions_(std::move(definitions)) {
    compiled(place.has_index() ? place : at::Device(at::kCUDA, c10::cuda::current_device()));
  }

  void launch(at::Device place, const char* kernel, const GpuGrid& grid, void* arguments) const override {
    c10::cuda::OptionalCUDAGuard guard;
    if (c10::cuda::current_device() != place.index()) guard.set_device(place);
    void* all[] = {arguments};
    const auto size = [](std::int64_t number) { return static_cast<unsigned>(number); };
    require_done(library_,
                 library_.launch(function_of(place, kernel), size(grid.blocks), size(grid.stripes), 1, size(grid.threads), 1, 1,
                                 0, c10::cuda::getCurrentCUDAStream(place.index()).stream(), all, nullptr),
                 kernel);
  }

  std::int64_t multiprocessors(at::Device place) const override { return compiled(place).multiprocessors; }

 private:
  struct Compiled {
    CompilerLibrary::Module module = nullptr;  // until the process ends, like the GPU's context
    std::int64_t multiprocessors = 1;
    std::map<std::string, CompilerLibrary::Function> functions;
  };

  Compiled& compiled(at::Device place) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_gpu_.find(place.index());
    return found != by_gpu_.end() ? found->second : by_gpu_.emplace(place.index(), compile(place)).first->second;
  }

  CompilerLibrary::Function function_of(at::Device place, const char* kernel) const {
    Compiled& on_gpu = compiled(place);
    const std::lock_guard lock(mutex_);
    CompilerLibrary::Function& function = on_gpu.functions[kernel];
    if (function == nullptr) require_done(library_, library_.function(&function, on_gpu.module, kernel), kernel);
    return function;
  }

  Compiled compile(at::Device place) const {
    const c10::cuda::CUDAGuard guard(place);
    cudaDeviceProp properties{};
    C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, place.index()));
    C10_CUDA_CHECK(cudaFree(nullptr));  // creates the GPU's context, into which the code is loaded
    const std::string architecture = concat("sm_", properties.major, properties.minor);
    std::string& code = code_[architecture];
    if (code.empty()) code = code_for(architecture);
    Compiled made;
    made.multiprocessors = properties.multiProcessorCount;
    require_done(library_, library_.load(&made.module, code.data()), "the kernels for GPUs cannot be loaded");
    return made;
  }

  std::string code_for(const std::string& architecture) const {
    std::vector<std::string> options = {concat("--gpu-architecture=", architecture), "--std=c++17",
                                        "--device-as-default-execution-space"};
    for (const std::string& definition : definitions_) options.push_back("-D" + definition);
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    CompilerLibrary::Program program = nullptr;
    require_compiled(library_, library_.create(&program, source_.c_str(), "hpcbench.cu", 0, nullptr, nullptr));
    const int result = library_.compile(program, static_cast<int>(words.size()), words.data());
    std::size_t size = 0;
    if (result != 0) {
      library_.log_size(program, &size);
      std::string log(size, ' ');
      library_.log(program, log.data());
      require_compiled(library_, result, log);
    }
    require_compiled(library_, library_.code_size(program, &size));
    std::string code(size, '\0');
    require_compiled(library_, library_.code(program, code.data()));
    library_.destroy(&program);
    return code;
  }

  CompilerLibrary library_;
  std::string source_;
  std::vector<std::string> definitions_;
  mutable std::mutex mutex_;                         // dp computes on several GPUs at once
  mutable std::map<std::string, std::string> code_;  // by architecture
  mutable std::map<c10::DeviceIndex, Compiled> by_gpu_;
};

}  // namespace

std::shared_ptr<const GpuProgram> compile_gpu_program(const std::string& source, const std::vector<std::string>& definitions,
                                                      at::Device place) {
  // dp makes a model for each GPU.
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const GpuProgram>> made;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const GpuProgram>& known = made[concat(join(definitions, " "), "\n", source)];
  std::shared_ptr<const GpuProgram> program = known.lock();
  if (!program) known = program = std::make_shared<CudaProgram>(source, definitions, place);
  return program;
}

}  // namespace hpcbench::train

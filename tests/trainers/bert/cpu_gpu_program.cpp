#include "cpu_gpu_program.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>

namespace hpcbench::train {

namespace {

struct CudaIndex {
  unsigned x = 0, y = 0;
};

/// One block's threads.
class FiberBlock {
 public:
  static constexpr std::size_t kWarp = 32;

  FiberBlock(std::size_t threads, bool is_reversed) : fibers_(threads), is_reversed_(is_reversed), warps_(threads / kWarp) {}

  void run(const std::function<void()>& kernel) {
    kernel_ = &kernel;
    current_block = this;
    static std::vector<std::unique_ptr<char[]>> stacks;  // for all blocks, one after the other
    while (stacks.size() < fibers_.size()) stacks.push_back(std::make_unique_for_overwrite<char[]>(kStackBytes));
    for (std::size_t number = 0; number < fibers_.size(); ++number) {
      Fiber& fiber = fibers_[number];
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = stacks[number].get();
      fiber.context.uc_stack.ss_size = kStackBytes;
      makecontext(&fiber.context, &FiberBlock::begin, 0);
    }
    for (std::size_t ended = 0; ended < fibers_.size();) {
      ended = 0;
      for (std::size_t turn = 0; turn < fibers_.size(); ++turn) {
        running_ = is_reversed_ ? fibers_.size() - 1 - turn : turn;
        if (!fibers_[running_].has_ended) resume();
        ended += fibers_[running_].has_ended ? 1 : 0;
      }
    }
  }

  std::size_t thread() const { return running_; }
  void wait_for_block() { wait(block_, fibers_.size()); }

  /// The value of the lane whose number differs by `distance`.
  float exchange(float value, int distance) {
    const std::size_t lane = running_ % kWarp;
    Warp& warp = warps_[running_ / kWarp];
    warp.values[lane] = value;
    wait(warp.gate, kWarp);
    const float other = warp.values[lane ^ static_cast<std::size_t>(distance)];
    wait(warp.gate, kWarp);
    return other;
  }

  static FiberBlock* current_block;

 private:
  static constexpr std::size_t kStackBytes = 64 << 10;
  struct Fiber {
    ucontext_t context{};  // where it begins
    jmp_buf place{};       // where it goes on: setcontext would ask the kernel each time
    bool has_begun = false, has_ended = false;
  };
  struct Gate {
    std::size_t arrived = 0, opened = 0;
  };
  struct Warp {
    float values[kWarp] = {};
    Gate gate;
  };

  static void begin() {
    FiberBlock& block = *current_block;
    (*block.kernel_)();
    block.fibers_[block.running_].has_ended = true;
    _longjmp(block.scheduler_, 1);
  }

  /// Runs the fiber `running_` until it waits or ends.
  [[gnu::noinline]] void resume() {
    if (_setjmp(scheduler_) != 0) return;
    Fiber& fiber = fibers_[running_];
    if (fiber.has_begun) _longjmp(fiber.place, 1);
    fiber.has_begun = true;
    setcontext(&fiber.context);
  }

  [[gnu::noinline]] void leave() {
    if (_setjmp(fibers_[running_].place) == 0) _longjmp(scheduler_, 1);
  }

  void wait(Gate& gate, std::size_t all) {
    const std::size_t own = gate.opened;
    if (++gate.arrived == all) {
      gate.arrived = 0;
      ++gate.opened;
    }
    while (gate.opened == own) leave();
  }

  const std::function<void()>* kernel_ = nullptr;
  std::vector<Fiber> fibers_;
  jmp_buf scheduler_{};
  std::size_t running_ = 0;
  bool is_reversed_;
  Gate block_;
  std::vector<Warp> warps_;
};

FiberBlock* FiberBlock::current_block = nullptr;

CudaIndex g_block, g_grid;

CudaIndex this_thread() { return {static_cast<unsigned>(FiberBlock::current_block->thread()), 0}; }
void __syncthreads() { FiberBlock::current_block->wait_for_block(); }
float __shfl_xor_sync(unsigned, float value, int distance) { return FiberBlock::current_block->exchange(value, distance); }
float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
float __expf(float x) { return std::exp(x); }
float __fdividef(float x, float y) { return x / y; }
unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }

#define threadIdx this_thread()
#define blockIdx g_block
#define gridDim g_grid
#define __device__
#define __shared__ static
#define BERT_UNROLL
#define BERT_KERNEL(warps) [[maybe_unused]] void

// The file once for each width and type.
namespace of_72_fp32 {
#define HPCBENCH_WIDTH 72
#include "kernels/gpu/bert_arguments.inc"
#include "kernels/gpu/bert_kernels.inc"
#undef HPCBENCH_WIDTH
}  // namespace of_72_fp32

namespace of_264_fp32 {
#define HPCBENCH_WIDTH 264
#include "kernels/gpu/bert_arguments.inc"
#include "kernels/gpu/bert_kernels.inc"
#undef HPCBENCH_WIDTH
}  // namespace of_264_fp32

#define HPCBENCH_BF16
namespace of_72_bf16 {
#define HPCBENCH_WIDTH 72
#include "kernels/gpu/bert_arguments.inc"
#include "kernels/gpu/bert_kernels.inc"
#undef HPCBENCH_WIDTH
}  // namespace of_72_bf16

namespace of_1024_bf16 {
#define HPCBENCH_WIDTH 1024
#include "kernels/gpu/bert_arguments.inc"
#include "kernels/gpu/bert_kernels.inc"
#undef HPCBENCH_WIDTH
}  // namespace of_1024_bf16

#undef HPCBENCH_BF16
#undef threadIdx
#undef blockIdx
#undef gridDim
#undef __device__
#undef __shared__
#undef BERT_UNROLL
#undef BERT_KERNEL

using Kernel = std::function<void(void*)>;

#define KERNELS_OF(SPACE)                                                                                 \
  {                                                                                                       \
    {"bert_norm", [](void* a) { SPACE::bert_norm(*static_cast<SPACE::BertNormArguments*>(a)); }},         \
        {"bert_norm_backward",                                                                            \
         [](void* a) { SPACE::bert_norm_backward(*static_cast<SPACE::BertNormBackwardArguments*>(a)); }}, \
        {"bert_gelu_backward",                                                                            \
         [](void* a) { SPACE::bert_gelu_backward(*static_cast<SPACE::BertGeluBackwardArguments*>(a)); }}, \
        {"bert_join", [](void* a) { SPACE::bert_join(*static_cast<SPACE::BertJoinArguments*>(a)); }}, {   \
      "bert_sum", [](void* a) { SPACE::bert_sum(*static_cast<SPACE::BertSumArguments*>(a)); }             \
    }                                                                                                     \
  }

const std::map<std::string, Kernel>& kernels_of(std::int64_t hidden, bool bf16) {
  static const std::map<std::pair<std::int64_t, bool>, std::map<std::string, Kernel>> kAll = {
      {{72, false}, KERNELS_OF(of_72_fp32)},
      {{264, false}, KERNELS_OF(of_264_fp32)},
      {{72, true}, KERNELS_OF(of_72_bf16)},
      {{1024, true}, KERNELS_OF(of_1024_bf16)}};
  return kAll.at({hidden, bf16});
}

}  // namespace

CpuGpuProgram::CpuGpuProgram(std::int64_t hidden, bool bf16) : hidden_(hidden), bf16_(bf16) {
  static_cast<void>(kernels_of(hidden, bf16));
}

void CpuGpuProgram::launch(at::Device /*place*/, const char* kernel, const GpuGrid& grid, void* arguments) const {
  const Kernel& body = kernels_of(hidden_, bf16_).at(kernel);
  launched_.emplace_back(kernel);
  g_grid = {static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.stripes)};
  for (g_block.y = 0; g_block.y < g_grid.y; ++g_block.y) {
    for (g_block.x = 0; g_block.x < g_grid.x; ++g_block.x)
      FiberBlock(static_cast<std::size_t>(grid.threads), launched_.size() % 2 == 0).run([&] { body(arguments); });
  }
}

}  // namespace hpcbench::train

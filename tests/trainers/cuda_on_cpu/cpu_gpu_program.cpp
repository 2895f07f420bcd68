#include "trainers/cuda_on_cpu/cpu_gpu_program.hpp"

#include <c10/util/Exception.h>
#include <setjmp.h>
#include <ucontext.h>

#include <memory>
#include <vector>

namespace hpcbench::train {

namespace {

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
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (std::size_t turn = 0; turn < warps_.size(); ++turn)
        has_moved |= run_warp(is_reversed_ ? warps_.size() - 1 - turn : turn);
    }
    for (const Fiber& fiber : fibers_) TORCH_CHECK(fiber.has_ended, "threads of a kernel wait for each other for ever");
  }

  std::size_t thread() const { return running_; }
  void wait_for_block() { wait(block_, fibers_.size()); }

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
  struct Gate {
    std::size_t arrived = 0, opened = 0;
  };
  struct Fiber {
    ucontext_t context{};  // where it begins
    jmp_buf place{};       // where it continues: setcontext would call the kernel each time
    bool has_begun = false, has_ended = false;
    const Gate* gate = nullptr;  // where it waits until the barrier has been opened again
    std::size_t opened_before = 0;
    bool can_run() const { return !has_ended && (gate == nullptr || gate->opened != opened_before); }
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

  /// Runs a warp as far as possible while all others wait. Returns whether it made progress.
  bool run_warp(std::size_t warp) {
    bool has_moved = false;
    for (bool again = true; again;) {
      again = false;
      for (std::size_t turn = 0; turn < kWarp; ++turn) {
        running_ = warp * kWarp + (is_reversed_ ? kWarp - 1 - turn : turn);
        if (!fibers_[running_].can_run()) continue;
        resume();
        again = has_moved = true;
      }
    }
    return has_moved;
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
    if (++gate.arrived == all) {
      gate.arrived = 0;
      ++gate.opened;
      return;
    }
    Fiber& fiber = fibers_[running_];
    fiber.gate = &gate;
    fiber.opened_before = gate.opened;
    leave();
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

}  // namespace

namespace cuda_on_cpu {

CudaIndex block_index, grid_size;

CudaIndex thread_index() { return {static_cast<unsigned>(FiberBlock::current_block->thread()), 0}; }
void wait_for_block() { FiberBlock::current_block->wait_for_block(); }
float exchange(float value, int distance) { return FiberBlock::current_block->exchange(value, distance); }

}  // namespace cuda_on_cpu

void CpuGpuProgram::launch(at::Device /*place*/, const char* kernel, const GpuGrid& grid, void* arguments) const {
  using cuda_on_cpu::block_index, cuda_on_cpu::grid_size;
  const Kernel& body = kernels_.at(kernel);
  launched_.emplace_back(kernel);
  grid_size = {static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.stripes)};
  for (block_index.y = 0; block_index.y < grid_size.y; ++block_index.y) {
    for (block_index.x = 0; block_index.x < grid_size.x; ++block_index.x)
      FiberBlock(static_cast<std::size_t>(grid.threads), launched_.size() % 2 == 0).run([&] { body(arguments); });
  }
}

}  // namespace hpcbench::train

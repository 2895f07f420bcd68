#include "tasks/bert_squad/bert_buffers.hpp"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/set.h>

namespace hpcbench::train {

at::Tensor BertBuffers::take(at::IntArrayRef sizes, at::ScalarType type) {
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  const std::lock_guard lock(mutex_);
  at::Tensor tensor = at::empty({0}, type);
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return tensor.set_(find(count * c10::elementSize(type)), 0, sizes, strides);
}

at::Storage BertBuffers::find(std::size_t size_bytes) {
  // Rounded up, because the number of tokens differs from step to step.
  constexpr std::size_t kGranule = 64 * 1024;
  const std::size_t wanted = (size_bytes + kGranule - 1) / kGranule * kGranule;
  at::Storage* best = nullptr;
  at::Storage* too_small = nullptr;
  for (at::Storage& storage : storages_) {
    if (storage.use_count() != 1) continue;
    if (storage.nbytes() < wanted) {
      if (!too_small || storage.nbytes() > too_small->nbytes()) too_small = &storage;
    } else if (storage.nbytes() <= 2 * wanted && (!best || storage.nbytes() < best->nbytes())) {
      best = &storage;
    }
  }
  if (best) return *best;
  at::Storage fresh(at::Storage::use_byte_size_t(), static_cast<std::int64_t>(wanted), at::getCPUAllocator(),
                    /*resizable=*/true);
  // A larger one takes the place of the largest that did not do, so that what is kept does not grow without end.
  if (too_small && too_small->nbytes() >= wanted / 2) {
    *too_small = fresh;
  } else {
    storages_.push_back(fresh);
  }
  return fresh;
}

}  // namespace hpcbench::train

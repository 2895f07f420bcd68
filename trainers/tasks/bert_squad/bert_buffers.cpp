#include "tasks/bert_squad/bert_buffers.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/set.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace hpcbench::train {

namespace {

std::size_t bytes_of(at::IntArrayRef sizes, at::ScalarType type) {
  std::size_t count = c10::elementSize(type);
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  return count;
}

at::Tensor in_storage(const at::Storage& storage, at::IntArrayRef sizes, at::ScalarType type) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return at::empty({0}, type).set_(storage, 0, sizes, strides);
}

at::Storage storage_of(const std::shared_ptr<void>& memory, std::size_t size_bytes) {
  return at::from_blob(
             memory.get(), {static_cast<std::int64_t>(size_bytes)}, [memory](void*) {}, at::TensorOptions(at::kByte))
      .storage();
}

}  // namespace

BertBuffers::Table BertBuffers::fresh_table(std::size_t size_bytes, kernels::Pages pages) {
  return {storage_of(kernels::zero_pages(size_bytes, pages), size_bytes), INT64_MAX, pages == kernels::Pages::large};
}

at::Tensor BertBuffers::take(at::IntArrayRef sizes, at::ScalarType type) {
  const std::lock_guard lock(mutex_);
  return in_storage(find(bytes_of(sizes, type)), sizes, type);
}

at::Tensor BertBuffers::take_table(const TouchedRows& touched, at::IntArrayRef sizes, at::ScalarType type) {
  const std::lock_guard lock(mutex_);
  Table& table = find_table(bytes_of(sizes, type));
  const std::size_t row_bytes = table.storage.nbytes() / static_cast<std::size_t>(touched.rows());
  char* const begin = static_cast<char*>(table.storage.mutable_data());
  at::parallel_for(0, touched.rows(), 4096, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      if (touched.touched_after(row, table.passes))
        std::memset(begin + static_cast<std::size_t>(row) * row_bytes, 0, row_bytes);
    }
  });
  table.passes = touched.passes() - 1;
  return in_storage(table.storage, sizes, type);
}

BertBuffers::Table& BertBuffers::find_table(std::size_t size_bytes) {
  for (Table& table : tables_) {
    if (table.storage.use_count() != 1) continue;
    // The rows of the first pass are few pages; a training needs all, which cost more one by one than at once.
    if (!table.is_large) table = fresh_table(size_bytes, kernels::Pages::large);
    return table;
  }
  return tables_.emplace_back(fresh_table(size_bytes, kernels::Pages::small));
}

void BertBuffers::begin_pass(std::int64_t rows) {
  const std::lock_guard lock(mutex_);
  if (rows <= most_rows_) return;
  most_rows_ = rows;
  // Frees buffers that are too small before taking larger ones: the system reuses the pages.
  std::erase_if(storages_, [](const at::Storage& storage) { return storage.use_count() == 1; });
  arena_ = kernels::PageArena(touch_in_parallel);
}

at::Storage BertBuffers::find(std::size_t size_bytes) {
  // Rounded up to an eighth of a power of two, because the number of tokens differs from step to step.
  constexpr std::size_t kGranule = std::size_t{64} * 1024;
  const std::size_t granule = std::max(kGranule, std::bit_floor(size_bytes) / 8);
  const std::size_t wanted = (size_bytes + granule - 1) / granule * granule;
  at::Storage* best = nullptr;
  for (at::Storage& storage : storages_) {
    const bool fits = storage.nbytes() >= wanted && storage.nbytes() <= 2 * wanted;
    if (fits && storage.use_count() == 1 && (!best || storage.nbytes() < best->nbytes())) best = &storage;
  }
  return best ? *best : storages_.emplace_back(storage_of(arena_.take(wanted), wanted));
}

}  // namespace hpcbench::train

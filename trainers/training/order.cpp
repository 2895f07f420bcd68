#include "training/order.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randperm.h>

#include <algorithm>

namespace hpcbench::train {

namespace {

std::int64_t rounded_up(std::int64_t count, std::int64_t multiple) { return (count + multiple - 1) / multiple * multiple; }

std::int64_t repeated_length(const BatchShape& shape, std::int64_t samples) {
  if (shape.order == Order::strided) return rounded_up(samples, shape.world_size);
  return shape.world_size == 1 ? samples : rounded_up(samples, shape.batch * shape.world_size);
}

}  // namespace

at::Tensor epoch_order(std::int64_t samples, std::uint64_t seed, int epoch, bool shuffle) {
  const at::Generator generator = at::detail::createCPUGenerator(seed + static_cast<std::uint64_t>(epoch));
  return shuffle ? at::randperm(samples, generator, at::kLong) : at::arange(samples, at::kLong);
}

at::Tensor grouped_order(const std::vector<std::int32_t>& lengths, std::int64_t batch, std::uint64_t seed, int epoch) {
  at::Tensor order = epoch_order(std::ssize(lengths), seed, epoch, true);
  const auto samples = std::ssize(lengths);
  const std::int64_t group = std::max<std::int64_t>(1, std::min<std::int64_t>(samples / (batch * 4), 50)) * batch;
  auto* const first = order.data_ptr<std::int64_t>();
  const auto length_of = [&](std::int64_t sample) { return lengths[static_cast<std::size_t>(sample)]; };
  std::int64_t* longest = first;
  for (std::int64_t begin = 0; begin < samples; begin += group) {
    std::stable_sort(first + begin, first + std::min(samples, begin + group),
                     [&](std::int64_t a, std::int64_t b) { return length_of(a) > length_of(b); });
    if (length_of(first[begin]) > length_of(*longest)) longest = first + begin;
  }
  if (samples > 0) std::swap(*first, *longest);
  return order;
}

EpochPlan::EpochPlan(const BatchShape& shape, std::int64_t samples)
    : shape_(shape),
      length_(repeated_length(shape, samples)),
      blocks_((length_ + shape.batch * shape.world_size - 1) / (shape.batch * shape.world_size)) {}

EpochPlan::EpochPlan(const BatchShape& shape, const at::Tensor& order) : EpochPlan(shape, order.size(0)) {
  // Repeated from its start as often as needed.
  order_ = order.index_select(0, at::arange(length_, at::kLong).remainder(std::max<std::int64_t>(1, order.size(0))));
}

std::int64_t EpochPlan::block_size(std::int64_t block) const {
  const std::int64_t full = shape_.batch * shape_.world_size;
  return std::min(full, length_ - block * full);
}

std::int64_t EpochPlan::micro_batches(std::int64_t step) const {
  return std::min(shape_.accumulate, blocks_ - step * shape_.accumulate);
}

std::int64_t EpochPlan::least_part(std::int64_t devices) const {
  if (blocks_ == 0) return 0;
  const auto last_part = [&](std::int64_t batch) {
    const std::int64_t part = (batch + devices - 1) / devices;
    return batch - (batch - 1) / part * part;
  };
  return std::min(last_part(block_size(0) / shape_.world_size), last_part(block_size(blocks_ - 1) / shape_.world_size));
}

Share EpochPlan::share(std::int64_t step, std::int64_t micro_batch, int rank) const {
  const std::int64_t full = shape_.batch * shape_.world_size;
  const std::int64_t block = step * shape_.accumulate + micro_batch;
  const at::Tensor samples = order_.narrow(0, block * full, block_size(block));
  const std::int64_t before = micro_batch * full;
  const std::int64_t own = block_size(block) / shape_.world_size;
  if (shape_.order == Order::batches) return {samples.narrow(0, rank * own, own), before + rank * own, 1};
  return {samples.slice(0, rank, std::nullopt, shape_.world_size).contiguous(), before + rank, shape_.world_size};
}

at::Tensor EpochPlan::step_samples(std::int64_t step) const {
  const std::int64_t full = shape_.batch * shape_.world_size * shape_.accumulate;
  return order_.narrow(0, step * full, std::min(full, length_ - step * full));
}

}  // namespace hpcbench::train

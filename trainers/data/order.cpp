#include "data/order.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randperm.h>

namespace hpcbench::train {

at::Tensor epoch_share(std::int64_t samples, std::uint64_t seed, int epoch, bool shuffle, int rank, int world_size) {
  const at::Generator generator = at::detail::createCPUGenerator(seed + static_cast<std::uint64_t>(epoch));
  const at::Tensor order = shuffle ? at::randperm(samples, generator, at::kLong) : at::arange(samples, at::kLong);
  const std::int64_t share = (samples + world_size - 1) / world_size;
  at::Tensor padded = order;
  while (padded.size(0) < share * world_size) {
    padded = at::cat({padded, order.narrow(0, 0, std::min(samples, share * world_size - padded.size(0)))});
  }
  return padded.slice(0, rank, share * world_size, world_size).contiguous();
}

}  // namespace hpcbench::train

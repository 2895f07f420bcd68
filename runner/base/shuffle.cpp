#include "base/shuffle.hpp"

#include <numeric>
#include <utility>

namespace hpcbench {

namespace {

// The order is part of what is reported, so its generator is given here to the bit, and no library's is used (the
// standard leaves std::shuffle and the distributions to the implementation).
//
//   mix(z): z ^= z >> 30; z *= 0xBF58476D1CE4E5B9; z ^= z >> 27; z *= 0x94D049BB133111EB; z ^= z >> 31      (64 bits)
//   next(): state += 0x9E3779B97F4A7C15; return mix(state)
//           SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014
//   state at the start = mix(seed) ^ mix(stream)
//   below(n): draw x until x >= 2^64 mod n; return x mod n                                 (every remainder equally often)
//   shuffle: for i = n - 1 down to 1, swap elements i and below(i + 1)                     (Fisher and Yates)

std::uint64_t mix(std::uint64_t z) {
  z ^= z >> 30U;
  z *= 0xBF58476D1CE4E5B9U;
  z ^= z >> 27U;
  z *= 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

class OrderGenerator {
 public:
  OrderGenerator(std::uint64_t seed, std::uint64_t stream) : state_(mix(seed) ^ mix(stream)) {}

  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t rejected = (0 - n) % n;  // 2^64 mod n
    std::uint64_t x = next();
    while (x < rejected) x = next();
    return x % n;
  }

 private:
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    return mix(state_);
  }

  std::uint64_t state_;
};

}  // namespace

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  OrderGenerator generator(seed, stream);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[generator.below(i)]);
  return order;
}

}  // namespace hpcbench

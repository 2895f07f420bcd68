#pragma once

#include <cstdint>

#include "kernels/clones.hpp"

/// The random bits of BERT's dropout. An element is dropped if a hash of (seed, step, site, place, position, head, element) is
/// small: `place` is the sample's number in the step's global batch, `position` the token's in its sample. So dropout does not
/// depend on padding, packing, or the number of processes or threads, and backward draws the same bits as forward.
namespace hpcbench::train::kernels {

/// SplitMix64's finaliser (Steele, Lea and Flood 2014): every bit of the input moves every bit of the output.
HPCBENCH_INLINE std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// One place of the model with dropout, in one step. Rate 0: nothing is dropped or drawn.
struct DropoutSite {
  std::uint64_t key = 0;
  std::uint32_t threshold = 0;  // rate * 2^32: the rate is exact to 2^-32
  double kept = 1;              // 1 / (1 - rate): the factor of kept elements
  std::uint64_t number = 0;     // of the model's sites

  bool on() const { return threshold != 0; }
  double rate() const { return threshold / 4294967296.0; }
};

inline DropoutSite dropout_site(std::uint64_t seed, std::int64_t step, std::uint64_t site, double rate) {
  constexpr double kTwoTo32 = 4294967296.0;
  const std::uint64_t key = mix_bits(mix_bits(mix_bits(seed) ^ static_cast<std::uint64_t>(step)) ^ site);
  return {key, static_cast<std::uint32_t>(rate * kTwoTo32), 1.0 / (1.0 - rate), site};
}

/// Returns the key of a token: the same at any position in a batch.
inline std::uint64_t token_key(std::int64_t place, std::int64_t position) {
  return mix_bits(mix_bits(static_cast<std::uint64_t>(place)) ^ static_cast<std::uint64_t>(position));
}

/// Returns the key of a token's elements at a site.
HPCBENCH_INLINE std::uint64_t row_key(const DropoutSite& site, std::uint64_t token) { return mix_bits(site.key ^ token); }

/// Returns the key of a query's attention probabilities in one head.
HPCBENCH_INLINE std::uint64_t head_key(const DropoutSite& site, std::uint64_t token, std::int64_t head) {
  return mix_bits(row_key(site, token) ^ static_cast<std::uint64_t>(head + 1));
}

/// Returns 32 bits of element `e` of a row. Constants: "lowbias32" of hash-prospector (Wellons 2018); the key enters in two
/// halves, before and between the multiplications, so that rows are no shifted copies of each other.
HPCBENCH_INLINE std::uint32_t element_bits(std::uint64_t key, std::uint32_t e) {
  std::uint32_t x = e + static_cast<std::uint32_t>(key);
  x ^= x >> 16;
  x *= 0x21f0aaadU;
  x ^= static_cast<std::uint32_t>(key >> 32);
  x ^= x >> 15;
  x *= 0xd35a2d97U;
  return x ^ (x >> 15);
}

/// mask[e] = 0 or site.kept for the elements of a row: the factors that the fused kernels draw without storing them.
template <class T>
void dropout_mask_row(const DropoutSite& site, std::uint64_t key, std::int64_t width, T* mask) {
  for (std::int64_t e = 0; e < width; ++e) {
    mask[e] = element_bits(key, static_cast<std::uint32_t>(e)) < site.threshold ? T(0) : static_cast<T>(site.kept);
  }
}

}  // namespace hpcbench::train::kernels

#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace hpcbench {

/// The same numbers with every standard library: the generator is defined by the standard, distributions are not.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : generator_(seed) {}
  double uniform() { return (static_cast<double>(generator_() >> 11) + 0.5) * 0x1p-53; }
  double normal() {  // one draw after the other: in one expression the compiler would choose their order
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * M_PI * uniform());
  }
  double exponential() { return -std::log(uniform()); }

 private:
  std::mt19937_64 generator_;
};

}  // namespace hpcbench

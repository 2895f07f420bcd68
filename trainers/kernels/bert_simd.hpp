#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/bert_hash.hpp"
#include "kernels/bert_kernels.hpp"
#include "kernels/clones.hpp"

// Vectors of 64 bytes in the compiler's own notation, for the .cpp files of BERT's kernels only. The bodies of kernels are
// templates that are inlined into one function for each instruction set (HPCBENCH_KERNEL), of which the machine's best is
// called; where registers are shorter the compiler splits the vectors, so all instruction sets add up in the same order.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are never passed between functions that are not inlined
#endif

namespace hpcbench::train::kernels {

enum class Isa { generic, avx2, avx512 };

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HPCBENCH_HAS_ISAS 1
#define HPCBENCH_AVX512 \
  __attribute__((target("avx512f,avx512cd,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,prefer-vector-width=512")))
#define HPCBENCH_AVX2 __attribute__((target("avx2,fma,bmi,bmi2")))
inline Isa best_isa() {
  static const Isa best = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
      return Isa::avx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") ? Isa::avx2
                                                                                                             : Isa::generic;
  }();
  return best;
}
#else
#define HPCBENCH_HAS_ISAS 0
#define HPCBENCH_AVX512
#define HPCBENCH_AVX2
inline Isa best_isa() { return Isa::generic; }
#endif

/// Makes the kernel `name` of the body name_body<T, M, isa>(args, begin, end).
#define HPCBENCH_KERNEL(name, Args)                                                                  \
  template <class T, class M>                                                                        \
  HPCBENCH_AVX512 void name##_avx512(const Args<T, M>& args, std::int64_t begin, std::int64_t end) { \
    name##_body<T, M, Isa::avx512>(args, begin, end);                                                \
  }                                                                                                  \
  template <class T, class M>                                                                        \
  HPCBENCH_AVX2 void name##_avx2(const Args<T, M>& args, std::int64_t begin, std::int64_t end) {     \
    name##_body<T, M, Isa::avx2>(args, begin, end);                                                  \
  }                                                                                                  \
  template <class T, class M>                                                                        \
  void name##_generic(const Args<T, M>& args, std::int64_t begin, std::int64_t end) {                \
    name##_body<T, M, Isa::generic>(args, begin, end);                                               \
  }                                                                                                  \
  template <class T, class M>                                                                        \
  void name(const Args<T, M>& args, std::int64_t begin, std::int64_t end) {                          \
    const Isa isa = best_isa();                                                                      \
    if (isa == Isa::avx512) return name##_avx512<T, M>(args, begin, end);                            \
    if (isa == Isa::avx2) return name##_avx2<T, M>(args, begin, end);                                \
    name##_generic<T, M>(args, begin, end);                                                          \
  }                                                                                                  \
  template void name<double, double>(const Args<double, double>&, std::int64_t, std::int64_t);       \
  template void name<float, float>(const Args<float, float>&, std::int64_t, std::int64_t);           \
  template void name<float, Bf16>(const Args<float, Bf16>&, std::int64_t, std::int64_t);

template <class T>
struct Simd;

template <>
struct Simd<float> {
  static constexpr std::int64_t kLanes = 16;
  typedef float V __attribute__((vector_size(64)));
  typedef float Unaligned __attribute__((vector_size(64), aligned(4), may_alias));
  typedef std::int32_t I __attribute__((vector_size(64)));
  typedef std::uint32_t U __attribute__((vector_size(64)));
  typedef std::uint16_t H __attribute__((vector_size(32)));
  typedef std::uint16_t HUnaligned __attribute__((vector_size(32), aligned(2), may_alias));

  static HPCBENCH_INLINE V load(const float* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static HPCBENCH_INLINE V load(const Bf16* p) {
    const H half = *reinterpret_cast<const HUnaligned*>(p);
    return reinterpret_cast<V>(__builtin_convertvector(half, U) << 16);
  }
  static HPCBENCH_INLINE void store(float* p, const V& v) { *reinterpret_cast<Unaligned*>(p) = v; }
  /// Rounds to the nearest, ties to even; NaN stays NaN.
  static HPCBENCH_INLINE void store(Bf16* p, const V& v) {
    const U bits = reinterpret_cast<U>(v);
    U rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    rounded = v == v ? rounded : (bits >> 16 | 0x40U);
    *reinterpret_cast<HUnaligned*>(p) = __builtin_convertvector(rounded, H);
  }
  static HPCBENCH_INLINE I iota() { return I{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }
  static HPCBENCH_INLINE I all(std::int64_t n) { return static_cast<std::int32_t>(n) - I{}; }
};

template <>
struct Simd<double> {
  static constexpr std::int64_t kLanes = 8;
  typedef double V __attribute__((vector_size(64)));
  typedef double Unaligned __attribute__((vector_size(64), aligned(8), may_alias));
  typedef std::int64_t I __attribute__((vector_size(64)));

  static HPCBENCH_INLINE V load(const double* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static HPCBENCH_INLINE void store(double* p, const V& v) { *reinterpret_cast<Unaligned*>(p) = v; }
  static HPCBENCH_INLINE I iota() { return I{0, 1, 2, 3, 4, 5, 6, 7}; }
  static HPCBENCH_INLINE I all(std::int64_t n) { return n - I{}; }
};

template <class T>
using Vec = typename Simd<T>::V;

template <class T>
HPCBENCH_INLINE Vec<T> spread(T x) {
  return x - Vec<T>{};
}

/// The vector at p[j], of n elements in all; lanes beyond n are 0.
template <class T, class M>
HPCBENCH_INLINE Vec<T> load_at(const M* p, std::int64_t j, std::int64_t n) {
  if (n - j >= Simd<T>::kLanes) return Simd<T>::load(p + j);
  M rest[Simd<T>::kLanes] = {};
  for (std::int64_t e = j; e < n; ++e) rest[e - j] = p[e];
  return Simd<T>::load(rest);
}

template <class T, class M>
HPCBENCH_INLINE void store_at(M* p, std::int64_t j, std::int64_t n, const Vec<T>& v) {
  if (n - j >= Simd<T>::kLanes) return Simd<T>::store(p + j, v);
  M rest[Simd<T>::kLanes];
  Simd<T>::store(rest, v);
  for (std::int64_t e = j; e < n; ++e) p[e] = rest[e - j];
}

template <class T>
HPCBENCH_INLINE Vec<T> zero_beyond(Vec<T> v, std::int64_t j, std::int64_t n) {
  return Simd<T>::iota() < Simd<T>::all(n - j) ? v : Vec<T>{};
}

template <class T>
HPCBENCH_INLINE T sum_lanes(Vec<T> v) {
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  T lanes[kLanes];
  Simd<T>::store(lanes, v);
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::int64_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

template <class T>
HPCBENCH_INLINE T max_lanes(Vec<T> v) {
  T lanes[Simd<T>::kLanes];
  Simd<T>::store(lanes, v);
  T result = lanes[0];
  for (const T lane : lanes) result = lane > result ? lane : result;
  return result;
}

/// e^x to about 1 ulp; 0 below -87. Cephes' expf: x = n ln 2 + r, a polynomial in r.
HPCBENCH_INLINE Simd<float>::V exp_of(Simd<float>::V x) {
  using S = Simd<float>;
  const S::V low = spread(-87.0f), high = spread(88.5f);
  S::V y = x < low ? low : x;
  y = y > high ? high : y;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const S::V shifted = y * 1.44269504f + kRound;
  const S::V n = shifted - kRound;
  const S::V r = y - n * 0.693359375f - n * -2.12194440e-4f;
  S::V p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const S::U power = (reinterpret_cast<S::U>(shifted) << 23) + 0x3f800000U;  // the low bits of `shifted` are n
  p = p * reinterpret_cast<S::V>(power);
  p = x < low ? S::V{} : p;
  p = x > high ? spread(HUGE_VALF) : p;
  return x == x ? p : x;
}

HPCBENCH_INLINE Simd<double>::V exp_of(Simd<double>::V x) {
  for (std::int64_t lane = 0; lane < Simd<double>::kLanes; ++lane) x[lane] = std::exp(x[lane]);
  return x;
}

/// erf(x) to about 1 ulp: a polynomial below 475/512, 1 - e^polynomial above. Coefficients: N. Juffa, "erff" (2018).
HPCBENCH_INLINE Simd<float>::V erf_of(Simd<float>::V x) {
  using S = Simd<float>;
  const S::V t = x < 0.0f ? -x : x;
  const S::V s = x * x;
  S::V far = t * -1.72853470e-5f + 3.83197126e-4f;
  const S::V u = t * -3.88396438e-3f + 2.42546219e-2f;
  far = far * s + u;
  far = far * t + -1.06777877e-1f;
  far = far * t + -6.34846687e-1f;
  far = far * t + -1.28717512e-1f;
  far = far * t - t;
  far = 1.0f - exp_of(far);
  far = x < 0.0f ? -far : far;
  S::V near = s * -5.96761703e-4f + 4.99119423e-3f;
  near = near * s + -2.67681349e-2f;
  near = near * s + 1.12819925e-1f;
  near = near * s + -3.76125336e-1f;
  near = near * s + 1.28379166e-1f;
  near = near * x + x;
  return t > 0.927734375f ? far : near;
}

HPCBENCH_INLINE Simd<double>::V erf_of(Simd<double>::V x) {
  for (std::int64_t lane = 0; lane < Simd<double>::kLanes; ++lane) x[lane] = std::erf(x[lane]);
  return x;
}

/// Elements j, j + 1, ... of a row of dropout factors: 0 or site.kept.
HPCBENCH_INLINE Simd<float>::V dropout_at(const DropoutSite& site, std::uint64_t key, std::int64_t j, float) {
  using S = Simd<float>;
  S::U x = reinterpret_cast<S::U>(S::iota()) + (static_cast<std::uint32_t>(j) + static_cast<std::uint32_t>(key));
  x ^= x >> 16;
  x *= 0x21f0aaadU;
  x ^= static_cast<std::uint32_t>(key >> 32);
  x ^= x >> 15;
  x *= 0xd35a2d97U;
  x ^= x >> 15;
  return x < site.threshold ? S::V{} : spread(static_cast<float>(site.kept));
}

HPCBENCH_INLINE Simd<double>::V dropout_at(const DropoutSite& site, std::uint64_t key, std::int64_t j, double) {
  Simd<double>::V factors;
  for (std::int64_t lane = 0; lane < Simd<double>::kLanes; ++lane) {
    factors[lane] = element_bits(key, static_cast<std::uint32_t>(j + lane)) < site.threshold ? 0.0 : site.kept;
  }
  return factors;
}

}  // namespace hpcbench::train::kernels

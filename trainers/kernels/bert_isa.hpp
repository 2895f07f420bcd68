#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "kernels/bert_hash.hpp"
#include "kernels/bert_kernels.hpp"
#include "kernels/clones.hpp"

// How the kernels of BERT are compiled for several instruction sets. Their bodies (bert_*.inc) are included once for each, in a
// namespace of its name and between HPCBENCH_BEGIN_... and HPCBENCH_END_ISA: the compiler decides at the point of reading a
// function how vectors are held, and splits those of functions that are inlined elsewhere. HPCBENCH_KERNEL defines the function
// that calls the best one.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are never passed between functions that are not inlined
#endif

namespace hpcbench::train::kernels {

enum class Isa { generic, avx2, avx512 };

/// Returns the size of the vectors in kernels for `isa`.
constexpr std::int64_t vector_bytes(Isa isa) { return isa == Isa::avx2 ? 32 : 64; }

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HPCBENCH_BEGIN_AVX512 \
  _Pragma("GCC push_options") \
      _Pragma("GCC target(\"avx512f,avx512cd,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,prefer-vector-width=512\")")
#define HPCBENCH_BEGIN_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma,bmi,bmi2\")")
#define HPCBENCH_END_ISA _Pragma("GCC pop_options")
inline Isa machine_isa() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
    return Isa::avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") ? Isa::avx2
                                                                                                           : Isa::generic;
}

/// Returns the machine's best instruction set, or a lower one if ATEN_CPU_CAPABILITY, which LibTorch's own kernels obey, is
/// `avx2` or `default`.
inline Isa best_isa() {
  static const Isa best = [] {
    const char* asked = std::getenv("ATEN_CPU_CAPABILITY");
    if (asked && std::strcmp(asked, "default") == 0) return Isa::generic;
    return asked && std::strcmp(asked, "avx2") == 0 ? std::min(machine_isa(), Isa::avx2) : machine_isa();
  }();
  return best;
}
#else
#define HPCBENCH_BEGIN_AVX512
#define HPCBENCH_BEGIN_AVX2
#define HPCBENCH_END_ISA
inline Isa best_isa() { return Isa::generic; }
#endif

/// Defines, in an instruction set's namespace, the kernel `name` with the body name_body<T, M, isa>(args, begin, end).
#define HPCBENCH_ISA_KERNEL(name, Args)                                                        \
  template <class T, class M>                                                                  \
  void name(const Args<T, M>& args, std::int64_t begin, std::int64_t end) {                    \
    name##_body<T, M, kIsa>(args, begin, end);                                                 \
  }                                                                                            \
  template void name<double, double>(const Args<double, double>&, std::int64_t, std::int64_t); \
  template void name<float, float>(const Args<float, float>&, std::int64_t, std::int64_t);     \
  template void name<float, Bf16>(const Args<float, Bf16>&, std::int64_t, std::int64_t);

/// Defines the kernel to call.
#define HPCBENCH_KERNEL(name, Args)                                                            \
  template <class T, class M>                                                                  \
  void name(const Args<T, M>& args, std::int64_t begin, std::int64_t end) {                    \
    const Isa isa = best_isa();                                                                \
    if (isa == Isa::avx512) return avx512::name<T, M>(args, begin, end);                       \
    if (isa == Isa::avx2) return avx2::name<T, M>(args, begin, end);                           \
    generic::name<T, M>(args, begin, end);                                                     \
  }                                                                                            \
  template void name<double, double>(const Args<double, double>&, std::int64_t, std::int64_t); \
  template void name<float, float>(const Args<float, float>&, std::int64_t, std::int64_t);     \
  template void name<float, Bf16>(const Args<float, Bf16>&, std::int64_t, std::int64_t);

}  // namespace hpcbench::train::kernels

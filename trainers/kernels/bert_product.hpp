#pragma once

#include "kernels/bert_simd.hpp"

/// Products of small matrices that lie in the caches, for attention: one thread, no packing.
namespace hpcbench::train::kernels {

/// A matrix read element by element: a[i * row_step + k * column_step].
template <class T>
struct Strided {
  const T* data;
  std::int64_t row_step;
  std::int64_t column_step;
};

/// A block of kRows rows and kVectors vectors of c, held in registers.
template <class T, int kRows, int kVectors, bool kAccumulate>
HPCBENCH_INLINE void product_block(std::int64_t depth, const Strided<T>& a, const T* b, std::int64_t ldb, T* c,
                                   std::int64_t ldc) {
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  Vec<T> sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[i][v] = kAccumulate ? Simd<T>::load(c + i * ldc + v * kLanes) : Vec<T>{};
    }
  }
  const T* column = a.data;
  for (std::int64_t k = 0; k < depth; ++k, b += ldb, column += a.column_step) {
    Vec<T> row[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) row[v] = Simd<T>::load(b + v * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Vec<T> factor = spread<T>(column[i * a.row_step]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[i][v] += factor * row[v];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) Simd<T>::store(c + i * ldc + v * kLanes, sums[i][v]);
  }
}

template <class T, int kVectors, Isa isa, bool kAccumulate>
HPCBENCH_INLINE void product_panel(std::int64_t rows, std::int64_t depth, Strided<T> a, const T* b, std::int64_t ldb, T* c,
                                   std::int64_t ldc) {
  constexpr int kRows = isa == Isa::avx512 ? 6 : isa == Isa::avx2 ? 4 : 2;
  std::int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) {
    product_block<T, kRows, kVectors, kAccumulate>(depth, a, b, ldb, c + i * ldc, ldc);
    a.data += kRows * a.row_step;
  }
  for (; i < rows; i += 2) {
    product_block<T, 2, kVectors, kAccumulate>(depth, a, b, ldb, c + i * ldc, ldc);
    a.data += 2 * a.row_step;
  }
}

/// c = a b, or c += a b: c [rows][columns], a [rows][depth], b [depth][columns]. `rows` must be even and `columns` a multiple
/// of the lanes of a vector: the caller pads its matrices.
template <class T, Isa isa, bool kAccumulate>
HPCBENCH_INLINE void product(std::int64_t rows, std::int64_t columns, std::int64_t depth, const Strided<T>& a, const T* b,
                             std::int64_t ldb, T* c, std::int64_t ldc) {
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  constexpr int kVectors = isa == Isa::avx512 ? 4 : 1;
  std::int64_t j = 0;
  for (; j + kVectors * kLanes <= columns; j += kVectors * kLanes) {
    product_panel<T, kVectors, isa, kAccumulate>(rows, depth, a, b + j, ldb, c + j, ldc);
  }
  for (; j < columns; j += kLanes) product_panel<T, 1, isa, kAccumulate>(rows, depth, a, b + j, ldb, c + j, ldc);
}

}  // namespace hpcbench::train::kernels

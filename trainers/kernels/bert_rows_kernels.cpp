#include "kernels/bert_simd.hpp"

namespace hpcbench::train::kernels {

namespace {

template <class T, class M, bool kDropout>
HPCBENCH_INLINE T sum_with_residual(const NormForward<T, M>& args, std::int64_t row, std::uint64_t key, T* z) {
  const M* a = args.a + row * args.width;
  const T* residual = args.residual + row * args.width;
  Vec<T> sum = {};
  for (std::int64_t j = 0; j < args.width; j += Simd<T>::kLanes) {
    Vec<T> v = load_at<T>(a, j, args.width) + load_at<T>(args.bias, j, args.width);
    if constexpr (kDropout) v *= dropout_at(args.site, key, j, T());
    v += load_at<T>(residual, j, args.width);
    store_at<T>(z, j, args.width, v);
    sum += zero_beyond<T>(v, j, args.width);
  }
  return sum_lanes<T>(sum);
}

template <class T, class M>
HPCBENCH_INLINE T sum_of_embeddings(const NormForward<T, M>& args, std::int64_t row, T* z) {
  const T* word = args.word + args.ids[row] * args.width;
  const T* position = args.position + args.positions[row] * args.width;
  const T* type = args.type + args.types[row] * args.width;
  Vec<T> sum = {};
  for (std::int64_t j = 0; j < args.width; j += Simd<T>::kLanes) {
    const Vec<T> v = load_at<T>(word, j, args.width) + load_at<T>(position, j, args.width) + load_at<T>(type, j, args.width);
    store_at<T>(z, j, args.width, v);
    sum += v;  // beyond the width are zeros
  }
  return sum_lanes<T>(sum);
}

template <class T, class M, bool kDropoutAfter>
HPCBENCH_INLINE void normalise(const NormForward<T, M>& args, std::int64_t row, std::uint64_t key, T sum) {
  const std::int64_t width = args.width;
  T* x_hat = args.x_hat + row * width;
  const Vec<T> mean = spread<T>(sum / static_cast<T>(width));
  Vec<T> squares = {};
  for (std::int64_t j = 0; j < width; j += Simd<T>::kLanes) {
    const Vec<T> d = zero_beyond<T>(load_at<T>(x_hat, j, width) - mean, j, width);
    squares += d * d;
  }
  const T variance = sum_lanes<T>(squares) / static_cast<T>(width);
  const T reciprocal = T(1) / std::sqrt(variance + static_cast<T>(args.eps));
  args.reciprocal[row] = reciprocal;
  T* y = args.y + row * width;
  for (std::int64_t j = 0; j < width; j += Simd<T>::kLanes) {
    const Vec<T> normal = (load_at<T>(x_hat, j, width) - mean) * reciprocal;
    Vec<T> out = normal * load_at<T>(args.gamma, j, width) + load_at<T>(args.beta, j, width);
    if constexpr (kDropoutAfter) out *= dropout_at(args.site, key, j, T());
    store_at<T>(x_hat, j, width, normal);
    store_at<T>(y, j, width, out);
    if (args.y_matrix) store_at<T>(args.y_matrix + row * width, j, width, out);
  }
}

template <class T, class M, Isa isa>
HPCBENCH_INLINE void norm_forward_body(const NormForward<T, M>& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::uint64_t key = args.site.on() ? row_key(args.site, args.token_keys[row]) : 0;
    T* z = args.x_hat + row * args.width;
    if (args.ids) {
      const T sum = sum_of_embeddings(args, row, z);
      if (args.site.on()) {
        normalise<T, M, true>(args, row, key, sum);
      } else {
        normalise<T, M, false>(args, row, key, sum);
      }
    } else {
      const T sum =
          args.site.on() ? sum_with_residual<T, M, true>(args, row, key, z) : sum_with_residual<T, M, false>(args, row, key, z);
      normalise<T, M, false>(args, row, key, sum);
    }
  }
}

/// The row's dy into dz, and what LayerNorm's derivative needs of it: sums of dy gamma and dy gamma x_hat.
template <class T, class M, bool kDropoutAfter>
HPCBENCH_INLINE void gather_derivative(const NormBackward<T, M>& args, std::int64_t row, std::uint64_t key, T* dgamma, T* dbeta,
                                       T& sum, T& sum_x_hat) {
  const std::int64_t width = args.width;
  const T* x_hat = args.x_hat + row * width;
  Vec<T> g_sum = {}, gx_sum = {};
  for (std::int64_t j = 0; j < width; j += Simd<T>::kLanes) {
    Vec<T> dy = load_at<T>(args.dy + row * width, j, width);
    if (args.dy_matrix) dy += load_at<T>(args.dy_matrix + row * width, j, width);
    if constexpr (kDropoutAfter) dy *= dropout_at(args.site, key, j, T());
    const Vec<T> x = load_at<T>(x_hat, j, width);
    store_at<T>(dgamma, j, width, load_at<T>(dgamma, j, width) + dy * x);
    store_at<T>(dbeta, j, width, load_at<T>(dbeta, j, width) + dy);
    const Vec<T> g = dy * load_at<T>(args.gamma, j, width);
    store_at<T>(args.dz + row * width, j, width, g);
    g_sum += g;
    gx_sum += g * x;
  }
  sum = sum_lanes<T>(g_sum);
  sum_x_hat = sum_lanes<T>(gx_sum);
}

template <class T, class M, bool kDropout>
HPCBENCH_INLINE void derive_row(const NormBackward<T, M>& args, std::int64_t row, std::uint64_t key, T sum, T sum_x_hat,
                                T* dbias) {
  const std::int64_t width = args.width;
  const T* x_hat = args.x_hat + row * width;
  T* dz = args.dz + row * width;
  const T mean = sum / static_cast<T>(width);
  const T mean_x_hat = sum_x_hat / static_cast<T>(width);
  const T reciprocal = args.reciprocal[row];
  for (std::int64_t j = 0; j < width; j += Simd<T>::kLanes) {
    const Vec<T> d = (load_at<T>(dz, j, width) - mean - load_at<T>(x_hat, j, width) * mean_x_hat) * reciprocal;
    store_at<T>(dz, j, width, d);
    if (!args.da) continue;
    Vec<T> da = d;
    if constexpr (kDropout) da *= dropout_at(args.site, key, j, T());
    store_at<T>(args.da + row * width, j, width, da);
    store_at<T>(dbias, j, width, load_at<T>(dbias, j, width) + da);
  }
}

template <class T, class M, Isa isa>
HPCBENCH_INLINE void norm_backward_body(const NormBackward<T, M>& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = args.width;
  for (std::int64_t block = begin; block < end; ++block) {
    T* sums = args.sums + block * 3 * width;
    for (std::int64_t j = 0; j < 3 * width; ++j) sums[j] = T(0);
    const std::int64_t last = (block + 1) * kRowsOfBlock < args.rows ? (block + 1) * kRowsOfBlock : args.rows;
    for (std::int64_t row = block * kRowsOfBlock; row < last; ++row) {
      const std::uint64_t key = args.site.on() ? row_key(args.site, args.token_keys[row]) : 0;
      T sum, sum_x_hat;
      if (args.site.on() && args.dropout_after) {
        gather_derivative<T, M, true>(args, row, key, sums, sums + width, sum, sum_x_hat);
      } else {
        gather_derivative<T, M, false>(args, row, key, sums, sums + width, sum, sum_x_hat);
      }
      if (args.site.on() && !args.dropout_after) {
        derive_row<T, M, true>(args, row, key, sum, sum_x_hat, sums + 2 * width);
      } else {
        derive_row<T, M, false>(args, row, key, sum, sum_x_hat, sums + 2 * width);
      }
    }
  }
}

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kDensityAtZero = 0.39894228040143267794;  // 1 / sqrt(2 pi)

template <class T>
HPCBENCH_INLINE Vec<T> normal_distribution(Vec<T> x) {
  return (erf_of(x * static_cast<T>(kSqrtHalf)) + T(1)) * T(0.5);
}

template <class T, class M, Isa isa>
HPCBENCH_INLINE void gelu_forward_body(const Gelu<T, M>& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = args.width;
  const std::int64_t last = end * kRowsOfBlock < args.rows ? end * kRowsOfBlock : args.rows;
  for (std::int64_t row = begin * kRowsOfBlock; row < last; ++row) {
    const M* u = args.u + row * width;
    M* g = args.g + row * width;
    for (std::int64_t j = 0; j < width; j += Simd<T>::kLanes) {
      const Vec<T> x = load_at<T>(u, j, width) + load_at<T>(args.bias, j, width);
      store_at<T>(g, j, width, x * normal_distribution<T>(x));
    }
  }
}

template <class T, class M, Isa isa>
HPCBENCH_INLINE void gelu_backward_body(const Gelu<T, M>& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = args.width;
  for (std::int64_t block = begin; block < end; ++block) {
    T* sums = args.sums + block * width;
    for (std::int64_t j = 0; j < width; ++j) sums[j] = T(0);
    const std::int64_t last = (block + 1) * kRowsOfBlock < args.rows ? (block + 1) * kRowsOfBlock : args.rows;
    for (std::int64_t row = block * kRowsOfBlock; row < last; ++row) {
      const M* u = args.u + row * width;
      M* g = args.g + row * width;
      M* dg = args.dg + row * width;
      for (std::int64_t j = 0; j < width; j += Simd<T>::kLanes) {
        const Vec<T> x = load_at<T>(u, j, width) + load_at<T>(args.bias, j, width);
        const Vec<T> share = normal_distribution<T>(x);
        const Vec<T> density = exp_of(x * x * T(-0.5)) * static_cast<T>(kDensityAtZero);
        const Vec<T> du = load_at<T>(dg, j, width) * (share + x * density);
        store_at<T>(g, j, width, x * share);
        store_at<T>(dg, j, width, du);
        store_at<T>(sums, j, width, load_at<T>(sums, j, width) + du);
      }
    }
  }
}

template <class T, class M, Isa isa>
HPCBENCH_INLINE void sum_blocks_body(const SumBlocks<T, M>& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t j = begin; j < end; j += Simd<T>::kLanes) {
    Vec<T> sum = {};
    for (std::int64_t block = 0; block < args.blocks; ++block) sum += load_at<T>(args.sums + block * args.stride, j, end);
    store_at<T>(args.out, j, end, sum);
  }
}

template <class T, class M, Isa isa>
HPCBENCH_INLINE void add_matrix_body(const AddMatrix<T, M>& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t j = begin; j < end; j += Simd<T>::kLanes) {
    store_at<T>(args.x, j, end, load_at<T>(args.x, j, end) + load_at<T>(args.matrix, j, end));
  }
}

template <class T, class M, Isa isa>
HPCBENCH_INLINE void to_matrix_body(const Convert<T, M>& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t j = begin; j < end; j += Simd<T>::kLanes) store_at<T>(args.matrix, j, end, load_at<T>(args.values, j, end));
}

template <class T, class M, Isa isa>
HPCBENCH_INLINE void from_matrix_body(const Convert<T, M>& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t j = begin; j < end; j += Simd<T>::kLanes) store_at<T>(args.values, j, end, load_at<T>(args.matrix, j, end));
}

template <class T, class M, Isa isa>
HPCBENCH_INLINE void scatter_rows_body(const ScatterRows<T, M>& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t token = 0; token < args.count; ++token) {
    if (args.rows[token] == args.skip) continue;
    const T* dz = args.dz + token * args.width;
    T* table = args.table + args.rows[token] * args.width;
    for (std::int64_t j = begin; j < end; j += Simd<T>::kLanes) {
      store_at<T>(table, j, end, load_at<T>(table, j, end) + load_at<T>(dz, j, end));
    }
  }
}

}  // namespace

HPCBENCH_KERNEL(norm_forward, NormForward)
HPCBENCH_KERNEL(norm_backward, NormBackward)
HPCBENCH_KERNEL(gelu_forward, Gelu)
HPCBENCH_KERNEL(gelu_backward, Gelu)
HPCBENCH_KERNEL(sum_blocks, SumBlocks)
HPCBENCH_KERNEL(add_matrix, AddMatrix)
HPCBENCH_KERNEL(to_matrix, Convert)
HPCBENCH_KERNEL(from_matrix, Convert)
HPCBENCH_KERNEL(scatter_rows, ScatterRows)

}  // namespace hpcbench::train::kernels

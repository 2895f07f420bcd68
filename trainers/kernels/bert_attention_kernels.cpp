#include "kernels/bert_product.hpp"

namespace hpcbench::train::kernels {

namespace {

constexpr std::int64_t kMultiple = 16;       // widths and rows in the workspace are multiples of it: no tails in products
constexpr std::int64_t kQueriesOfTile = 48;  // a tile of scores, this many by all keys, lies in the second-level cache

HPCBENCH_INLINE std::int64_t padded(std::int64_t n) { return (n + kMultiple - 1) / kMultiple * kMultiple; }

/// The part of one row and head in the workspace. Rows and columns beyond the real ones are 0.
template <class T>
struct HeadSpace {
  std::int64_t queries, keys, width;          // real sizes
  std::int64_t rows, columns, columns_width;  // padded: queries, keys, width
  T *q, *k, *v;                               // [rows][columns_width]; q times 1 / sqrt(width)
  T *k_turned, *v_turned;                     // [columns_width][columns]
  T *scores, *dscores;                        // [kQueriesOfTile][columns]
  T* probabilities;                           // [columns]
  T *out, *dout, *dk, *dv;                    // [rows][columns_width]
};

template <class T>
HPCBENCH_INLINE HeadSpace<T> split_workspace(T* space, std::int64_t queries, std::int64_t keys, std::int64_t width) {
  HeadSpace<T> s;
  s.queries = queries;
  s.keys = keys;
  s.width = width;
  s.rows = padded(queries);
  s.columns = padded(keys);
  s.columns_width = padded(width);
  T** const tall[] = {&s.q, &s.k, &s.v, &s.k_turned, &s.v_turned, &s.out, &s.dout, &s.dk, &s.dv};
  for (T** part : tall) {
    *part = space;
    space += s.rows * s.columns_width;
  }
  s.scores = space;
  s.dscores = s.scores + kQueriesOfTile * s.columns;
  s.probabilities = s.dscores + kQueriesOfTile * s.columns;
  return s;
}

/// to[i][:] = (from[i] + bias) * factor for `count` rows, then rows of zeros up to `rows`.
template <class T, class M>
HPCBENCH_INLINE void pack_rows(const HeadSpace<T>& s, const M* from, std::int64_t step, const T* bias, T factor,
                               std::int64_t count, std::int64_t rows, T* to) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < s.columns_width; j += Simd<T>::kLanes) {
      Vec<T> value = {};
      if (i < count && j < s.width) {
        value = load_at<T>(from + i * step, j, s.width);
        if (bias) value = (value + load_at<T>(bias, j, s.width)) * factor;
      }
      Simd<T>::store(to + i * s.columns_width + j, value);
    }
  }
}

/// One stage of turning a square of vectors: swaps the blocks of kStep lanes off the diagonal (Eklundh 1972).
template <class T, int kStep>
HPCBENCH_INLINE void swap_blocks(Vec<T> (&rows)[Simd<T>::kLanes]) {
  using I = typename Simd<T>::I;
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  const I lane = Simd<T>::iota();
  const I upper = (lane & kStep) == 0 ? lane : lane + (kLanes - kStep);
  const I lower = (lane & kStep) == 0 ? lane + kStep : lane + kLanes;
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & kStep) != 0) continue;
    const Vec<T> a = rows[i], b = rows[i + kStep];
    rows[i] = __builtin_shuffle(a, b, upper);
    rows[i + kStep] = __builtin_shuffle(a, b, lower);
  }
}

/// to = from turned, a block of lanes by lanes.
template <class T, Isa isa>
HPCBENCH_INLINE void turn_block(const T* from, std::int64_t from_step, T* to, std::int64_t to_step) {
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  if constexpr (isa == Isa::avx512) {
    Vec<T> rows[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) rows[i] = Simd<T>::load(from + i * from_step);
    if constexpr (kLanes == 16) swap_blocks<T, 8>(rows);
    swap_blocks<T, 4>(rows);
    swap_blocks<T, 2>(rows);
    swap_blocks<T, 1>(rows);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) Simd<T>::store(to + i * to_step, rows[i]);
  } else {
    for (std::int64_t j = 0; j < kLanes; ++j) {
      for (std::int64_t i = 0; i < kLanes; ++i) to[j * to_step + i] = from[i * from_step + j];
    }
  }
}

template <class T, Isa isa>
HPCBENCH_INLINE void turn(const HeadSpace<T>& s, const T* from, T* to) {
  for (std::int64_t i = 0; i < s.columns; i += Simd<T>::kLanes) {
    for (std::int64_t j = 0; j < s.columns_width; j += Simd<T>::kLanes) {
      turn_block<T, isa>(from + i * s.columns_width + j, s.columns_width, to + j * s.columns + i, s.columns);
    }
  }
}

template <class T>
HPCBENCH_INLINE T largest_score(const HeadSpace<T>& s, const T* row) {
  Vec<T> largest = spread<T>(-HUGE_VAL);
  for (std::int64_t j = 0; j < s.keys; j += Simd<T>::kLanes) {
    const Vec<T> score = Simd<T>::load(row + j);
    const Vec<T> real = Simd<T>::iota() < Simd<T>::all(s.keys - j) ? score : spread<T>(-HUGE_VAL);
    largest = real > largest ? real : largest;
  }
  return max_lanes<T>(largest);
}

/// A row of scores becomes probabilities times dropout factors; `largest` and `scale` say how to make them again.
template <class T, bool kDropout>
HPCBENCH_INLINE void softmax_row(const HeadSpace<T>& s, const DropoutSite& site, std::uint64_t key, T* row, T& largest,
                                 T& scale) {
  largest = largest_score(s, row);
  Vec<T> sum = {};
  for (std::int64_t j = 0; j < s.columns; j += Simd<T>::kLanes) {
    const Vec<T> e = zero_beyond<T>(exp_of(Simd<T>::load(row + j) - largest), j, s.keys);
    Simd<T>::store(row + j, e);
    sum += e;
  }
  scale = T(1) / sum_lanes<T>(sum);
  for (std::int64_t j = 0; j < s.columns; j += Simd<T>::kLanes) {
    Vec<T> p = Simd<T>::load(row + j) * scale;
    if constexpr (kDropout) p *= dropout_at(site, key, j, T());
    Simd<T>::store(row + j, p);
  }
}

/// From a row of scores and of derivatives by dropped probabilities: dropped probabilities, and derivatives by scores.
template <class T, bool kDropout>
HPCBENCH_INLINE void softmax_row_backward(const HeadSpace<T>& s, const DropoutSite& site, std::uint64_t key, T largest, T scale,
                                          T* row, T* drow) {
  Vec<T> sum = {};
  for (std::int64_t j = 0; j < s.columns; j += Simd<T>::kLanes) {
    const Vec<T> p = zero_beyond<T>(exp_of(Simd<T>::load(row + j) - largest), j, s.keys) * scale;
    Vec<T> dropped = p;
    if constexpr (kDropout) dropped *= dropout_at(site, key, j, T());
    const Vec<T> weighted = dropped * Simd<T>::load(drow + j);
    Simd<T>::store(s.probabilities + j, p);
    Simd<T>::store(row + j, dropped);
    Simd<T>::store(drow + j, weighted);
    sum += weighted;
  }
  const T mean = sum_lanes<T>(sum);
  for (std::int64_t j = 0; j < s.columns; j += Simd<T>::kLanes) {
    Simd<T>::store(drow + j, Simd<T>::load(drow + j) - Simd<T>::load(s.probabilities + j) * mean);
  }
}

/// One (row, head): where its numbers stand.
template <class T, class M>
struct HeadTask {
  HPCBENCH_INLINE HeadTask(const Attention<T, M>& args, std::int64_t task)
      : row(task / args.heads),
        head(task % args.heads),
        first(args.row_begin[row]),
        queries(args.row_begin[row + 1] - first),
        keys(args.row_keys[row]),
        hidden(args.heads * args.head_width),
        column(head * args.head_width) {}

  std::int64_t row, head, first, queries, keys, hidden, column;
};

template <class T, class M, Isa isa>
HPCBENCH_INLINE void pack_inputs(const Attention<T, M>& args, const HeadTask<T, M>& t, const HeadSpace<T>& s) {
  const M* qkv = args.qkv + t.first * 3 * t.hidden + t.column;
  const T factor = T(1) / std::sqrt(static_cast<T>(args.head_width));
  pack_rows(s, qkv, 3 * t.hidden, args.bias[0] + t.column, factor, t.queries, s.rows, s.q);
  pack_rows(s, qkv + t.hidden, 3 * t.hidden, args.bias[1] + t.column, T(1), t.keys, s.columns, s.k);
  pack_rows(s, qkv + 2 * t.hidden, 3 * t.hidden, args.bias[2] + t.column, T(1), t.keys, s.columns, s.v);
  turn<T, isa>(s, s.k, s.k_turned);
}

template <class T>
HPCBENCH_INLINE std::int64_t rows_of_tile(const HeadSpace<T>& s, std::int64_t first) {
  return s.rows - first < kQueriesOfTile ? s.rows - first : kQueriesOfTile;
}

template <class T, class M, Isa isa>
HPCBENCH_INLINE void attention_forward_body(const Attention<T, M>& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t task = begin; task < end; ++task) {
    const HeadTask<T, M> t(args, task);
    const HeadSpace<T> s = split_workspace(args.workspace, t.queries, t.keys, args.head_width);
    pack_inputs<T, M, isa>(args, t, s);
    T* row_max = args.row_max + t.head * args.tokens + t.first;
    T* row_scale = args.row_scale + t.head * args.tokens + t.first;
    for (std::int64_t first = 0; first < t.queries; first += kQueriesOfTile) {
      const std::int64_t rows = rows_of_tile(s, first);
      const std::int64_t w = s.columns_width;
      product<T, isa, false>(rows, s.columns, w, {s.q + first * w, w, 1}, s.k_turned, s.columns, s.scores, s.columns);
      for (std::int64_t i = 0; i < rows && first + i < t.queries; ++i) {
        const std::int64_t query = first + i;
        T* row = s.scores + i * s.columns;
        if (args.site.on()) {
          const std::uint64_t key = head_key(args.site, args.token_keys[t.first + query], t.head);
          softmax_row<T, true>(s, args.site, key, row, row_max[query], row_scale[query]);
        } else {
          softmax_row<T, false>(s, args.site, 0, row, row_max[query], row_scale[query]);
        }
      }
      product<T, isa, false>(rows, w, s.columns, {s.scores, s.columns, 1}, s.v, w, s.out + first * w, w);
    }
    M* context = args.context + t.first * t.hidden + t.column;
    for (std::int64_t i = 0; i < t.queries; ++i) {
      for (std::int64_t j = 0; j < s.width; j += Simd<T>::kLanes) {
        store_at<T>(context + i * t.hidden, j, s.width, Simd<T>::load(s.out + i * s.columns_width + j));
      }
    }
  }
}

/// Rows of a derivative out of the workspace, times `factor`; rows from `count` on are 0 (keys that are padding). Their sum
/// is the bias's derivative.
template <class T, class M>
HPCBENCH_INLINE void unpack_rows(const HeadSpace<T>& s, const T* from, T factor, std::int64_t count, std::int64_t rows, M* to,
                                 std::int64_t step, T* dbias) {
  for (std::int64_t j = 0; j < s.width; j += Simd<T>::kLanes) {
    Vec<T> sum = {};
    for (std::int64_t i = 0; i < rows; ++i) {
      const Vec<T> value = i < count ? Simd<T>::load(from + i * s.columns_width + j) * factor : Vec<T>{};
      store_at<T>(to + i * step, j, s.width, value);
      sum += value;
    }
    store_at<T>(dbias, j, s.width, sum);
  }
}

template <class T, class M>
HPCBENCH_INLINE void softmax_tile_backward(const Attention<T, M>& args, const HeadTask<T, M>& t, const HeadSpace<T>& s,
                                           std::int64_t first, std::int64_t rows) {
  const T* row_max = args.row_max + t.head * args.tokens + t.first;
  const T* row_scale = args.row_scale + t.head * args.tokens + t.first;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t query = first + i;
    T* row = s.scores + i * s.columns;
    T* drow = s.dscores + i * s.columns;
    if (query >= t.queries) {
      for (std::int64_t j = 0; j < s.columns; ++j) row[j] = drow[j] = T(0);
    } else if (args.site.on()) {
      const std::uint64_t key = head_key(args.site, args.token_keys[t.first + query], t.head);
      softmax_row_backward<T, true>(s, args.site, key, row_max[query], row_scale[query], row, drow);
    } else {
      softmax_row_backward<T, false>(s, args.site, 0, row_max[query], row_scale[query], row, drow);
    }
  }
}

template <class T, Isa isa, bool kAccumulate>
HPCBENCH_INLINE void add_key_derivatives(const HeadSpace<T>& s, std::int64_t first, std::int64_t rows) {
  const std::int64_t w = s.columns_width;
  product<T, isa, kAccumulate>(s.columns, w, rows, {s.scores, 1, s.columns}, s.dout + first * w, w, s.dv, w);
  product<T, isa, kAccumulate>(s.columns, w, rows, {s.dscores, 1, s.columns}, s.q + first * w, w, s.dk, w);
}

template <class T, class M, Isa isa>
HPCBENCH_INLINE void attention_backward_body(const Attention<T, M>& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t task = begin; task < end; ++task) {
    const HeadTask<T, M> t(args, task);
    const HeadSpace<T> s = split_workspace(args.workspace, t.queries, t.keys, args.head_width);
    const std::int64_t w = s.columns_width;
    pack_inputs<T, M, isa>(args, t, s);
    turn<T, isa>(s, s.v, s.v_turned);
    pack_rows<T, M>(s, args.dcontext + t.first * t.hidden + t.column, t.hidden, nullptr, T(1), t.queries, s.rows, s.dout);
    for (std::int64_t first = 0; first < t.queries; first += kQueriesOfTile) {
      const std::int64_t rows = rows_of_tile(s, first);
      product<T, isa, false>(rows, s.columns, w, {s.q + first * w, w, 1}, s.k_turned, s.columns, s.scores, s.columns);
      product<T, isa, false>(rows, s.columns, w, {s.dout + first * w, w, 1}, s.v_turned, s.columns, s.dscores, s.columns);
      softmax_tile_backward(args, t, s, first, rows);
      if (first == 0) {
        add_key_derivatives<T, isa, false>(s, first, rows);
      } else {
        add_key_derivatives<T, isa, true>(s, first, rows);
      }
      product<T, isa, false>(rows, w, s.columns, {s.dscores, s.columns, 1}, s.k, w, s.out + first * w, w);
    }
    M* dqkv = args.dqkv + t.first * 3 * t.hidden + t.column;
    T* dbias = args.dbias + t.row * 3 * t.hidden + t.column;
    const T factor = T(1) / std::sqrt(static_cast<T>(args.head_width));
    unpack_rows(s, s.out, factor, t.queries, t.queries, dqkv, 3 * t.hidden, dbias);
    unpack_rows(s, s.dk, T(1), t.keys, t.queries, dqkv + t.hidden, 3 * t.hidden, dbias + t.hidden);
    unpack_rows(s, s.dv, T(1), t.keys, t.queries, dqkv + 2 * t.hidden, 3 * t.hidden, dbias + 2 * t.hidden);
  }
}

}  // namespace

std::int64_t attention_workspace(std::int64_t longest, std::int64_t head_width) {
  const std::int64_t columns = padded(longest);
  return 9 * columns * padded(head_width) + (2 * kQueriesOfTile + 1) * columns;
}

HPCBENCH_KERNEL(attention_forward, Attention)
HPCBENCH_KERNEL(attention_backward, Attention)

}  // namespace hpcbench::train::kernels

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/bert_isa.hpp"
#include "kernels/kernels.hpp"

namespace hpcbench::train::kernels {

namespace {

template <class T>
struct ProductOperands {
  std::int64_t rows, columns, depth;
  const T* a;
  const T* b;
  T* c;
};

// Defines the product of one instruction set; its namespace has included bert_product.inc.
#define HPCBENCH_SMALL_PRODUCT                                                                                    \
  template <class T, bool kAccumulate>                                                                            \
  void small_product(const ProductOperands<T>& x) {                                                               \
    product<T, kIsa, kAccumulate>(x.rows, x.columns, x.depth, {x.a, x.depth, 1}, x.b, x.columns, x.c, x.columns); \
  }

}  // namespace

HPCBENCH_BEGIN_AVX512
namespace avx512 {
namespace {
constexpr Isa kIsa = Isa::avx512;
#include "kernels/bert_product.inc"
HPCBENCH_SMALL_PRODUCT
}  // namespace
}  // namespace avx512
HPCBENCH_END_ISA

HPCBENCH_BEGIN_AVX2
namespace avx2 {
namespace {
constexpr Isa kIsa = Isa::avx2;
#include "kernels/bert_product.inc"
HPCBENCH_SMALL_PRODUCT
}  // namespace
}  // namespace avx2
HPCBENCH_END_ISA

namespace generic {
namespace {
constexpr Isa kIsa = Isa::generic;
#include "kernels/bert_product.inc"
HPCBENCH_SMALL_PRODUCT
}  // namespace
}  // namespace generic

#undef HPCBENCH_SMALL_PRODUCT

namespace {

template <class T, bool kAccumulate>
void best_small_product(const ProductOperands<T>& x) {
  const Isa isa = best_isa();
  if (isa == Isa::avx512) return avx512::small_product<T, kAccumulate>(x);
  if (isa == Isa::avx2) return avx2::small_product<T, kAccumulate>(x);
  generic::small_product<T, kAccumulate>(x);
}

/// Pointers into the arrays of a pass, at the first row of a part of the batch in one step.
template <class T>
T* at_step(T* data, const LstmShape& shape, std::int64_t step, std::int64_t row, std::int64_t width) {
  return data + (step * shape.batch + row) * width;
}

template <class T>
void forward_pass(const LstmShape& shape, const T* recurrent_t, T* gates, T* c, T* tanh_c, T* h, std::int64_t begin,
                  std::int64_t end) {
  const std::int64_t width = shape.hidden;
  for (std::int64_t step = 0; step < shape.times; ++step) {
    T* const sums = at_step(gates, shape, step, begin, 4 * width);
    const T* const before = at_step(h, shape, step, begin, width);
    if (step > 0) best_small_product<T, true>({end - begin, 4 * width, width, before, recurrent_t, sums});
    lstm_forward(sums, at_step(c, shape, step, begin, width), at_step(c, shape, step + 1, begin, width),
                 at_step(tanh_c, shape, step, begin, width), at_step(h, shape, step + 1, begin, width), end - begin, width);
  }
}

template <class T>
void backward_pass(const LstmShape& shape, const T* recurrent, const T* gates, const T* c, const T* tanh_c, T* dh, T* dc,
                   T* dgates, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = shape.hidden;
  for (std::int64_t step = shape.times - 1; step >= 0; --step) {
    T* const dsums = at_step(dgates, shape, step, begin, 4 * width);
    lstm_backward(at_step(gates, shape, step, begin, 4 * width), at_step(c, shape, step, begin, width),
                  at_step(tanh_c, shape, step, begin, width), dh + begin * width, dc + begin * width, dsums, end - begin,
                  width);
    if (step > 0) best_small_product<T, false>({end - begin, width, 4 * width, dsums, recurrent, dh + begin * width});
  }
}

}  // namespace

bool lstm_pass_fits(const LstmShape& shape) { return shape.hidden % kLstmLanes == 0 && shape.batch % 2 == 0; }

void lstm_forward_pass(const LstmShape& shape, const float* recurrent_t, float* gates, float* c, float* tanh_c, float* h,
                       std::int64_t begin, std::int64_t end) {
  forward_pass(shape, recurrent_t, gates, c, tanh_c, h, begin, end);
}
void lstm_forward_pass(const LstmShape& shape, const double* recurrent_t, double* gates, double* c, double* tanh_c, double* h,
                       std::int64_t begin, std::int64_t end) {
  forward_pass(shape, recurrent_t, gates, c, tanh_c, h, begin, end);
}
void lstm_backward_pass(const LstmShape& shape, const float* recurrent, const float* gates, const float* c, const float* tanh_c,
                        float* dh, float* dc, float* dgates, std::int64_t begin, std::int64_t end) {
  backward_pass(shape, recurrent, gates, c, tanh_c, dh, dc, dgates, begin, end);
}
void lstm_backward_pass(const LstmShape& shape, const double* recurrent, const double* gates, const double* c,
                        const double* tanh_c, double* dh, double* dc, double* dgates, std::int64_t begin, std::int64_t end) {
  backward_pass(shape, recurrent, gates, c, tanh_c, dh, dc, dgates, begin, end);
}

}  // namespace hpcbench::train::kernels

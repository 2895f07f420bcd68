#include <cmath>
#include <cstring>

#include "kernels/clones.hpp"
#include "kernels/kernels.hpp"

namespace hpcbench::train::kernels {

namespace {

template <class T>
HPCBENCH_INLINE T sigmoid(T x) {
  const T e = std::exp(-std::abs(x));  // never overflows
  const T s = T(1) / (T(1) + e);
  return x >= T(0) ? s : e * s;
}

template <class T>
HPCBENCH_INLINE T hyperbolic_tangent(T x) {
  const T e = std::exp(T(-2) * std::abs(x));
  return std::copysign((T(1) - e) / (T(1) + e), x);
}

template <class T>
HPCBENCH_INLINE void gather_rows(const T* data, const std::int64_t* samples, std::int64_t batch, std::int64_t times,
                                 std::int64_t width, T* out) {
  for (std::int64_t t = 0; t < times; ++t) {
    for (std::int64_t b = 0; b < batch; ++b) {
      std::memcpy(out + (t * batch + b) * width, data + (samples[b] * times + t) * width,
                  static_cast<std::size_t>(width) * sizeof(T));
    }
  }
}

template <class T>
HPCBENCH_INLINE void forward_rows(T* __restrict gates, const T* __restrict c_before, T* __restrict c, T* __restrict tanh_c,
                                  T* __restrict h, std::int64_t batch, std::int64_t hidden) {
  for (std::int64_t b = 0; b < batch; ++b) {
    T* __restrict i = gates + b * 4 * hidden;
    T* __restrict f = i + hidden;
    T* __restrict g = f + hidden;
    T* __restrict o = g + hidden;
    const std::int64_t row = b * hidden;
#pragma GCC ivdep
    for (std::int64_t k = 0; k < hidden; ++k) {
      i[k] = sigmoid(i[k]);
      f[k] = sigmoid(f[k]);
      g[k] = hyperbolic_tangent(g[k]);
      o[k] = sigmoid(o[k]);
      c[row + k] = f[k] * c_before[row + k] + i[k] * g[k];
      tanh_c[row + k] = hyperbolic_tangent(c[row + k]);
      h[row + k] = o[k] * tanh_c[row + k];
    }
  }
}

template <class T>
HPCBENCH_INLINE void backward_rows(const T* __restrict gates, const T* __restrict c_before, const T* __restrict tanh_c,
                                   const T* __restrict dh, T* __restrict dc, T* __restrict dgates, std::int64_t batch,
                                   std::int64_t hidden) {
  for (std::int64_t b = 0; b < batch; ++b) {
    const T* __restrict i = gates + b * 4 * hidden;
    const T* __restrict f = i + hidden;
    const T* __restrict g = f + hidden;
    const T* __restrict o = g + hidden;
    T* __restrict di = dgates + b * 4 * hidden;
    T* __restrict df = di + hidden;
    T* __restrict dg = df + hidden;
    T* __restrict d_o = dg + hidden;
    const std::int64_t row = b * hidden;
#pragma GCC ivdep
    for (std::int64_t k = 0; k < hidden; ++k) {
      const T tanh_of_c = tanh_c[row + k];
      const T dc_now = dc[row + k] + dh[row + k] * o[k] * (T(1) - tanh_of_c * tanh_of_c);
      d_o[k] = dh[row + k] * tanh_of_c * o[k] * (T(1) - o[k]);
      di[k] = dc_now * g[k] * i[k] * (T(1) - i[k]);
      df[k] = dc_now * c_before[row + k] * f[k] * (T(1) - f[k]);
      dg[k] = dc_now * i[k] * (T(1) - g[k] * g[k]);
      dc[row + k] = dc_now * f[k];
    }
  }
}

}  // namespace

HPCBENCH_CLONES void lstm_forward(float* gates, const float* c_before, float* c, float* tanh_c, float* h, std::int64_t batch,
                                  std::int64_t hidden) {
  forward_rows(gates, c_before, c, tanh_c, h, batch, hidden);
}
HPCBENCH_CLONES void lstm_forward(double* gates, const double* c_before, double* c, double* tanh_c, double* h,
                                  std::int64_t batch, std::int64_t hidden) {
  forward_rows(gates, c_before, c, tanh_c, h, batch, hidden);
}
HPCBENCH_CLONES void lstm_backward(const float* gates, const float* c_before, const float* tanh_c, const float* dh, float* dc,
                                   float* dgates, std::int64_t batch, std::int64_t hidden) {
  backward_rows(gates, c_before, tanh_c, dh, dc, dgates, batch, hidden);
}
HPCBENCH_CLONES void lstm_backward(const double* gates, const double* c_before, const double* tanh_c, const double* dh,
                                   double* dc, double* dgates, std::int64_t batch, std::int64_t hidden) {
  backward_rows(gates, c_before, tanh_c, dh, dc, dgates, batch, hidden);
}
void gather_time_major(const float* data, const std::int64_t* samples, std::int64_t batch, std::int64_t times,
                       std::int64_t width, float* out) {
  gather_rows(data, samples, batch, times, width, out);
}
void gather_time_major(const double* data, const std::int64_t* samples, std::int64_t batch, std::int64_t times,
                       std::int64_t width, double* out) {
  gather_rows(data, samples, batch, times, width, out);
}

}  // namespace hpcbench::train::kernels

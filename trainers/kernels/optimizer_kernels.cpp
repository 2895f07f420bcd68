#include <cmath>

#include "kernels/clones.hpp"
#include "kernels/kernels.hpp"

namespace hpcbench::train::kernels {

namespace {

/// SplitMix64's finaliser (Steele, Lea and Flood 2014): every bit of the input moves every bit of the output.
HPCBENCH_INLINE std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <class T>
HPCBENCH_INLINE void mask_rows(const DropoutKey& key, double rate, std::int64_t rows, std::int64_t width, T* __restrict mask) {
  constexpr double kTwoTo53 = 9007199254740992.0;
  const auto threshold = static_cast<std::uint64_t>(rate * kTwoTo53);
  const T kept = static_cast<T>(1.0 / (1.0 - rate));
  const std::uint64_t of_step = mix(mix(mix(key.seed) ^ key.step) ^ key.site);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::uint64_t of_row = mix(of_step ^ static_cast<std::uint64_t>(key.first_position + r * key.stride));
    for (std::int64_t e = 0; e < width; ++e) {
      const bool dropped = (mix(of_row ^ static_cast<std::uint64_t>(e)) >> 11) < threshold;
      mask[r * width + e] = dropped ? T(0) : kept;
    }
  }
}

template <class T>
HPCBENCH_INLINE void squares_loop(const T* __restrict values, std::int64_t count, double* __restrict result) {
  // Separate sums let the compiler use vectors without reordering any sum.
  double sums[kSquareSums];
  for (std::int64_t j = 0; j < kSquareSums; ++j) sums[j] = result[j];
  std::int64_t k = 0;
  for (; k + kSquareSums <= count; k += kSquareSums) {
    for (std::int64_t j = 0; j < kSquareSums; ++j) {
      sums[j] += static_cast<double>(values[k + j]) * static_cast<double>(values[k + j]);
    }
  }
  for (; k < count; ++k) sums[0] += static_cast<double>(values[k]) * static_cast<double>(values[k]);
  for (std::int64_t j = 0; j < kSquareSums; ++j) result[j] = sums[j];
}

template <class T>
HPCBENCH_INLINE void sgd_loop(T* __restrict p, const T* __restrict g, T* __restrict velocity, std::int64_t count,
                              const SgdConstants& constants) {
  const T lr = static_cast<T>(constants.lr);
  const T momentum = static_cast<T>(constants.momentum);
  const T decay = static_cast<T>(constants.weight_decay);
  const T scale = static_cast<T>(constants.scale);
  for (std::int64_t k = 0; k < count; ++k) {
    velocity[k] = momentum * velocity[k] + (g[k] * scale + decay * p[k]);
    p[k] -= lr * velocity[k];
  }
}

template <class T>
HPCBENCH_INLINE void adadelta_loop(T* __restrict p, const T* __restrict g, T* __restrict s, T* __restrict u, std::int64_t count,
                                   const AdadeltaConstants& constants) {
  const T lr = static_cast<T>(constants.lr);
  const T rho = static_cast<T>(constants.rho);
  const T rest = static_cast<T>(1.0 - constants.rho);
  const T eps = static_cast<T>(constants.eps);
  const T decay = static_cast<T>(constants.weight_decay);
  const T scale = static_cast<T>(constants.scale);
  for (std::int64_t k = 0; k < count; ++k) {
    const T gradient = g[k] * scale + decay * p[k];
    s[k] = rho * s[k] + rest * gradient * gradient;
    const T delta = std::sqrt(u[k] + eps) / std::sqrt(s[k] + eps) * gradient;
    u[k] = rho * u[k] + rest * delta * delta;
    p[k] -= lr * delta;
  }
}

/// A step's factors in the type of the parameters.
template <class T>
struct AdamWNumbers {
  explicit AdamWNumbers(const AdamWFactors& factors)
      : step_size(static_cast<T>(factors.step_size)),
        correction(static_cast<T>(factors.correction)),
        beta1(static_cast<T>(factors.beta1)),
        beta2(static_cast<T>(factors.beta2)),
        rest1(static_cast<T>(1.0 - factors.beta1)),
        rest2(static_cast<T>(1.0 - factors.beta2)),
        eps(static_cast<T>(factors.eps)),
        shrink(static_cast<T>(factors.shrink)) {}
  T step_size, correction, beta1, beta2, rest1, rest2, eps, shrink;
};

template <class T>
HPCBENCH_INLINE void adamw_element(T& p, T gradient, T& m, T& v, const AdamWNumbers<T>& step) {
  m = step.beta1 * m + step.rest1 * gradient;
  v = step.beta2 * v + step.rest2 * gradient * gradient;
  p = p * step.shrink - step.step_size * m / (std::sqrt(v) * step.correction + step.eps);
}

template <class T>
HPCBENCH_INLINE void adamw_loop(T* __restrict p, const T* __restrict g, T* __restrict m, T* __restrict v, std::int64_t count,
                                const AdamWFactors& factors) {
  const AdamWNumbers<T> step(factors);
  const T scale = static_cast<T>(factors.scale);
  for (std::int64_t k = 0; k < count; ++k) adamw_element(p[k], g[k] * scale, m[k], v[k], step);
}

constexpr std::int64_t kAtOnce = 64;  // elements that pass through all steps while they are in the nearest cache

template <class T>
HPCBENCH_INLINE void at_rest_loop(T* __restrict p, T* __restrict m, T* __restrict v, std::int64_t count,
                                  const AdamWFactors* steps, std::int64_t step_count) {
  for (std::int64_t begin = 0; begin < count; begin += kAtOnce) {
    const std::int64_t end = begin + kAtOnce < count ? begin + kAtOnce : count;
    for (std::int64_t number = 0; number < step_count; ++number) {
      const AdamWNumbers<T> step(steps[number]);
      for (std::int64_t k = begin; k < end; ++k) adamw_element(p[k], T(0), m[k], v[k], step);
    }
  }
}

template <class T>
HPCBENCH_INLINE void decay_loop(T* __restrict p, std::int64_t count, const AdamWFactors* steps, std::int64_t step_count) {
  for (std::int64_t begin = 0; begin < count; begin += kAtOnce) {
    const std::int64_t end = begin + kAtOnce < count ? begin + kAtOnce : count;
    for (std::int64_t number = 0; number < step_count; ++number) {
      const T shrink = static_cast<T>(steps[number].shrink);
      if (shrink == T(1)) continue;
      for (std::int64_t k = begin; k < end; ++k) p[k] *= shrink;
    }
  }
}

}  // namespace

AdamWFactors::AdamWFactors(const AdamWConstants& constants)
    : step_size(constants.lr / (1.0 - std::pow(constants.beta1, static_cast<double>(constants.step)))),
      correction(1.0 / std::sqrt(1.0 - std::pow(constants.beta2, static_cast<double>(constants.step)))),
      beta1(constants.beta1),
      beta2(constants.beta2),
      eps(constants.eps),
      shrink(1.0 - constants.lr * constants.weight_decay),
      scale(constants.scale) {}

HPCBENCH_CLONES void dropout_mask(const DropoutKey& key, double rate, std::int64_t rows, std::int64_t width, float* mask) {
  mask_rows(key, rate, rows, width, mask);
}
HPCBENCH_CLONES void dropout_mask(const DropoutKey& key, double rate, std::int64_t rows, std::int64_t width, double* mask) {
  mask_rows(key, rate, rows, width, mask);
}
HPCBENCH_CLONES void add_squares(const float* values, std::int64_t count, double* sums) { squares_loop(values, count, sums); }
HPCBENCH_CLONES void add_squares(const double* values, std::int64_t count, double* sums) { squares_loop(values, count, sums); }
HPCBENCH_CLONES void sgd(float* p, const float* g, float* velocity, std::int64_t count, const SgdConstants& constants) {
  sgd_loop(p, g, velocity, count, constants);
}
HPCBENCH_CLONES void sgd(double* p, const double* g, double* velocity, std::int64_t count, const SgdConstants& constants) {
  sgd_loop(p, g, velocity, count, constants);
}
HPCBENCH_CLONES void adadelta(float* p, const float* g, float* s, float* u, std::int64_t count,
                              const AdadeltaConstants& constants) {
  adadelta_loop(p, g, s, u, count, constants);
}
HPCBENCH_CLONES void adadelta(double* p, const double* g, double* s, double* u, std::int64_t count,
                              const AdadeltaConstants& constants) {
  adadelta_loop(p, g, s, u, count, constants);
}
HPCBENCH_CLONES void adamw(float* p, const float* g, float* m, float* v, std::int64_t count, const AdamWFactors& factors) {
  adamw_loop(p, g, m, v, count, factors);
}
HPCBENCH_CLONES void adamw(double* p, const double* g, double* m, double* v, std::int64_t count, const AdamWFactors& factors) {
  adamw_loop(p, g, m, v, count, factors);
}
HPCBENCH_CLONES void adamw_at_rest(float* p, float* m, float* v, std::int64_t count, const AdamWFactors* steps,
                                   std::int64_t step_count) {
  at_rest_loop(p, m, v, count, steps, step_count);
}
HPCBENCH_CLONES void adamw_at_rest(double* p, double* m, double* v, std::int64_t count, const AdamWFactors* steps,
                                   std::int64_t step_count) {
  at_rest_loop(p, m, v, count, steps, step_count);
}
HPCBENCH_CLONES void adamw_decay(float* p, std::int64_t count, const AdamWFactors* steps, std::int64_t step_count) {
  decay_loop(p, count, steps, step_count);
}
HPCBENCH_CLONES void adamw_decay(double* p, std::int64_t count, const AdamWFactors* steps, std::int64_t step_count) {
  decay_loop(p, count, steps, step_count);
}

}  // namespace hpcbench::train::kernels

#pragma once

#include <cstdint>

/// The inner loops that no operator of ATen has in one pass. Plain pointers, no LibTorch: this file's .cpp is compiled with
/// vectorisation and for several instruction sets, of which the machine's best is chosen when the program starts.
/// Every function exists for float and double.
namespace hpcbench::train::kernels {

/// out[t][b][:] = data[samples[b]][t][:]: sequences of a batch, time first. data: [N][times][width].
void gather_time_major(const float* data, const std::int64_t* samples, std::int64_t batch, std::int64_t times,
                       std::int64_t width, float* out);
void gather_time_major(const double* data, const std::int64_t* samples, std::int64_t batch, std::int64_t times,
                       std::int64_t width, double* out);

/// One step of an LSTM for a batch. `gates` [batch][4*hidden] holds the sums of i, f, g, o and gets their activations
/// (sigmoid, sigmoid, tanh, sigmoid); c = f c_before + i g; h = o tanh(c). All others are [batch][hidden].
void lstm_forward(float* gates, const float* c_before, float* c, float* tanh_c, float* h, std::int64_t batch,
                  std::int64_t hidden);
void lstm_forward(double* gates, const double* c_before, double* c, double* tanh_c, double* h, std::int64_t batch,
                  std::int64_t hidden);

/// Its derivative: from dh and dc (of this step's c; on return of the step before) the derivatives of the gates' sums.
void lstm_backward(const float* gates, const float* c_before, const float* tanh_c, const float* dh, float* dc, float* dgates,
                   std::int64_t batch, std::int64_t hidden);
void lstm_backward(const double* gates, const double* c_before, const double* tanh_c, const double* dh, double* dc,
                   double* dgates, std::int64_t batch, std::int64_t hidden);

/// Which step of a run, which dropout of the model, and where the rows of a process stand in the global batch.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t site = 0;
  std::int64_t first_position = 0;  // row r is sample number first_position + r * stride of the global batch
  std::int64_t stride = 1;
};

/// mask[r][e] = 0 with probability `rate`, else 1 / (1 - rate), decided by a hash of (seed, step, position in the global batch,
/// site, e): how the batch is spread over processes changes nothing.
void dropout_mask(const DropoutKey& key, double rate, std::int64_t rows, std::int64_t width, float* mask);
void dropout_mask(const DropoutKey& key, double rate, std::int64_t rows, std::int64_t width, double* mask);

/// The sum of the squares, added up in double and in a fixed order.
double sum_of_squares(const float* values, std::int64_t count);
double sum_of_squares(const double* values, std::int64_t count);

// Optimisers. `scale` multiplies the gradient first (clipping).

struct SgdConstants {
  double lr, momentum, weight_decay, scale = 1;
};
/// As torch.optim.SGD: g += weight_decay p; v = momentum v + g; p -= lr v. A `velocity` of zeros makes the first v = g.
void sgd(float* p, const float* g, float* velocity, std::int64_t count, const SgdConstants& constants);
void sgd(double* p, const double* g, double* velocity, std::int64_t count, const SgdConstants& constants);

struct AdadeltaConstants {
  double lr, rho, eps, weight_decay, scale = 1;
};
/// As torch.optim.Adadelta (Zeiler 2012): g += weight_decay p; s = rho s + (1-rho) g^2; d = sqrt(u + eps) / sqrt(s + eps) g;
/// u = rho u + (1-rho) d^2; p -= lr d.
void adadelta(float* p, const float* g, float* s, float* u, std::int64_t count, const AdadeltaConstants& constants);
void adadelta(double* p, const double* g, double* s, double* u, std::int64_t count, const AdadeltaConstants& constants);

struct AdamWConstants {
  double lr, beta1, beta2, eps, weight_decay;
  std::int64_t step;  // from 1
  double scale = 1;
};
/// As torch.optim.AdamW (Loshchilov and Hutter 2019): decoupled weight decay, then Adam with bias correction.
void adamw(float* p, const float* g, float* m, float* v, std::int64_t count, const AdamWConstants& constants);
void adamw(double* p, const double* g, double* m, double* v, std::int64_t count, const AdamWConstants& constants);

}  // namespace hpcbench::train::kernels

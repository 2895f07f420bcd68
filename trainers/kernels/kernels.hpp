#pragma once

#include <cstdint>

/// The inner loops for which ATen has no single-pass operator. Plain pointers, no LibTorch: this file's .cpp is compiled with
/// vectorisation and for several instruction sets, of which the machine's best is chosen when the program starts. Every
/// function exists for float and double.
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

/// Computes the derivative of a step: from dh and dc (of this step's c; on return of the step before) the derivatives of the
/// gates' sums.
void lstm_backward(const float* gates, const float* c_before, const float* tanh_c, const float* dh, float* dc, float* dgates,
                   std::int64_t batch, std::int64_t hidden);
void lstm_backward(const double* gates, const double* c_before, const double* tanh_c, const double* dh, double* dc,
                   double* dgates, std::int64_t batch, std::int64_t hidden);

/// Sizes of the arrays for a pass of an LSTM over whole sequences, all [times][batch][...], time first.
struct LstmShape {
  std::int64_t times = 0;
  std::int64_t batch = 0;
  std::int64_t hidden = 0;
};

constexpr std::int64_t kLstmLanes = 16;

/// Returns whether the passes support it: hidden a multiple of kLstmLanes and an even batch.
bool lstm_pass_fits(const LstmShape& shape);

/// Computes all steps of the rows [begin, end) (even numbers) of the batch, independently of the other rows. `gates`
/// [times][batch][4*hidden] holds the sums without the recurrent part; c and h have times + 1 steps, the first of zeros;
/// recurrent_t is [hidden][4*hidden].
void lstm_forward_pass(const LstmShape& shape, const float* recurrent_t, float* gates, float* c, float* tanh_c, float* h,
                       std::int64_t begin, std::int64_t end);
void lstm_forward_pass(const LstmShape& shape, const double* recurrent_t, double* gates, double* c, double* tanh_c, double* h,
                       std::int64_t begin, std::int64_t end);

/// Computes their derivatives with respect to the gates' sums: dh and dc [batch][hidden] hold those of the last step, and are
/// overwritten; recurrent is [4*hidden][hidden].
void lstm_backward_pass(const LstmShape& shape, const float* recurrent, const float* gates, const float* c, const float* tanh_c,
                        float* dh, float* dc, float* dgates, std::int64_t begin, std::int64_t end);
void lstm_backward_pass(const LstmShape& shape, const double* recurrent, const double* gates, const double* c,
                        const double* tanh_c, double* dh, double* dc, double* dgates, std::int64_t begin, std::int64_t end);

/// The step of a run, the dropout site of the model, and the position of a process's rows in the global batch.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t site = 0;
  std::int64_t first_position = 0;  // row r is sample number first_position + r * stride of the global batch
  std::int64_t stride = 1;
};

/// mask[r][e] = 0 with probability `rate`, else 1 / (1 - rate), decided by a hash of (seed, step, position in the global batch,
/// site, e): the distribution of the batch over processes does not matter.
void dropout_mask(const DropoutKey& key, double rate, std::int64_t rows, std::int64_t width, float* mask);
void dropout_mask(const DropoutKey& key, double rate, std::int64_t rows, std::int64_t width, double* mask);

/// Adds the squares to several sums, value number k to sums[k % kSquareSums] (those of an incomplete last group to sums[0]):
/// whole groups of zeros may be skipped.
inline constexpr std::int64_t kSquareSums = 16;
void add_squares(const float* values, std::int64_t count, double* sums);
void add_squares(const double* values, std::int64_t count, double* sums);

// Optimisers. `scale` first multiplies the gradient (clipping). rho, the betas and eps have torch.optim's defaults, which every
// update uses on every device.

struct SgdConstants {
  double lr, momentum, weight_decay, scale = 1;
};
/// Like torch.optim.SGD: g += weight_decay p; v = momentum v + g; p -= lr v. A `velocity` of zeros makes the first v = g.
void sgd(float* p, const float* g, float* velocity, std::int64_t count, const SgdConstants& constants);
void sgd(double* p, const double* g, double* velocity, std::int64_t count, const SgdConstants& constants);

struct AdadeltaConstants {
  double lr, weight_decay, scale = 1;
  double rho = 0.9, eps = 1e-6;
};
/// Like torch.optim.Adadelta (Zeiler 2012): g += weight_decay p; s = rho s + (1-rho) g^2; d = sqrt(u + eps) / sqrt(s + eps) g;
/// u = rho u + (1-rho) d^2; p -= lr d.
void adadelta(float* p, const float* g, float* s, float* u, std::int64_t count, const AdadeltaConstants& constants);
void adadelta(double* p, const double* g, double* s, double* u, std::int64_t count, const AdadeltaConstants& constants);

struct AdamWConstants {
  double lr, weight_decay;
  std::int64_t step;  // from 1
  double scale = 1;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
};
/// Like torch.optim.AdamW (Loshchilov and Hutter 2019): decoupled weight decay, then Adam with bias correction.
struct AdamWFactors {
  explicit AdamWFactors(const AdamWConstants& constants);
  double step_size, correction, beta1, beta2, eps, shrink, scale;
};
void adamw(float* p, const float* g, float* m, float* v, std::int64_t count, const AdamWFactors& factors);
void adamw(double* p, const double* g, double* m, double* v, std::int64_t count, const AdamWFactors& factors);
/// Equals `step_count` calls of adamw(), one after another, whose gradients are all 0, bit for bit.
void adamw_at_rest(float* p, float* m, float* v, std::int64_t count, const AdamWFactors* steps, std::int64_t step_count);
void adamw_at_rest(double* p, double* m, double* v, std::int64_t count, const AdamWFactors* steps, std::int64_t step_count);
/// Equals adamw_at_rest() if m and v are all 0, too: these stay 0, and p is multiplied by each step's 1 - lr weight_decay.
void adamw_decay(float* p, std::int64_t count, const AdamWFactors* steps, std::int64_t step_count);
void adamw_decay(double* p, std::int64_t count, const AdamWFactors* steps, std::int64_t step_count);

}  // namespace hpcbench::train::kernels

#include "tasks/mnist_rnn/lstm.hpp"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_cudnn_rnn_flatten_weight.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/cudnn_is_acceptable.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/kernels.hpp"

namespace hpcbench::train {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Minimum number of batch rows for one thread, in pairs: below it waking a second thread costs more than it saves.
constexpr std::int64_t kPairsOfThread = 4;

/// Threads share the rows of the batch: each computes its own through all steps and waits for no other.
template <class Work>
void for_rows(std::int64_t batch, const Work& work) {
  at::parallel_for(0, batch / 2, kPairsOfThread, [&](std::int64_t begin, std::int64_t end) { work(2 * begin, 2 * end); });
}

/// For sizes that the passes do not support: one product per step, the cell in one pass over memory.
void step_forward(const kernels::LstmShape& shape, const at::Tensor& recurrent, const at::Tensor& gates, const at::Tensor& c,
                  const at::Tensor& tanh_c, const at::Tensor& h) {
  const at::Tensor recurrent_t = recurrent.t();
  for (std::int64_t t = 0; t < shape.times; ++t) {
    at::Tensor gates_now = gates[t];
    if (t > 0) gates_now.addmm_(h[t], recurrent_t);
    AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lstm_step_forward", [&] {
      kernels::lstm_forward(gates_now.data_ptr<scalar_t>(), c[t].data_ptr<scalar_t>(), c[t + 1].data_ptr<scalar_t>(),
                            tanh_c[t].data_ptr<scalar_t>(), h[t + 1].data_ptr<scalar_t>(), shape.batch, shape.hidden);
    });
  }
}

void step_backward(const kernels::LstmShape& shape, const at::Tensor& recurrent, const at::Tensor& gates, const at::Tensor& c,
                   const at::Tensor& tanh_c, at::Tensor dh, const at::Tensor& dgates) {
  const at::Tensor dc = at::zeros_like(dh);
  for (std::int64_t t = shape.times - 1; t >= 0; --t) {
    const at::Tensor dgates_now = dgates[t];
    AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lstm_step_backward", [&] {
      kernels::lstm_backward(gates[t].data_ptr<scalar_t>(), c[t].data_ptr<scalar_t>(), tanh_c[t].data_ptr<scalar_t>(),
                             dh.data_ptr<scalar_t>(), dc.data_ptr<scalar_t>(), dgates_now.data_ptr<scalar_t>(), shape.batch,
                             shape.hidden);
    });
    if (t > 0) dh = at::mm(dgates_now, recurrent);
  }
}

void run_forward(const kernels::LstmShape& shape, const at::Tensor& recurrent, const at::Tensor& gates, const at::Tensor& c,
                 const at::Tensor& tanh_c, const at::Tensor& h) {
  if (!kernels::lstm_pass_fits(shape)) return step_forward(shape, recurrent, gates, c, tanh_c, h);
  const at::Tensor recurrent_t = recurrent.t().contiguous();
  AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lstm_forward_pass", [&] {
    for_rows(shape.batch, [&](std::int64_t begin, std::int64_t end) {
      kernels::lstm_forward_pass(shape, recurrent_t.data_ptr<scalar_t>(), gates.data_ptr<scalar_t>(), c.data_ptr<scalar_t>(),
                                 tanh_c.data_ptr<scalar_t>(), h.data_ptr<scalar_t>(), begin, end);
    });
  });
}

/// Overwrites `dh`.
void run_backward(const kernels::LstmShape& shape, const at::Tensor& recurrent, const at::Tensor& gates, const at::Tensor& c,
                  const at::Tensor& tanh_c, const at::Tensor& dh, const at::Tensor& dgates) {
  if (!kernels::lstm_pass_fits(shape)) return step_backward(shape, recurrent, gates, c, tanh_c, dh, dgates);
  const at::Tensor dc = at::zeros_like(dh);
  const at::Tensor weights = recurrent.contiguous();
  AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lstm_backward_pass", [&] {
    for_rows(shape.batch, [&](std::int64_t begin, std::int64_t end) {
      kernels::lstm_backward_pass(shape, weights.const_data_ptr<scalar_t>(), gates.data_ptr<scalar_t>(), c.data_ptr<scalar_t>(),
                                  tanh_c.data_ptr<scalar_t>(), dh.data_ptr<scalar_t>(), dc.data_ptr<scalar_t>(),
                                  dgates.data_ptr<scalar_t>(), begin, end);
    });
  });
}

/// Forward and backward of the whole sequence. Saved: inputs, weights, and per step the gates' activations, c, tanh(c) and h; c
/// and h have one more step, the zeros before the first.
class LstmLastState : public torch::autograd::Function<LstmLastState> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& sequences, const at::Tensor& input,
                            const at::Tensor& recurrent, const at::Tensor& input_bias, const at::Tensor& recurrent_bias) {
    const std::int64_t times = sequences.size(0);
    const std::int64_t batch = sequences.size(1);
    const std::int64_t hidden = recurrent.size(1);
    const at::Tensor flat = sequences.view({times * batch, sequences.size(2)});
    const at::Tensor gates = at::addmm(input_bias + recurrent_bias, flat, input.t()).view({times, batch, 4 * hidden});
    const at::Tensor c = at::empty({times + 1, batch, hidden}, sequences.options());
    const at::Tensor h = at::empty({times + 1, batch, hidden}, sequences.options());
    const at::Tensor tanh_c = at::empty({times, batch, hidden}, sequences.options());
    c[0].zero_();
    h[0].zero_();
    run_forward({times, batch, hidden}, recurrent, gates, c, tanh_c, h);
    context->save_for_backward({flat, recurrent, gates, c, tanh_c, h});
    return h[times].clone();
  }

  static variable_list backward(AutogradContext* context, const variable_list& derivatives) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &flat = saved[0], &recurrent = saved[1], &gates = saved[2], &c = saved[3], &tanh_c = saved[4],
                     &h = saved[5];
    const std::int64_t times = gates.size(0);
    const std::int64_t batch = gates.size(1);
    const std::int64_t hidden = recurrent.size(1);
    const at::Tensor dgates = at::empty(gates.sizes(), gates.options());
    run_backward({times, batch, recurrent.size(1)}, recurrent, gates, c, tanh_c,
                 derivatives[0].clone(at::MemoryFormat::Contiguous), dgates);
    const at::Tensor dgates_t = dgates.view({times * batch, 4 * hidden}).t();
    const at::Tensor h_before = h.narrow(0, 0, times).view({times * batch, hidden});
    const at::Tensor bias = at::sum(dgates.view({times * batch, 4 * hidden}), 0);
    return {at::Tensor(), at::mm(dgates_t, flat), at::mm(dgates_t, h_before), bias, bias.clone()};
  }
};

}  // namespace

at::Tensor lstm_last_state(const at::Tensor& sequences, const LstmWeights& weights) {
  return LstmLastState::apply(sequences, weights.input, weights.recurrent, weights.input_bias, weights.recurrent_bias);
}

at::Tensor torch_lstm_last_state(const at::Tensor& sequences, const LstmWeights& weights) {
  const at::Tensor zeros = at::zeros({1, sequences.size(1), weights.recurrent.size(1)}, sequences.options());
  const auto [outputs, h, c] =
      at::lstm(sequences, {zeros, zeros}, {weights.input, weights.recurrent, weights.input_bias, weights.recurrent_bias},
               /*has_biases=*/true, /*num_layers=*/1, /*dropout=*/0.0, /*train=*/at::GradMode::is_enabled(),
               /*bidirectional=*/false, /*batch_first=*/false);
  return h.squeeze(0);
}

void lay_out_for_cudnn(const LstmWeights& weights) {
  constexpr std::int64_t kLstmMode = 2;
  if (!at::cudnn_is_acceptable(weights.input)) return;
  const at::NoGradGuard no_grad;
  at::_cudnn_rnn_flatten_weight({weights.input, weights.recurrent, weights.input_bias, weights.recurrent_bias},
                                /*weight_stride0=*/4, weights.input.size(1), kLstmMode, weights.recurrent.size(1),
                                /*proj_size=*/0, /*num_layers=*/1, /*batch_first=*/false, /*bidirectional=*/false);
}

}  // namespace hpcbench::train

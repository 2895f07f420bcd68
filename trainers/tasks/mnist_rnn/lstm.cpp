#include "tasks/mnist_rnn/lstm.hpp"

#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
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

/// Forward and backward of the whole sequence. Saved: inputs, weights, and per step the gates' activations, c, tanh(c) and h; c
/// and h have one step more, the zeros before the first.
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
    const at::Tensor recurrent_t = recurrent.t();
    AT_DISPATCH_FLOATING_TYPES(sequences.scalar_type(), "lstm_last_state", [&] {
      const std::int64_t state = batch * hidden;
      scalar_t* const c_data = c.data_ptr<scalar_t>();
      for (std::int64_t t = 0; t < times; ++t) {
        at::Tensor gates_now = gates[t];
        if (t > 0) gates_now.addmm_(h[t], recurrent_t);
        kernels::lstm_forward(gates_now.data_ptr<scalar_t>(), c_data + t * state, c_data + (t + 1) * state,
                              tanh_c.data_ptr<scalar_t>() + t * state, h.data_ptr<scalar_t>() + (t + 1) * state, batch, hidden);
      }
    });
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
    at::Tensor dh = derivatives[0].contiguous();
    const at::Tensor dc = at::zeros_like(dh);
    const at::Tensor dgates = at::empty(gates.sizes(), gates.options());
    AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lstm_last_state_backward", [&] {
      const std::int64_t state = batch * hidden;
      for (std::int64_t t = times - 1; t >= 0; --t) {
        const at::Tensor dgates_now = dgates[t];
        kernels::lstm_backward(gates.data_ptr<scalar_t>() + t * 4 * state, c.data_ptr<scalar_t>() + t * state,
                               tanh_c.data_ptr<scalar_t>() + t * state, dh.data_ptr<scalar_t>(), dc.data_ptr<scalar_t>(),
                               dgates_now.data_ptr<scalar_t>(), batch, hidden);
        if (t > 0) dh = at::mm(dgates_now, recurrent);
      }
    });
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

}  // namespace hpcbench::train

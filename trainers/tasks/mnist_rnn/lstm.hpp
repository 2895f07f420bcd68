#pragma once

#include <ATen/core/Tensor.h>

namespace hpcbench::train {

/// The parameters of one layer in the layout of torch.nn.LSTM: gates in the order i, f, g, o.
struct LstmWeights {
  at::Tensor input;       // [4H, I]
  at::Tensor recurrent;   // [4H, H]
  at::Tensor input_bias;  // [4H]
  at::Tensor recurrent_bias;
};

/// Returns the hidden state [B, H] after the last step of `sequences` [T, B, I] (time first), from a state of zeros.
/// Differentiable with respect to the weights, not to the sequences. Each thread computes its rows of the batch through all
/// steps.
at::Tensor lstm_last_state(const at::Tensor& sequences, const LstmWeights& weights);

/// Computes the same by LibTorch's own LSTM, on any device (cuDNN's on a GPU). `sequences` must be of the weights' type and
/// device.
at::Tensor torch_lstm_last_state(const at::Tensor& sequences, const LstmWeights& weights);

/// Puts the weights of a GPU into one memory, as cuDNN requires: otherwise it copies them there in every pass. The tensors stay
/// the same objects. Does nothing if cuDNN does not compute.
void lay_out_for_cudnn(const LstmWeights& weights);

}  // namespace hpcbench::train

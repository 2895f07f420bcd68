#include <ATen/Dispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tasks/bert_squad/bert_ends.hpp"

namespace hpcbench::train {

namespace {

struct BertEmbeddingsState : torch::CustomClassHolder {
  std::shared_ptr<BertStep> step;
  at::Tensor x_hat, reciprocal;
};

template <class T>
at::Tensor embeddings_forward(BertEmbeddingsState& state) {
  BertStep& step = *state.step;
  const std::int64_t hidden = step.config.hidden_size;
  step.touched->read(step.rows.ids, step.rows.tokens);
  const at::Tensor y = step.take({step.padded_rows, hidden}, kBertType<T>);
  state.x_hat = step.take({step.rows.tokens, hidden}, kBertType<T>);
  state.reciprocal = step.take({step.rows.tokens}, kBertType<T>);
  kernels::NormForward<T, T> args;
  args.width = hidden;
  args.eps = step.config.layer_norm_eps;
  args.site = step.embeddings_site;
  args.token_keys = step.rows.token_keys.data();
  args.gamma = bert_data<T>(step.weights->embeddings_norm.weight);
  args.beta = bert_data<T>(step.weights->embeddings_norm.bias);
  args.x_hat = bert_data<T>(state.x_hat);
  args.reciprocal = bert_data<T>(state.reciprocal);
  args.y = bert_data<T>(y);
  args.ids = step.rows.ids;
  args.types = step.rows.types;
  args.positions = step.rows.positions.data();
  args.word = bert_data<T>(step.weights->word);
  args.position = bert_data<T>(step.weights->position);
  args.type = bert_data<T>(step.weights->type);
  bert_parallel(&kernels::norm_forward<T, T>, args, step.rows.tokens, kernels::kRowsOfBlock);
  bert_zero_rows(y, step.rows.tokens);
  return y;
}

template <class T>
at::Tensor zeros_of_table(const BertStep& step, const at::Tensor& table) {
  const at::Tensor gradient = step.take(table.sizes(), kBertType<T>);
  char* const bytes = static_cast<char*>(gradient.data_ptr());
  at::parallel_for(0, static_cast<std::int64_t>(gradient.nbytes()), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    std::memset(bytes + begin, 0, static_cast<std::size_t>(end - begin));
  });
  return gradient;
}

/// For the table of words, by far the largest: only rows of tokens are touched, if no other code writes into gradients.
template <class T>
at::Tensor zeros_of_words(const BertStep& step) {
  TouchedRows& touched = *step.touched;
  if (!touched.is_trusted()) return zeros_of_table<T>(step, step.weights->word);
  touched.begin_pass();
  const at::Tensor gradient = step.buffers->take_table(touched, step.weights->word.sizes(), kBertType<T>);
  for (std::int64_t token = 0; token < step.rows.tokens; ++token) {
    if (step.rows.ids[token] != kPaddingToken) touched.mark(step.rows.ids[token]);
  }
  return gradient;
}

/// Adds dz to the rows of `gradient`, which are 0.
template <class T>
at::Tensor embedding_gradient(const BertStep& step, const at::Tensor& gradient, const at::Tensor& dz, const std::int64_t* rows,
                              std::int64_t skip) {
  kernels::ScatterRows<T, T> args{bert_data<T>(dz), rows, step.rows.tokens, gradient.size(1), skip, bert_data<T>(gradient)};
  bert_parallel(&kernels::scatter_rows<T, T>, args, gradient.size(1), 64);
  return gradient;
}

template <class T>
torch::autograd::variable_list embeddings_backward(BertEmbeddingsState& state, const at::Tensor& dy) {
  const BertStep& step = *state.step;
  const std::int64_t hidden = step.config.hidden_size;
  const std::int64_t blocks = kernels::blocks_of(step.rows.tokens);
  const at::Tensor dz = step.take({step.rows.tokens, hidden}, kBertType<T>);
  const at::Tensor sums = step.take({blocks, 3 * hidden}, kBertType<T>);
  kernels::NormBackward<T, T> args;
  args.rows = step.rows.tokens;
  args.width = hidden;
  args.site = step.embeddings_site;
  args.dropout_after = true;
  args.token_keys = step.rows.token_keys.data();
  args.dy = bert_data<T>(dy);
  args.x_hat = bert_data<T>(state.x_hat);
  args.reciprocal = bert_data<T>(state.reciprocal);
  args.gamma = bert_data<T>(step.weights->embeddings_norm.weight);
  args.dz = bert_data<T>(dz);
  args.sums = bert_data<T>(sums);
  bert_parallel(&kernels::norm_backward<T, T>, args, blocks, 1);
  const at::Tensor total = step.take({2 * hidden}, kBertType<T>);
  kernels::SumBlocks<T, T> sum{bert_data<T>(sums), blocks, 3 * hidden, bert_data<T>(total)};
  kernels::sum_blocks<T, T>(sum, 0, 2 * hidden);
  const BertWeights& weights = *step.weights;
  return {embedding_gradient<T>(step, zeros_of_words<T>(step), dz, step.rows.ids, kPaddingToken),
          embedding_gradient<T>(step, zeros_of_table<T>(step, weights.position), dz, step.rows.positions.data(), -1),
          embedding_gradient<T>(step, zeros_of_table<T>(step, weights.type), dz, step.rows.types, -1),
          total.narrow(0, 0, hidden),
          total.narrow(0, hidden, hidden),
          at::Tensor()};
}

class BertEmbeddingsFunction : public torch::autograd::Function<BertEmbeddingsFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& word, const at::Tensor& /*position*/,
                            const at::Tensor& /*type*/, const at::Tensor& /*gamma*/, const at::Tensor& /*beta*/,
                            const std::shared_ptr<BertStep>& step) {
    auto state = c10::make_intrusive<BertEmbeddingsState>();
    state->step = step;
    at::Tensor y;
    AT_DISPATCH_FLOATING_TYPES(word.scalar_type(), "bert_embeddings", [&] { y = embeddings_forward<scalar_t>(*state); });
    context->saved_data["state"] = at::IValue::make_capsule(state);
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list derivatives) {
    const auto capsule = context->saved_data["state"].toCapsule();
    auto& state = static_cast<BertEmbeddingsState&>(*capsule);
    const at::Tensor dy = derivatives[0].contiguous();
    torch::autograd::variable_list result;
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "bert_embeddings_backward",
                               [&] { result = embeddings_backward<scalar_t>(state, dy); });
    return result;
  }
};

}  // namespace

at::Tensor bert_embeddings(const std::shared_ptr<BertStep>& step) {
  const BertWeights& weights = *step->weights;
  return BertEmbeddingsFunction::apply(weights.word, weights.position, weights.type, weights.embeddings_norm.weight,
                                       weights.embeddings_norm.bias, step);
}

}  // namespace hpcbench::train

#include "tasks/bert_squad/bert_layer.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include "tasks/bert_squad/bert_layer_pass.hpp"

namespace hpcbench::train {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The data in the layer's node of the graph.
struct BertLayerState : torch::CustomClassHolder {
  std::shared_ptr<BertStep> step;
  std::int64_t number = 0;
  BertLayerSaved saved;
  bool used = false;
};

template <class Run>
auto with_bert_types(const BertStep& step, const Run& run) {
  using kernels::Bf16;
  if (step.options.bf16) return run(float(), Bf16());
  if (step.options.type == at::kDouble) return run(double(), double());
  return run(float(), float());
}

at::Tensor layer_forward(BertLayerState& state, const at::Tensor& x, const at::Tensor& matrix) {
  return with_bert_types(*state.step, [&]<class T, class M>(T, M) {
    return BertLayerPass<T, M>(*state.step, state.number).forward(x, matrix, state.saved);
  });
}

class BertLayerFunction : public torch::autograd::Function<BertLayerFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, at::TensorList /*parameters*/,
                            const std::shared_ptr<BertStep>& step, std::int64_t number) {
    auto state = c10::make_intrusive<BertLayerState>();
    state->step = step;
    state->number = number;
    at::Tensor y = layer_forward(*state, x, number == 0 ? at::Tensor() : step->matrix);
    if (step->options.checkpoint_activations) {
      const at::Tensor input = state->saved.x;
      state->saved = {};
      state->saved.x = input;
    }
    context->saved_data["state"] = at::IValue::make_capsule(state);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list derivatives) {
    const auto capsule = context->saved_data["state"].toCapsule();
    auto& state = static_cast<BertLayerState&>(*capsule);
    TORCH_CHECK(!state.used, "error: backward through this forward pass of BERT was done before");
    state.used = true;
    const at::Tensor dy = derivatives[0].contiguous();
    if (state.step->options.checkpoint_activations) layer_forward(state, at::Tensor(state.saved.x), at::Tensor());
    const BertLayerGradients gradients = with_bert_types(*state.step, [&]<class T, class M>(T, M) {
      return BertLayerPass<T, M>(*state.step, state.number).backward(dy, state.saved);
    });
    state.saved = {};  // the graph lives until the loss is released
    variable_list result = {gradients.x};
    result.insert(result.end(), gradients.parameters.begin(), gradients.parameters.end());
    result.resize(result.size() + 2);  // step and number
    return result;
  }
};

/// In the order of BertLayerGradients.
std::vector<at::Tensor> bert_layer_parameters(const BertLayerWeights& layer) {
  return {layer.query.weight,
          layer.key.weight,
          layer.value.weight,
          layer.query.bias,
          layer.key.bias,
          layer.value.bias,
          layer.attention_output.weight,
          layer.attention_output.bias,
          layer.attention_norm.weight,
          layer.attention_norm.bias,
          layer.intermediate.weight,
          layer.intermediate.bias,
          layer.output.weight,
          layer.output.bias,
          layer.output_norm.weight,
          layer.output_norm.bias};
}

}  // namespace

at::Tensor bert_layer(const std::shared_ptr<BertStep>& step, std::int64_t number, const at::Tensor& x) {
  const std::vector<at::Tensor> parameters = bert_layer_parameters(step->weights->layers[static_cast<std::size_t>(number)]);
  return BertLayerFunction::apply(x, at::TensorList(parameters), step, number);
}

}  // namespace hpcbench::train

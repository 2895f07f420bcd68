#include "tasks/bert_squad/bert_operator_layer.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_dropout.h>
#include <ATen/ops/native_dropout_backward.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/sum.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tasks/bert_squad/bert_masks.hpp"

namespace hpcbench::train {

namespace {

/// A layer's tensors by their places, query, key and value as one: parameters, their copies or their gradients.
enum LayerTensor : std::size_t {
  kQkvWeight,
  kQkvBias,
  kAttentionWeight,
  kAttentionBias,
  kAttentionNormWeight,
  kAttentionNormBias,
  kInnerWeight,
  kInnerBias,
  kOutputWeight,
  kOutputBias,
  kOutputNormWeight,
  kOutputNormBias,
  kLayerTensors
};

/// Tensors one below the other: a view where they stand so in memory, else a copy.
at::Tensor below_each_other(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
  const auto follows = [](const at::Tensor& next, const at::Tensor& last) {
    return next.is_alias_of(last) && next.storage_offset() == last.storage_offset() + last.numel();
  };
  if (!follows(b, a) || !follows(c, b)) return at::cat({a, b, c});
  std::vector<std::int64_t> sizes = a.sizes().vec();
  sizes.front() *= 3;
  return at::as_strided(a, sizes, a.strides(), a.storage_offset());
}

LayerTensors parameters_of(const BertLayerWeights& layer) {
  return {below_each_other(layer.query.weight, layer.key.weight, layer.value.weight),
          below_each_other(layer.query.bias, layer.key.bias, layer.value.bias),
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

/// Copies in another type, by one operator; the tensors themselves where they are of it.
LayerTensors in_type(const LayerTensors& tensors, at::ScalarType type) {
  if (tensors.front().scalar_type() == type) return tensors;
  LayerTensors copies;
  for (const at::Tensor& each : tensors) copies.push_back(at::empty(each.sizes(), each.options().dtype(type)));
  at::_foreach_copy_(copies, tensors);
  return copies;
}

/// What a normalisation keeps.
struct NormSaved {
  at::Tensor x, mean, inverse_deviation;
};

/// What the layer's node of the graph keeps.
struct OperatorLayerState : torch::CustomClassHolder {
  std::shared_ptr<const OperatorPass> pass;
  std::int64_t number = 0;
  LayerTensors copies;  // empty: made again
  at::Tensor x, context, attention_mask, y, inner, activated, output_mask;
  NormSaved attention_norm, output_norm;
  VarlenSaved attention;
  bool used = false;
};

/// One layer's computing, forward or backward.
class OperatorLayerPass {
 public:
  explicit OperatorLayerPass(OperatorLayerState& state)
      : state_(state), pass_(*state.pass), step_(*pass_.step), number_(static_cast<std::size_t>(state.number)) {}

  at::Tensor forward(const at::Tensor& x) {
    const LayerTensors p = state_.copies.empty() ? parameters() : state_.copies;
    state_.x = x;
    state_.context = attention(at::addmm(p[kQkvBias], x, p[kQkvWeight].t()));
    const at::Tensor attended = at::addmm(p[kAttentionBias], state_.context, p[kAttentionWeight].t());
    const at::Tensor added = residual(attended, x, step_.attention_output_sites[number_], state_.attention_mask);
    state_.y = norm(added, p[kAttentionNormWeight], p[kAttentionNormBias], state_.attention_norm);
    state_.inner = at::addmm(p[kInnerBias], state_.y, p[kInnerWeight].t());
    state_.activated = at::gelu(state_.inner);
    const at::Tensor z = at::addmm(p[kOutputBias], state_.activated, p[kOutputWeight].t());
    const at::Tensor last = residual(z, state_.y, step_.output_sites[number_], state_.output_mask);
    return norm(last, p[kOutputNormWeight], p[kOutputNormBias], state_.output_norm);
  }

  /// The derivative by x, then those by the parameters.
  std::pair<at::Tensor, LayerTensors> backward(const at::Tensor& towards) {
    const LayerTensors p = state_.copies.empty() ? parameters() : std::move(state_.copies);
    LayerTensors of(kLayerTensors);
    at::Tensor of_last = norm_backward(towards, p, kOutputNormWeight, state_.output_norm, of);
    const at::Tensor of_z = pass_.dropped_backward(of_last, state_.output_mask, step_.output_sites[number_]);
    linear_backward(of_z, state_.activated, kOutputWeight, of);
    const at::Tensor of_inner = at::gelu_backward(at::mm(of_z, p[kOutputWeight]), state_.inner);
    linear_backward(of_inner, state_.y, kInnerWeight, of);
    const at::Tensor of_y = of_last.addmm_(of_inner, p[kInnerWeight]);  // nobody else has it
    at::Tensor of_added = norm_backward(of_y, p, kAttentionNormWeight, state_.attention_norm, of);
    const at::Tensor of_attended =
        pass_.dropped_backward(of_added, state_.attention_mask, step_.attention_output_sites[number_]);
    linear_backward(of_attended, state_.context, kAttentionWeight, of);
    const at::Tensor of_qkv = attention_backward(at::mm(of_attended, p[kAttentionWeight]));
    linear_backward(of_qkv, state_.x, kQkvWeight, of);
    return {of_added.addmm_(of_qkv, p[kQkvWeight]), in_type(of, step_.options.type)};
  }

 private:
  LayerTensors parameters() const { return in_type(parameters_of(step_.weights->layers[number_]), step_.matrix_type()); }

  /// x after dropout, plus y.
  at::Tensor residual(const at::Tensor& x, const at::Tensor& y, const kernels::DropoutSite& site, at::Tensor& mask) const {
    Dropped dropped = pass_.dropped(x, site);
    mask = dropped.mask;
    return dropped.value.add_(y);  // nobody else has it
  }

  at::Tensor norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, NormSaved& saved) const {
    at::Tensor result;
    saved.x = x;
    std::tie(result, saved.mean, saved.inverse_deviation) =
        at::native_layer_norm(x, {x.size(1)}, weight, bias, step_.config.layer_norm_eps);
    return result;
  }

  static at::Tensor norm_backward(const at::Tensor& towards, const LayerTensors& p, std::size_t weight, const NormSaved& saved,
                                  LayerTensors& of) {
    at::Tensor of_x;
    std::tie(of_x, of[weight], of[weight + 1]) = at::native_layer_norm_backward(
        towards, saved.x, {saved.x.size(1)}, saved.mean, saved.inverse_deviation, p[weight], p[weight + 1], {true, true, true});
    return of_x;
  }

  static void linear_backward(const at::Tensor& towards, const at::Tensor& x, std::size_t weight, LayerTensors& of) {
    of[weight] = at::mm(towards.t(), x);
    of[weight + 1] = at::sum(towards, 0);
  }

  at::Tensor attention(const at::Tensor& qkv) {
    const std::int64_t heads = step_.config.num_attention_heads;
    const at::Tensor parts = qkv.view({qkv.size(0), 3, heads, qkv.size(1) / 3 / heads});
    VarlenSaved& saved = state_.attention;
    saved.query = parts.select(1, 0);
    saved.key = parts.select(1, 1);
    saved.value = parts.select(1, 2);
    return varlen_attention(pass_.rows, attention_dropout(), saved).reshape({qkv.size(0), qkv.size(1) / 3});
  }

  at::Tensor attention_backward(const at::Tensor& towards) {
    const VarlenSaved& saved = state_.attention;
    return varlen_attention_backward(pass_.rows, attention_dropout(), saved, towards.view(saved.query.sizes()))
        .view({towards.size(0), -1});
  }

  VarlenDropout attention_dropout() const {
    const kernels::DropoutSite& site = step_.attention_sites[number_];
    if (!site.on()) return {};
    const bool is_hashed = step_.options.dropout_bits == DropoutBits::hash;
    const auto draw = [this, &site, is_hashed](const at::Tensor& probabilities, std::int64_t row) -> Dropped {
      if (!is_hashed) {
        auto [value, mask] = at::native_dropout(probabilities, site.rate(), true);
        return {value, mask};
      }
      const at::Tensor mask = bert_attention_mask(site, step_.rows, row, probabilities);
      return {probabilities * mask, mask};
    };
    const auto back = [&site, is_hashed](const at::Tensor& towards, const at::Tensor& mask) {
      return is_hashed ? towards * mask : at::native_dropout_backward(towards, mask, site.kept);
    };
    return {site.rate(), is_hashed, draw, back};
  }

  OperatorLayerState& state_;
  const OperatorPass& pass_;
  const BertStep& step_;
  std::size_t number_;
};

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class OperatorLayerFunction : public torch::autograd::Function<OperatorLayerFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, at::TensorList /*parameters*/,
                            const c10::intrusive_ptr<OperatorLayerState>& state) {
    at::Tensor result = OperatorLayerPass(*state).forward(x);
    context->saved_data["state"] = at::IValue::make_capsule(state);
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list derivatives) {
    const auto capsule = context->saved_data["state"].toCapsule();
    auto& state = static_cast<OperatorLayerState&>(*capsule);
    TORCH_CHECK(!state.used, "error: backward through this forward pass of BERT was done before");
    auto [of_x, of] = OperatorLayerPass(state).backward(derivatives[0].contiguous());
    // The graph lives on until the loss is let go; its tensors do not.
    const auto pass = state.pass;
    state.attention = {};
    state.attention_norm = state.output_norm = {};
    for (at::Tensor* each :
         {&state.x, &state.context, &state.attention_mask, &state.y, &state.inner, &state.activated, &state.output_mask})
      each->reset();
    state.used = true;
    variable_list result = {of_x};
    for (const std::size_t joint : {kQkvWeight, kQkvBias}) {
      for (const at::Tensor& part : of[joint].chunk(3, 0)) result.push_back(part);
    }
    result.insert(result.end(), of.begin() + kAttentionWeight, of.end());
    result.resize(result.size() + 1);  // the state
    return result;
  }
};

}  // namespace

Dropped OperatorPass::dropped(const at::Tensor& x, const kernels::DropoutSite& site) const {
  if (!site.on()) return {x, {}};
  if (step->options.dropout_bits == DropoutBits::device) {
    auto [value, mask] = at::native_dropout(x, site.rate(), true);
    return {value, mask};
  }
  std::vector<std::uint64_t> keys;
  for (const std::uint64_t token : step->rows.token_keys) keys.push_back(kernels::row_key(site, token));
  const at::Tensor mask = bert_mask(site, keys, x.size(1), step->options.type, x.device());
  return {(x * mask).to(x.scalar_type()), mask};
}

at::Tensor OperatorPass::dropped_backward(const at::Tensor& derivative, const at::Tensor& mask,
                                          const kernels::DropoutSite& site) const {
  if (!mask.defined()) return derivative;
  if (step->options.dropout_bits == DropoutBits::device) return at::native_dropout_backward(derivative, mask, site.kept);
  return (derivative * mask).to(derivative.scalar_type());
}

std::vector<LayerTensors> layer_copies(const BertStep& step) {
  const at::NoGradGuard no_grad;
  LayerTensors all;
  for (const BertLayerWeights& layer : step.weights->layers) {
    const LayerTensors parameters = parameters_of(layer);
    all.insert(all.end(), parameters.begin(), parameters.end());
  }
  all = in_type(all, step.matrix_type());
  std::vector<LayerTensors> by_layer;
  for (auto next = all.begin(); next != all.end(); next += kLayerTensors) by_layer.emplace_back(next, next + kLayerTensors);
  return by_layer;
}

at::Tensor operator_layer(const std::shared_ptr<const OperatorPass>& pass, std::int64_t number, LayerTensors copies,
                          const at::Tensor& x) {
  const BertLayerWeights& layer = pass->step->weights->layers[static_cast<std::size_t>(number)];
  std::vector<at::Tensor> parameters = {layer.query.weight, layer.key.weight, layer.value.weight,
                                        layer.query.bias,   layer.key.bias,   layer.value.bias};
  const at::Tensor others[] = {layer.attention_output.weight, layer.attention_output.bias, layer.attention_norm.weight,
                               layer.attention_norm.bias,     layer.intermediate.weight,   layer.intermediate.bias,
                               layer.output.weight,           layer.output.bias,           layer.output_norm.weight,
                               layer.output_norm.bias};
  parameters.insert(parameters.end(), std::begin(others), std::end(others));
  auto state = c10::make_intrusive<OperatorLayerState>();
  state->pass = pass;
  state->number = number;
  state->copies = std::move(copies);
  return OperatorLayerFunction::apply(x, at::TensorList(parameters), state);
}

}  // namespace hpcbench::train
